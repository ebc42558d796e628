// SPDX-License-Identifier: Apache-2.0

// AdamW's kernels: every combination of types on both devices, bit for bit, and
// what stochastic rounding promises.

#include "train/adamw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/float16.h"
#include "base/philox.h"
#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/numbers.h"
#include "testing/status_matchers.h"
#include "testing/tensor_matchers.h"
#include "testing/test_device.h"
#include "train/adamw_rounding.h"

namespace octet::train {
namespace {

using ::octet::testing::BitwiseEq;
using ::octet::testing::IsOk;
using ::octet::testing::ToDoubles;
using ::octet::testing::ToHost;

AdamWScalars Scalars(int64_t step) {
  const double t = static_cast<double>(step);
  AdamWScalars s;
  s.gradient_scale = 0.7f;
  s.decay = static_cast<float>(1 - 1e-2 * 0.1);
  s.one_minus_beta1 = static_cast<float>(1 - 0.9);
  s.beta2 = 0.95f;
  s.one_minus_beta2 = static_cast<float>(1 - 0.95);
  s.step_size = static_cast<float>(1e-2 / (1 - std::pow(0.9, t)));
  s.sqrt_bias2 = static_cast<float>(std::sqrt(1 - std::pow(0.95, t)));
  s.eps = 1e-8f;
  s.seed = 0x123456789abcdef0u;
  s.step = step;
  return s;
}

// Uniform in [-scale, scale), some of them zero.
Tensor Random(DType dtype, int64_t n, uint64_t seed, double scale,
              bool positive = false) {
  const Philox random(seed, 7);
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) {
    const double u = random.Uniform(static_cast<uint64_t>(i));
    values[i] = i % 17 == 0 ? 0.0 : scale * (positive ? u : 2 * u - 1);
  }
  return octet::testing::FromDoubles(values, dtype, Shape({n})).value();
}

struct Kind {
  DType master, gradient, moments;
  bool has_weight = false;
  bool has_amax = false;
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const DType master : {DType::kF32, DType::kBf16}) {
    for (const DType gradient : {DType::kF32, DType::kBf16}) {
      for (const DType moments : {DType::kF32, DType::kBf16}) {
        for (const bool has_amax : {false, true}) {
          kinds.push_back({master, gradient, moments, false, has_amax});
          if (master == DType::kF32) {
            kinds.push_back({master, gradient, moments, true, has_amax});
          }
        }
      }
    }
  }
  return kinds;
}

// A parameter on the CPU and, `skip` elements after an aligned address, on the
// stream's device.
class Parameter {
 public:
  Parameter(const Stream& stream, const Kind& kind, int64_t n, int64_t skip,
            uint64_t seed)
      : stream_(stream), skip_(skip) {
    Add(Random(kind.master, n, seed, 1.0), &AdamWTensors::master);
    Add(Random(kind.gradient, n, seed + 1, 1e-3), &AdamWTensors::gradient);
    Add(Random(kind.moments, n, seed + 2, 1e-3), &AdamWTensors::m);
    Add(Random(kind.moments, n, seed + 3, 1e-6, true), &AdamWTensors::v);
    if (kind.has_weight) {
      Add(Poison(DType::kBf16, Shape({n})), &AdamWTensors::weight);
    }
    if (kind.has_amax) {
      const int64_t kept = skip_;
      skip_ = 0;
      Add(Poison(DType::kF32, Shape({1, 1})), &AdamWTensors::amax);
      skip_ = kept;
    }
    for (AdamWTensors* t : {&host, &device}) {
      t->rounding_key = internal::RoundingKey("model.parameter");
    }
  }

  void ExpectSame() const {
    for (const auto member :
         {&AdamWTensors::master, &AdamWTensors::m, &AdamWTensors::v,
          &AdamWTensors::weight, &AdamWTensors::amax}) {
      if (!(host.*member).present()) continue;
      EXPECT_THAT(ToHost(stream_, device.*member).value(),
                  BitwiseEq(host.*member));
    }
  }

  AdamWTensors host, device;

 private:
  static Tensor Poison(DType dtype, const Shape& shape) {
    Tensor tensor = Tensor::Allocate(dtype, shape).value();
    std::memset(tensor.as<char>(), 0xff, tensor.view().num_bytes());
    return tensor;
  }

