#include "experiments/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiments/made_runs.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Claim* Find(const std::vector<Claim>& claims, const std::string& what) {
  for (const Claim& claim : claims) {
    if (claim.what == what) return &claim;
  }
  ADD_FAILURE() << "no claim: " << what;
  static const Claim none;
  return &none;
}

TEST(Claims, ASpeedIsTheRatioOfSimulatedRows) {
  const std::vector<ExperimentRun> runs = {MakeRun(
      "throughput_a100",
      {MakeRow({.id = "qwen2.5-14b", .published = 122, .simulated = 122}),
       MakeRow({.id = "qwen2.5-14b", .system = "zero3_offload", .published = 10, .simulated = 8}),
       MakeRow({.id = "qwen2.5-14b", .system = "gemini", .published = 15, .simulated = 15})})};
  const std::vector<Claim> claims = CheckClaims(runs);
  ASSERT_EQ(claims.size(), 1);
  EXPECT_EQ(claims[0].what, "speed over ZeRO-3 offload, 14B on A100");
  EXPECT_EQ(claims[0].claimed, "12.2x");
  EXPECT_EQ(claims[0].simulated, "15.25x");
  EXPECT_NEAR(*claims[0].error, 0.25, 1e-12);
  EXPECT_EQ(claims[0].error_text, "+25.0 %");
  EXPECT_EQ(claims[0].agreement, Agreement::kMisses);
  EXPECT_EQ(VerdictOf(claims[0]), "misses by 25.0 %");
  EXPECT_EQ(claims[0].note, "");
}

TEST(Claims, SayWhichRowsWereFitted) {
  const auto claim = [](RowUse ours, RowUse other) {
    const std::vector<ExperimentRun> runs = {MakeRun(
        "depth_scaling", {MakeRow({.id = "56 layers", .use = ours}),
                          MakeRow({.id = "56 layers", .system = "fsdp_offload", .use = other})})};
    return CheckClaims(runs).at(0);
  };
  EXPECT_EQ(claim(RowUse::kJudged, RowUse::kFitted).note, "partly fitted: 56 layers, FSDP offload");
  EXPECT_THAT(claim(RowUse::kFitted, RowUse::kFitted).note, HasSubstr("tests nothing"));
  // 1.0x where 6.14x is claimed: a miss, unless nothing was tested.
  EXPECT_THAT(VerdictOf(claim(RowUse::kJudged, RowUse::kFitted)), HasSubstr("misses by 83.7 %"));
  EXPECT_EQ(VerdictOf(claim(RowUse::kFitted, RowUse::kFitted)), "fitted");
}

TEST(Claims, ChangesAreComparedInPoints) {
  const std::vector<ExperimentRun> runs = {
      MakeRun("ablation", {MakeRow({.id = "full", .simulated = 200}),
                           MakeRow({.id = "no_double_buffering", .simulated = 140}),
                           MakeRow({.id = "no_gradient_slab_pool", .simulated = 193.4}),
                           MakeRow({.id = "checkpoint_interval_1", .simulated = 220})})};
  const std::vector<Claim> claims = CheckClaims(runs);
  ASSERT_EQ(claims.size(), 3);
  EXPECT_EQ(claims[0].claimed, "-31.3 %");
  EXPECT_EQ(claims[0].simulated, "-30.0 %");
  EXPECT_EQ(claims[0].error_text, "+1.3 points");
  EXPECT_EQ(claims[1].error_text, "0.0 points");
  EXPECT_EQ(claims[2].simulated, "+10.0 %");
  EXPECT_EQ(claims[2].error_text, "+19.7 points");
  EXPECT_EQ(VerdictOf(claims[0]), "holds");
  EXPECT_EQ(VerdictOf(claims[1]), "holds");
  EXPECT_EQ(VerdictOf(claims[2]), "misses by 19.7 points");
}

TEST(Claims, AreCountedByVerdictWithoutThoseThatTestOrClaimNothing) {
  const std::vector<Claim> claims = {{.agreement = Agreement::kHolds},
                                     {.agreement = Agreement::kMisses},
                                     {.agreement = Agreement::kMisses},
                                     {.agreement = Agreement::kClose},
                                     {.agreement = Agreement::kHolds, .is_fitted = true},
                                     {.what = "not claimed"}};
  const ClaimCounts counts = CountClaims(claims);
  EXPECT_EQ(counts.holding, 1);
  EXPECT_EQ(counts.close, 1);
  EXPECT_EQ(counts.missing, 2);
  EXPECT_EQ(counts.fitted, 1);
  EXPECT_EQ(counts.judged(), 4);
}

