// Rotary frequencies and query scales against those of transformers 5.22 and 5.23; the table is
// printed by tests/model/oracle/make_rotary_goldens.py.
#include "model/rotary_frequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace horizon {
namespace {

struct Golden {
  std::string name;
  RopeSpec rope;
  int64_t rotary_dim = 0;
  size_t stride = 1;  // every stride-th frequency is listed
  float factor = 1.0F;
  std::vector<float> frequencies;
  int64_t sequence = 1;
};

const RopeSpec kLlama3 = {
    .kind = RopeKind::kLlama3, .theta = 500000, .factor = 8, .original_max_positions = 8192};
const RopeSpec kYarn = {.kind = RopeKind::kYarn, .factor = 4, .original_max_positions = 4096};

const RopeSpec kLongrope = {.kind = RopeKind::kLongrope,
                            .rotary_dim = 12,
                            .factor = 32,
                            .original_max_positions = 4096,
                            .short_factors = {1.0, 1.02, 1.05, 1.1, 1.3, 1.75},
                            .long_factors = {1.0, 1.25, 2.5, 9.0, 33.3, 64.01}};

template <typename Change>
RopeSpec With(RopeSpec rope, Change change) {
  change(rope);
  return rope;
}

std::vector<Golden> Goldens() {
  return {
      {"Default",
       {},
       16,
       1,
       1.0F,
       {1.0F, 0.31622776F, 0.1F, 0.03162278F, 0.01F, 0.0031622779F, 0.001F, 0.0003162278F}},
      {"DefaultLargeTheta",
       {.theta = 1e6},
       128,
       9,
       1.0F,
       {1.0F, 0.14330126F, 0.020535251F, 0.0029427272F, 0.0004216965F, 6.0429637e-05F,
        8.659644e-06F, 1.2409378e-06F}},
      {"OnePair", {}, 2, 1, 1.0F, {1.0F}},
      {"Linear",
       {.kind = RopeKind::kLinear, .factor = 3},
       16,
       1,
       1.0F,
       {0.33333334F, 0.10540926F, 0.033333335F, 0.010540926F, 0.0033333332F, 0.0010540927F,
        0.00033333336F, 0.000105409265F}},
      {"Llama3",
       kLlama3,
       128,
       4,
       1.0F,
       {1.0F, 0.44036663F, 0.19392276F, 0.0853971F, 0.03760603F, 0.01656044F, 0.007292665F,
        0.003211446F, 0.000524846F, 7.7846555e-05F, 3.4281024e-05F, 1.5096218e-05F, 6.6478697e-06F,
        2.9274997e-06F, 1.2891732e-06F, 5.677088e-07F}},
      {"Llama3Other",
       With(kLlama3,
            [](RopeSpec& r) {
              r.factor = 32;
              r.low_frequency_factor = 1.5;
              r.high_frequency_factor = 5;
            }),
       64,
       2,
       1.0F,
       {1.0F, 0.44036663F, 0.19392276F, 0.0853971F, 0.03760603F, 0.01656044F, 0.007292665F,
        0.002488851F, 0.00017878786F, 1.9461639e-05F, 8.570256e-06F, 3.7740544e-06F, 1.6619674e-06F,
        7.3187493e-07F, 3.222933e-07F, 1.419272e-07F}},
      {"Yarn",
       kYarn,
       128,
       4,
       1.1386294F,
       {1.0F, 0.56234133F, 0.31622776F, 0.17782794F, 0.1F, 0.05623413F, 0.027973996F, 0.013679072F,
        0.006538462F, 0.0030279916F, 0.0013378868F, 0.0005471629F, 0.00025F, 0.00014058533F,
        7.905695e-05F, 4.4456985e-05F}},
      {"YarnNotTruncated",
       With(kYarn,
            [](RopeSpec& r) {
              r.truncate = false;
              r.theta = 150000;
              r.factor = 32;
            }),
       64,
       2,
       1.3465736F,
       {1.0F, 0.47478205F, 0.225418F, 0.107024424F, 0.050813273F, 0.019335F, 0.0067949593F,
        0.0020937927F, 0.00045648392F, 3.830881e-05F, 1.8188337e-05F, 8.635496e-06F, 4.0999785e-06F,
        1.9465963e-06F, 9.2420896e-07F, 4.3879785e-07F}},
      {"YarnBetas",
       With(kYarn,
            [](RopeSpec& r) {
              r.beta_fast = 16;
              r.beta_slow = 2;
              r.factor = 2.5;
            }),
       64,
       2,
       1.091629F,
       {1.0F, 0.56234133F, 0.31622776F, 0.17782794F, 0.1F, 0.05623413F, 0.03162278F, 0.015411755F,
        0.0073333336F, 0.0033740478F, 0.0014757297F, 0.00071131176F, 0.0004F, 0.00022493652F,
        0.00012649111F, 7.113117e-05F}},
      {"YarnMscales",
       With(kYarn,
            [](RopeSpec& r) {
              r.mscale = 1.2;
              r.mscale_all_dim = 0.7;
              r.factor = 40;
            }),
       32,
       2,
       1.1465911F,
       {1.0F, 0.31622776F, 0.1F, 0.027218176F, 0.0058214283F, 0.00095997716F, 2.5e-05F,
        7.9056945e-06F}},
      {"YarnMscaleAlone",
       With(kYarn, [](RopeSpec& r) { r.mscale = 1.2; }),
       32,
       4,
       1.1386294F,
       {1.0F, 0.1F, 0.006785714F, 0.00025F}},
      {"YarnAttentionFactor",
       With(kYarn,
            [](RopeSpec& r) {
              r.attention_factor = 0.75;
              r.mscale = 1.2;
              r.mscale_all_dim = 0.7;
            }),
       32,
       4,
       0.75F,
       {1.0F, 0.1F, 0.006785714F, 0.00025F}},
      {"YarnFactorOne",
       With(kYarn, [](RopeSpec& r) { r.factor = 1; }),
       32,
       4,
       1.0F,
       {1.0F, 0.1F, 0.01F, 0.001F}},
      // First and last pair fall together, and lie the wrong way round.
      {"YarnShortContext",
       With(kYarn, [](RopeSpec& r) { r.original_max_positions = 4; }),
       16,
       1,
       1.1386294F,
       {1.0F, 0.07905694F, 0.025F, 0.007905695F, 0.0025F, 0.00079056947F, 0.00025F, 7.905695e-05F}},
      {"YarnWideRange",
       With(kYarn,
            [](RopeSpec& r) {
              r.original_max_positions = int64_t{1} << 40;
              r.beta_fast = 1e9;
            }),
       16,
       1,
       1.1386294F,
       {1.0F, 0.31622776F, 0.1F, 0.03162278F, 0.01F, 0.0029466678F, 0.0008636364F, 0.00025154484F}},
      {"YarnLongContext",
       With(kYarn, [](RopeSpec& r) { r.original_max_positions = int64_t{1} << 62; }),
       16,
       1,
       1.1386294F,
       {0.25F, 0.07905694F, 0.025F, 0.007905695F, 0.0025F, 0.00079056947F, 0.00025F,
        7.905695e-05F}},
      // Half, a quarter and a quarter of heads of 128 channels.
      {"YarnPartial",
       kYarn,
       64,
       2,
       1.1386294F,
       {1.0F, 0.56234133F, 0.31622776F, 0.17782794F, 0.1F, 0.05623413F, 0.027973996F, 0.013679072F,
        0.006538462F, 0.0030279916F, 0.0013378868F, 0.0005471629F, 0.00025F, 0.00014058533F,
        7.905695e-05F, 4.4456985e-05F}},
      {"Llama3Partial",
       kLlama3,
       32,
       1,
       1.0F,
       {1.0F, 0.44036663F, 0.19392276F, 0.0853971F, 0.03760603F, 0.01656044F, 0.007292665F,
        0.003211446F, 0.000524846F, 7.7846555e-05F, 3.4281024e-05F, 1.5096218e-05F, 6.6478697e-06F,
        2.9274997e-06F, 1.2891732e-06F, 5.677088e-07F}},
      {"LinearPartial",
       {.kind = RopeKind::kLinear, .factor = 3},
       32,
       2,
       1.0F,
       {0.33333334F, 0.10540926F, 0.033333335F, 0.010540926F, 0.0033333332F, 0.0010540927F,
        0.00033333336F, 0.000105409265F}},
      {"LongropeShort",
       kLongrope,
       12,
       1,
       1.1902381F,
       {1.0F, 0.21121909F, 0.044205602F, 0.009090909F, 0.0016572573F, 0.00026523368F},
       4096},
      {"LongropeLong",
       kLongrope,
       12,
       1,
       1.1902381F,
       {1.0F, 0.17235476F, 0.018566353F, 0.0011111111F, 6.469773e-05F, 7.251351e-06F},
       4097},
      {"LongropeFactor",
       With(kLongrope, [](RopeSpec& r) { r.factor = 4; }),
       12,
       1,
       1.0801234F,
       {1.0F, 0.21121909F, 0.044205602F, 0.009090909F, 0.0016572573F, 0.00026523368F},
       4096},
      {"LongropeAttentionFactor",
       With(kLongrope, [](RopeSpec& r) { r.attention_factor = 1.25; }),
       12,
       1,
       1.25F,
       {1.0F, 0.17235476F, 0.018566353F, 0.0011111111F, 6.469773e-05F, 7.251351e-06F},
       4097},
  };
}

class RotaryFrequenciesTest : public testing::TestWithParam<Golden> {};

TEST_P(RotaryFrequenciesTest, AreThoseOfTransformers) {
  const Golden& golden = GetParam();
  const RotaryFrequencies ours = FrequenciesOf(golden.rope, golden.rotary_dim, golden.sequence);
  EXPECT_EQ(ours.factor, golden.factor);
  ASSERT_EQ(ours.frequencies.size(), static_cast<size_t>(golden.rotary_dim / 2));
  // PyTorch's vectorised powf is within 1 ulp, ours is rounded from double (0.5 ulp). The steps
  // after it are the same, and each carries a relative difference on without enlarging it, except
  // the blend of llama3, whose weight is a difference of numbers up to 4 times as large: 8 ulp.
  const float ulps = golden.rope.kind == RopeKind::kLlama3 ? 8 : 2;
  for (size_t i = 0; i < golden.frequencies.size(); ++i) {
    const float expected = golden.frequencies[i];
    EXPECT_NEAR(ours.frequencies[i * golden.stride], expected,
                ulps * std::numeric_limits<float>::epsilon() * expected)
        << i * golden.stride;
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, RotaryFrequenciesTest, testing::ValuesIn(Goldens()),
                         [](const auto& tested) { return tested.param.name; });

TEST(RotaryFrequencies, FallFromPairToPairForEveryKind) {
  for (const Golden& golden : Goldens()) {
    const bool listed = golden.rope.kind == RopeKind::kLongrope;  // one factor for each pair
    const RotaryFrequencies ours =
        FrequenciesOf(golden.rope, listed ? golden.rotary_dim : 256, golden.sequence);
    for (size_t i = 1; i < ours.frequencies.size(); ++i) {
      EXPECT_LT(ours.frequencies[i], ours.frequencies[i - 1]) << golden.name << " " << i;
      EXPECT_GT(ours.frequencies[i], 0.0F);
    }
  }
}

TEST(RotaryFrequencies, LongropeOfFactorOneScalesNothing) {
  const RopeSpec rope = With(kLongrope, [](RopeSpec& r) { r.factor = 1; });
  EXPECT_EQ(FrequenciesOf(rope, 12, 1).factor, 1.0F);
}

TEST(RotaryFrequencies, QueryScalesAreThoseOfTransformers) {
  const RopeSpec rope = {.original_max_positions = 4096, .query_scale_beta = 0.1};
  const std::vector<std::pair<int64_t, float>> expected = {
      {0, 1.0F},          {4095, 1.0F},         {4096, 1.0693147F},   {8191, 1.0693147F},
      {8192, 1.1098613F}, {100000, 1.3218876F}, {262143, 1.4158883F},
  };
  // Logarithms are within 1 ulp of each other and are multiplied with 0.1 before 1 is added.
  for (const auto& [position, scale] : expected) {
    EXPECT_NEAR(QueryScaleOf(rope, position), scale, std::numeric_limits<float>::epsilon())
        << position;
  }
  EXPECT_EQ(QueryScaleOf({.original_max_positions = 4096}, 100000), 1.0F);
}

}  // namespace
}  // namespace horizon