  void Add(Tensor values, TensorView AdamWTensors::*member) {
    const DType dtype = values.dtype();
    Tensor memory =
        Tensor::Allocate(dtype, Shape({values.num_elements() + skip_}),
                         stream_.device())
            .value();
    const TensorView view(memory.as<char>() + skip_ * SizeOf(dtype), dtype,
                          values.shape(), stream_.device());
    EXPECT_THAT(Copy(stream_, values, view), IsOk());
    EXPECT_THAT(stream_.Synchronize(), IsOk());
    host.*member = values.view();
    device.*member = view;
    memory_.push_back(std::move(values));
    memory_.push_back(std::move(memory));
  }

  Stream stream_;
  int64_t skip_;
  std::vector<Tensor> memory_;
};

absl::Status Step(const Stream& stream, int64_t step,
                  const std::vector<AdamWTensors>& tensors) {
  OCTET_ASSIGN_OR_RETURN(AdamWKernel * kernel,
                         AdamWSlot().Get(stream.device()));
  return kernel(stream, Scalars(step), tensors);
}

void ExpectDevicesAgree(const Stream& stream,
                        const std::vector<Parameter>& parameters,
                        int64_t steps) {
  std::vector<AdamWTensors> host, device;
  for (const Parameter& p : parameters) {
    host.push_back(p.host);
    device.push_back(p.device);
  }
  for (int64_t step = 1; step <= steps; ++step) {
    ASSERT_THAT(Step(Stream(), step, host), IsOk());
    ASSERT_THAT(Step(stream, step, device), IsOk());
  }
  ASSERT_THAT(stream.Synchronize(), IsOk());
  for (const Parameter& p : parameters) p.ExpectSame();
}

// No elements, fewer than a vector, several blocks with a tail; odd addresses
// and odd places in the whole parameter.
TEST(AdamWKernels, DevicesAgreeBitForBit) {
  OCTET_TEST_STREAM(stream);
  uint64_t seed = 1;
  std::vector<Parameter> parameters;
  for (const Kind& kind : Kinds()) {
    for (const int64_t n : {0, 1, 7, 1024, 20011}) {
      parameters.emplace_back(stream, kind, n, n == 1024 ? 1 : 0, seed += 10);
      for (AdamWTensors* t :
           {&parameters.back().host, &parameters.back().device}) {
        t->first_element = n == 7 ? 3 : int64_t{2} * n << 20;
      }
    }
  }
  ExpectDevicesAgree(stream, parameters, 3);
}

// More tensors than one launch takes.
TEST(AdamWKernels, ManyTensors) {
  OCTET_TEST_STREAM(stream);
  std::vector<Parameter> parameters;
  const Kind kind = {DType::kF32, DType::kBf16, DType::kF32, true, true};
  for (int64_t i = 0; i < 1001; ++i) {
    parameters.emplace_back(stream, kind, i % 40, 0, 10 * i);
  }
  ExpectDevicesAgree(stream, parameters, 1);
}

// Numbers that divisions and roots could get wrong.
TEST(AdamWKernels, ExtremesAgree) {
  OCTET_TEST_STREAM(stream);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {
      0.0,   -0.0, 1e-45, -1e-42,    1e-38,      1e-20,
      -1e19, 3e38, -3e38, kInfinity, -kInfinity, std::nan("")};
  for (const Kind& kind : Kinds()) {
    const auto n = static_cast<int64_t>(values.size() * values.size());
    std::vector<Parameter> parameters;
    parameters.emplace_back(stream, kind, n, 0, 5);
    const AdamWTensors& t = parameters[0].host;
    std::vector<double> gradients, squares;
    for (const double g : values) {
      for (const double v : values) {
        gradients.push_back(g);
        squares.push_back(std::abs(v));
      }
    }
    for (const auto& [member, list] :
         {std::pair(&AdamWTensors::gradient, &gradients),
          std::pair(&AdamWTensors::v, &squares)}) {
      const Tensor tensor =
          octet::testing::FromDoubles(*list, (t.*member).dtype(), Shape({n}))
              .value();
      ASSERT_THAT(Copy(Stream(), tensor, t.*member), IsOk());
      ASSERT_THAT(Copy(stream, tensor, parameters[0].device.*member), IsOk());
      ASSERT_THAT(stream.Synchronize(), IsOk());
    }
    ExpectDevicesAgree(stream, parameters, 2);
  }
}