TEST(Claims, WidthNeedsEveryWidthAndOthersThatRunOut) {
  const auto claims = [](bool ours_fit, bool zero3_fits) {
    return CheckClaims(std::vector<ExperimentRun>{MakeRun(
        "width_scaling",
        {MakeRow({.id = "width 1.0x"}), MakeRow({.id = "width 1.0x", .system = "zero3_offload"}),
         MakeRow({.id = "width 5.0x", .fits = ours_fit}),
         MakeRow({.id = "width 5.0x", .system = "zero3_offload", .fits = zero3_fits}),
         MakeRow({.id = "width 5.0x", .system = "fsdp_offload", .fits = false})})});
  };
  const std::string trains = "trains at every width up to 5.0x";
  const std::string others = "the others run out of memory before 5.0x";
  EXPECT_EQ(VerdictOf(*Find(claims(true, false), trains)), "holds");
  EXPECT_EQ(VerdictOf(*Find(claims(true, false), others)), "holds");
  EXPECT_EQ(VerdictOf(*Find(claims(false, false), trains)), "misses");
  EXPECT_EQ(VerdictOf(*Find(claims(true, true), others)), "misses");
  EXPECT_EQ(Find(claims(true, true), others)->note, "run out of memory here: FSDP offload");
}

TEST(Claims, ALargeModelSaysByHowManyBytes) {
  ComparedRow row = MakeRow({.id = "gpt-oss-120b on h200",
                             .metric = Metric::kStatus,
                             .published = std::nullopt,
                             .fits = false});
  row.host_capacity = 1'500'000'000'000_B;
  row.horizon.push_back({.state_format = StateFormat::k8BitMoments, .fits = true});
  row.horizon[0].prediction.memory.totals[static_cast<size_t>(Memory::kPinned)] = 400'000'000'000_B;
  row.horizon[0].prediction.memory.totals[static_cast<size_t>(Memory::kHost)] = 100'000'000'000_B;
  const std::vector<ExperimentRun> runs = {MakeRun("host_memory", {row})};
  const std::vector<Claim> claims = CheckClaims(runs);
  ASSERT_EQ(claims.size(), 2);
  EXPECT_EQ(claims[0].simulated, "no");
  EXPECT_EQ(VerdictOf(claims[0]), "misses");
  EXPECT_THAT(claims[0].note, HasSubstr("is short by 1.86 GiB"));
  EXPECT_THAT(claims[1].what, HasSubstr("8bit-moments"));
  EXPECT_EQ(claims[1].simulated, "yes");
  EXPECT_EQ(claims[1].error, std::nullopt);
  EXPECT_EQ(VerdictOf(claims[1]), "") << "the paper does not claim it";
  EXPECT_EQ(claims[1].note, "leaves 931 GiB of host memory free");
}

// 2 and 4 GiB at 1 and 3 x 2^30 parameters: one byte a parameter, where 2 were published.
TEST(Claims, HostMemoryIsALineThroughTheDepthSeries) {
  const auto row = [](std::string id, uint64_t parameters, double published, double simulated) {
    ComparedRow made = MakeRow({.id = std::move(id),
                                .metric = Metric::kHostGib,
                                .published = published,
                                .simulated = simulated});
    made.parameters = parameters << 30;
    return made;
  };
  const std::vector<ExperimentRun> runs = {
      MakeRun("depth_scaling", {row("a", 1, 10, 2), row("b", 2, 12, 3), row("c", 3, 14, 4)})};
  const std::vector<Claim> claims = CheckClaims(runs);
  ASSERT_EQ(claims.size(), 2);
  EXPECT_EQ(claims[0].simulated, "1.000000");
  EXPECT_EQ(claims[1].claimed, "2.00");
  EXPECT_EQ(claims[1].simulated, "1.00");
  EXPECT_NEAR(*claims[1].error, -0.5, 1e-12);
}

TEST(Claims, WithoutTheirRowsThereAreNone) {
  EXPECT_THAT(CheckClaims({}), IsEmpty());
  const std::vector<ExperimentRun> runs = {
      MakeRun("throughput_a100", {MakeRow({.id = "qwen2.5-14b"})}), MakeRun("depth_scaling", {})};
  EXPECT_THAT(CheckClaims(runs), IsEmpty());
}

}  // namespace
}  // namespace horizon
