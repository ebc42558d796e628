// SPDX-License-Identifier: Apache-2.0

// Polynomials in the sizes M, K and N of a linear layer, y[M, N] = x[M, K] wᵀ:
// what a kernel moves and computes, as a formula.
//
// Coefficients are doubles. Integers below 2^53 and fractions over a power of
// two, which byte and FLOP counts are made of, stay exact under + and *.
#ifndef OCTET_ROOFLINE_POLYNOMIAL_H_
#define OCTET_ROOFLINE_POLYNOMIAL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace octet::roofline {

enum class Variable { kM, kK, kN };

struct Sizes {
  int64_t m = 0, k = 0, n = 0;
};

// InvalidArgument naming the size that is not positive.
absl::Status CheckSizes(const Sizes& sizes);

class Polynomial {
 public:
  // Zero, a constant, a variable.
  Polynomial() = default;
  Polynomial(double constant);    // NOLINT: 2 * m + 1 reads as written
  Polynomial(Variable variable);  // NOLINT

  Polynomial& operator+=(const Polynomial& other);
  Polynomial& operator-=(const Polynomial& other);
  Polynomial& operator*=(const Polynomial& other);
  Polynomial& operator/=(double divisor);

  // In double, from sizes of 64 bits: 65536^3 and more do not overflow.
  double Evaluate(const Sizes& sizes) const;
  double Evaluate(int64_t m, int64_t k, int64_t n) const {
    return Evaluate(Sizes{m, k, n});
  }

  Polynomial Derivative(Variable variable) const;

  // Of M^m K^k N^n; 0 where there is no such term.
  double Coefficient(int m, int k, int n) const;

  bool IsZero() const { return terms_.empty(); }

  // "2*M*K + 4*M*N", "M^2 - 1.5*K + 3", "0": by falling degree, then M before
  // K before N. Numbers by the C locale: the fewest digits that read back the
  // same, or that many significant ones.
  std::string ToString() const;
  std::string ToString(int significant_digits) const;

  friend bool operator==(const Polynomial& a, const Polynomial& b) {
    return a.terms_ == b.terms_;
  }
  friend bool operator!=(const Polynomial& a, const Polynomial& b) {
    return !(a == b);
  }

 private:
  // Degree, then the exponents of M, K and N.
  using Key = std::array<int, 4>;

  void Add(const Key& key, double coefficient);

  // Coefficients are never 0.
  std::map<Key, double, std::greater<Key>> terms_;
};

inline Polynomial operator+(Polynomial a, const Polynomial& b) {
  return a += b;
}
inline Polynomial operator-(Polynomial a, const Polynomial& b) {
  return a -= b;
}
inline Polynomial operator*(Polynomial a, const Polynomial& b) {
  return a *= b;
}
inline Polynomial operator/(Polynomial a, double divisor) {
  return a /= divisor;
}

inline const Polynomial kM(Variable::kM);
inline const Polynomial kK(Variable::kK);
inline const Polynomial kN(Variable::kN);

}  // namespace octet::roofline

#endif  // OCTET_ROOFLINE_POLYNOMIAL_H_