// A shard is the same rows of the whole: rounding does not see the cut.
TEST(AdamWKernels, ShardsAreThePartsOfTheWhole) {
  OCTET_TEST_STREAM(stream);
  const Kind kind = {DType::kBf16, DType::kBf16, DType::kBf16, false, false};
  for (const int64_t cut : {1000, 1001}) {
    const Parameter whole(stream, kind, 3000, 0, 1);
    const Parameter parts(stream, kind, 3000, 0, 1);
    std::vector<AdamWTensors> shards(2, parts.device);
    shards[1].first_element = cut;
    for (const auto member : {&AdamWTensors::master, &AdamWTensors::gradient,
                              &AdamWTensors::m, &AdamWTensors::v}) {
      const TensorView view = parts.device.*member;
      shards[0].*member =
          TensorView(view.data(), view.dtype(), Shape({cut}), view.device());
      shards[1].*member = TensorView(view.as<char>() + 2 * cut, view.dtype(),
                                     Shape({3000 - cut}), view.device());
    }
    ASSERT_THAT(Step(stream, 4, {whole.device}), IsOk());
    ASSERT_THAT(Step(stream, 4, shards), IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
    EXPECT_THAT(ToHost(stream, parts.device.master).value(),
                BitwiseEq(ToHost(stream, whole.device.master).value()));
    EXPECT_THAT(ToHost(stream, parts.device.v).value(),
                BitwiseEq(ToHost(stream, whole.device.v).value()));
  }
}

// Steps of a hundredth of an ulp: rounded to nearest, nothing would move.
TEST(AdamWKernels, SmallUpdatesCountOnAverage) {
  OCTET_TEST_STREAM(stream);
  const int64_t n = 1 << 16;
  const Kind kind = {DType::kBf16, DType::kF32, DType::kF32, false, false};
  const Parameter p(stream, kind, n, 0, 1);
  const auto fill = [&](const TensorView& view, double value) {
    const Tensor tensor =
        octet::testing::FromDoubles(std::vector<double>(n, value), view.dtype(),
                                    Shape({n}))
            .value();
    ASSERT_THAT(Copy(stream, tensor, view), IsOk());
    ASSERT_THAT(stream.Synchronize(), IsOk());
  };
  fill(p.device.master, 1.5);
  fill(p.device.gradient, 1.0);
  fill(p.device.m, 0.0);
  fill(p.device.v, 0.0);
  AdamWScalars s = Scalars(1);
  s.gradient_scale = s.decay = 1.0f;
  const double ulp = 0x1p-7;
  s.step_size = static_cast<float>(0.01 * ulp / 0.1);
  OCTET_ASSERT_OK_AND_ASSIGN(AdamWKernel * kernel,
                             AdamWSlot().Get(stream.device()));
  ASSERT_THAT(kernel(stream, s, {p.device}), IsOk());
  ASSERT_THAT(stream.Synchronize(), IsOk());
  const std::vector<double> after =
      ToDoubles(ToHost(stream, p.device.master).value()).value();
  double moved = 0;
  for (const double x : after) {
    EXPECT_TRUE(x == 1.5 || x == 1.5 - ulp) << x;
    moved += (1.5 - x) / ulp;
  }
  // 655 of 65536, with a standard deviation of 25.
  EXPECT_NEAR(moved, 655, 130);
}

TEST(RoundStochastically, KeepsExactValuesInfinityAndNan) {
  for (const uint32_t random : {0u, 1u, 0x8000u, 0xffffu}) {
    const auto round = [&](float x) {
      return ToFloat(internal::RoundStochastically(x, random));
    };
    EXPECT_EQ(round(1.5f), 1.5f);
    EXPECT_EQ(round(-HUGE_VALF), -HUGE_VALF);
    EXPECT_TRUE(std::isnan(round(std::nanf(""))));
    const float quarter = 1.0f + 0x1p-9f;  // of the way to the next
    EXPECT_EQ(round(quarter), random >= 0xc000u ? 1.0f + 0x1p-7f : 1.0f);
    EXPECT_EQ(round(-quarter), random >= 0xc000u ? -1.0f - 0x1p-7f : -1.0f);
  }
}

TEST(RoundingStream, DiffersByNameAndStep) {
  using internal::RoundingKey;
  using internal::RoundingStream;
  EXPECT_EQ(RoundingKey(""), 0xcbf29ce484222325u);
  EXPECT_EQ(RoundingKey("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_NE(RoundingStream(RoundingKey("a"), 1),
            RoundingStream(RoundingKey("a"), 2));
  EXPECT_NE(RoundingStream(RoundingKey("a"), 1),
            RoundingStream(RoundingKey("b"), 1));
}

}  // namespace
}  // namespace octet::train
