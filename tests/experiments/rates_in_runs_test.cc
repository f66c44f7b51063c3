// The runs of a profile: what noise cannot move.
#include "experiments/measured/rates_in_runs.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/documents/json.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

TEST(RatesInRuns, AreMeasuredByThreeRunsWhateverTheProfileSaidBefore) {
  const std::unique_ptr<Io> io = MakePosixIo();
  RealClock clock;
  HardwareProfile profile = *LoadMachine(*io, "cpu-desktop");
  profile.host.cores = 2;
  std::vector<int64_t> reported;
  const RunsForProfile runs{
      .io = *io, .clock = clock, .when = "2026-11-17", .on_run = [&](int64_t done, int64_t total) {
        reported.push_back(done);
        EXPECT_EQ(total, 3);
      }};
  // The desktop of the catalog is far from this machine, in whichever direction, so that some rate
  // is corrected.
  const absl::StatusOr<Refit> refit = MeasureRatesInRuns(profile, runs);
  ASSERT_TRUE(refit.ok()) << refit.status();
  EXPECT_EQ(reported, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(refit->runs.size(), 3u);
  int corrected = 0;
  for (const std::optional<Figure>& share : refit->profile.in_runs) {
    if (!share.has_value()) continue;
    ++corrected;
    EXPECT_GT(share->value, 0);
    EXPECT_EQ(share->origin.kind, OriginKind::kMeasured);
    EXPECT_EQ(share->origin.repeats, 3);
    EXPECT_EQ(share->origin.when, "2026-11-17");
  }
  EXPECT_GT(corrected, 0);
  // Rates alone stay as they were measured.
  EXPECT_EQ(refit->profile.device.gemm_fp32, profile.device.gemm_fp32);
  EXPECT_EQ(refit->profile.host.dram, profile.host.dram);
  const absl::StatusOr<Document> written = ParseJson("profile.json", WriteProfile(refit->profile));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(ReadProfile(*written).ok()) << ReadProfile(*written).status();
}

}  // namespace
}  // namespace horizon
