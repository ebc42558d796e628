// SPDX-License-Identifier: Apache-2.0

#include "roofline/polynomial.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace octet::roofline {
namespace {

// std::to_chars knows no locale.
std::string Number(double value, int significant_digits) {
  char text[64];
  const std::to_chars_result end =
      significant_digits > 0
          ? std::to_chars(text, text + sizeof(text), value,
                          std::chars_format::general, significant_digits)
      : std::floor(value) == value && std::fabs(value) < 1e15
          ? std::to_chars(text, text + sizeof(text),
                          static_cast<int64_t>(value))
          : std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

double Power(double base, int exponent) {
  double product = 1;
  for (int i = 0; i < exponent; ++i) product *= base;
  return product;
}

}  // namespace

absl::Status CheckSizes(const Sizes& sizes) {
  const auto check = [](char name, int64_t size) {
    return size > 0 ? absl::OkStatus()
                    : absl::InvalidArgumentError(
                          absl::StrCat("roofline: ", std::string(1, name),
                                       " is ", size, ", must be positive"));
  };
  absl::Status status = check('M', sizes.m);
  if (status.ok()) status = check('K', sizes.k);
  if (status.ok()) status = check('N', sizes.n);
  return status;
}

Polynomial::Polynomial(double constant) { Add(Key{0, 0, 0, 0}, constant); }

Polynomial::Polynomial(Variable variable) {
  Key key = {1, 0, 0, 0};
  key[1 + static_cast<int>(variable)] = 1;
  Add(key, 1);
}

void Polynomial::Add(const Key& key, double coefficient) {
  if (coefficient == 0) return;
  const auto [term, is_new] = terms_.emplace(key, coefficient);
  if (is_new) return;
  term->second += coefficient;
  if (term->second == 0) terms_.erase(term);
}

Polynomial& Polynomial::operator+=(const Polynomial& other) {
  if (this == &other) return *this *= 2;
  for (const auto& [key, coefficient] : other.terms_) Add(key, coefficient);
  return *this;
}

Polynomial& Polynomial::operator-=(const Polynomial& other) {
  return *this += other * -1;
}

Polynomial& Polynomial::operator*=(const Polynomial& other) {
  Polynomial product;
  for (const auto& [a, x] : terms_) {
    for (const auto& [b, y] : other.terms_) {
      product.Add({a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}, x * y);
    }
  }
  terms_ = std::move(product.terms_);
  return *this;
}

Polynomial& Polynomial::operator/=(double divisor) {
  Polynomial quotient;
  for (const auto& [key, coefficient] : terms_) {
    quotient.Add(key, coefficient / divisor);
  }
  terms_ = std::move(quotient.terms_);
  return *this;
}

double Polynomial::Evaluate(const Sizes& sizes) const {
  const double m = static_cast<double>(sizes.m);
  const double k = static_cast<double>(sizes.k);
  const double n = static_cast<double>(sizes.n);
  double sum = 0;
  for (const auto& [key, coefficient] : terms_) {
    sum += coefficient * Power(m, key[1]) * Power(k, key[2]) * Power(n, key[3]);
  }
  return sum;
}

Polynomial Polynomial::Derivative(Variable variable) const {
  const int i = 1 + static_cast<int>(variable);
  Polynomial derivative;
  for (const auto& [key, coefficient] : terms_) {
    if (key[i] == 0) continue;
    Key lower = key;
    --lower[0];
    --lower[i];
    derivative.Add(lower, coefficient * key[i]);
  }
  return derivative;
}

double Polynomial::Coefficient(int m, int k, int n) const {
  const auto term = terms_.find(Key{m + k + n, m, k, n});
  return term == terms_.end() ? 0 : term->second;
}

std::string Polynomial::ToString() const { return ToString(0); }

std::string Polynomial::ToString(int significant_digits) const {
  std::string text;
  for (const auto& [key, coefficient] : terms_) {
    const bool negative = coefficient < 0;
    if (text.empty()) {
      if (negative) text = "-";
    } else {
      text += negative ? " - " : " + ";
    }
    std::string factors;
    for (int i = 1; i < 4; ++i) {
      if (key[i] == 0) continue;
      if (!factors.empty()) factors += "*";
      factors += "MKN"[i - 1];
      if (key[i] > 1) absl::StrAppend(&factors, "^", key[i]);
    }
    const double magnitude = std::fabs(coefficient);
    if (factors.empty()) {
      text += Number(magnitude, significant_digits);
    } else {
      if (magnitude != 1) text += Number(magnitude, significant_digits) + "*";
      text += factors;
    }
  }
  return text.empty() ? "0" : text;
}

}  // namespace octet::roofline
