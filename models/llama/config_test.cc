// SPDX-License-Identifier: Apache-2.0
#include "models/llama/config.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/status_matchers.h"

namespace octet::models {
namespace {

using octet::testing::IsOk;
using octet::testing::StatusIs;
using ::testing::HasSubstr;

LlamaConfig Preset(const char* name) {
  const auto config = LlamaPresetConfig(name);
  EXPECT_THAT(config, IsOk());
  return config.value_or(LlamaConfig());
}

// Figures of torchtitan's table.
TEST(LlamaConfigTest, CountsParametersAndFlops) {
  struct Figures {
    const char* name;
    int64_t length, parameters, flops;
  };
  for (const Figures& f : {
           Figures{"debug", 2048, 6163712, 71585280},
           Figures{"1B", 8192, 1235814400, 10636111872},
           Figures{"3B", 8192, 3212749824, 27732215808},
           Figures{"8B", 8192, 8030261248, 57914449920},
           Figures{"70B", 8192, 70553706496, 481442709504},
           Figures{"405B", 8192, 405853388800, 2625449459712},
       }) {
    EXPECT_EQ(NumParameters(Preset(f.name)), f.parameters) << f.name;
    EXPECT_EQ(FlopsPerToken(Preset(f.name), f.length), f.flops) << f.name;
  }
}

TEST(LlamaConfigTest, SmallPresetsAreAsLargeAsTheirNames) {
  EXPECT_NEAR(NumParameters(Preset("150M")), 150e6, 5e6);
  const int64_t tiny = NumParameters(Preset("tiny"));
  EXPECT_GT(tiny, 1000000);
  EXPECT_LT(tiny, 3000000);
}

TEST(LlamaConfigTest, EveryPresetIsValidAndFoundByName) {
  for (const LlamaPreset& preset : LlamaPresets()) {
    EXPECT_THAT(Validate(preset.config), IsOk()) << preset.name;
    EXPECT_EQ(Preset(preset.name.c_str()), preset.config);
    EXPECT_FALSE(preset.summary.empty());
    // Float8 wants multiples of 16.
    EXPECT_EQ(preset.config.hidden_size % 16, 0);
    EXPECT_EQ(preset.config.intermediate_size % 16, 0);
  }
  EXPECT_THAT(LlamaPresetConfig("9B"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tiny, debug, 150M, 1B")));
}

TEST(LlamaConfigTest, ValidateNamesTheField) {
  const auto message = [](auto change) {
    LlamaConfig config = Preset("tiny");
    change(&config);
    return Validate(config);
  };
  const auto invalid = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(message([](LlamaConfig* c) { c->vocab_size = 0; }),
              invalid("vocab_size is 0"));
  EXPECT_THAT(message([](LlamaConfig* c) { c->hidden_size = -1; }),
              invalid("hidden_size is -1"));
  EXPECT_THAT(message([](LlamaConfig* c) { c->num_kv_heads = 4; }),
              invalid("num_heads 6 is not a multiple of num_kv_heads 4"));
  EXPECT_THAT(message([](LlamaConfig* c) { c->head_dim = 33; }),
              invalid("head_dim is 33"));
  EXPECT_THAT(message([](LlamaConfig* c) { c->rope_theta = 0; }),
              invalid("rope_theta is 0"));
  EXPECT_THAT(message([](LlamaConfig* c) { c->rms_norm_eps = NAN; }),
              invalid("rms_norm_eps is nan"));
  EXPECT_THAT(message([](LlamaConfig* c) {
                c->rope_scaling = RopeScaling{8.0, 4.0, 1.0, 8192};
              }),
              invalid("low_freq_factor 4, high_freq_factor 1"));
}

TEST(LlamaConfigTest, EqualityLooksAtScaling) {
  LlamaConfig a = Preset("8B");
  LlamaConfig b = a;
  EXPECT_EQ(a, b);
  b.rope_scaling->factor = 32.0;
  EXPECT_NE(a, b);
  b.rope_scaling.reset();
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace octet::models
