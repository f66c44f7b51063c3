// The bytes of a run: items add up, nothing is forgotten, and what lacks is named.
#include "simulator/memory_estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "schedule/lay_out_memory.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr size_t kDevice = static_cast<size_t>(Memory::kDevice);
constexpr size_t kPinned = static_cast<size_t>(Memory::kPinned);
constexpr size_t kHost = static_cast<size_t>(Memory::kHost);

const MemoryItem* Find(const MemoryEstimate& estimate, Memory memory, std::string_view name) {
  for (const MemoryItem& item : estimate.items) {
    if (item.memory == memory && item.name == name) return &item;
  }
  return nullptr;
}

// 3 MiB + 1 pinned, 5 MiB host, 1000 device, in four buffers with a gap of 24 bytes.
MemoryLayout SmallLayout() {
  MemoryLayout layout;
  layout.buffers = {
      {.kind = BufferKind::kWeightsHi, .memory = Memory::kPinned, .bytes = Bytes(3 * kMiB + 1)},
      {.kind = BufferKind::kMoments, .memory = Memory::kHost, .bytes = Bytes(2 * kMiB)},
      {.kind = BufferKind::kMoments, .memory = Memory::kHost, .bytes = Bytes(3 * kMiB)},
      {.kind = BufferKind::kRingSlot, .memory = Memory::kDevice, .bytes = 976_B}};
  layout.totals = {1000_B, 3_MiB + 1_B, 5_MiB};
  return layout;
}

TEST(MemoryEstimate, ItemsByHand) {
  const MemoryEstimate estimate = EstimateMemory(SmallLayout(), TestProfile());
  EXPECT_EQ(estimate.device_bytes(), Bytes(1000 + 500'000'000u));
  EXPECT_EQ(estimate.pinned_bytes(), Bytes(4 * kMiB));  // whole huge pages
  // 6 MiB of whole pages, tables of 8 bytes a 4 KiB page over 8 MiB + 1, and the process.
  EXPECT_EQ(estimate.totals[kHost], Bytes(6 * kMiB + (8 * kMiB + 1) / 512 + 100'000'000u));
  EXPECT_EQ(estimate.host_bytes(), estimate.totals[kHost] + estimate.pinned_bytes());
  ASSERT_NE(Find(estimate, Memory::kDevice, "alignment"), nullptr);
  EXPECT_EQ(Find(estimate, Memory::kDevice, "alignment")->bytes, 24_B);
  EXPECT_EQ(Find(estimate, Memory::kDevice, "driver and libraries")->bytes, 500'000'000_B);
  EXPECT_EQ(Find(estimate, Memory::kPinned, "page rounding")->bytes, Bytes(kMiB - 1));
  EXPECT_EQ(Find(estimate, Memory::kHost, "page rounding")->bytes, Bytes(kMiB));
  EXPECT_EQ(Find(estimate, Memory::kHost, "page tables")->bytes, 16384_B);
  EXPECT_EQ(Find(estimate, Memory::kHost, "process")->bytes, 100'000'000_B);
  EXPECT_EQ(Find(estimate, Memory::kHost, "moments")->count, 2);
  EXPECT_EQ(estimate.BytesOf(BufferKind::kMoments), Bytes(5 * kMiB));
  EXPECT_EQ(estimate.BytesOf(BufferKind::kAnchor), 0_B);
  EXPECT_EQ(Find(estimate, Memory::kHost, "device arena"), nullptr);
}

TEST(MemoryEstimate, WholePagesAreNotRounded) {
  const MemoryNeed need = EstimateNeed({0_B, 4_MiB, 2_MiB}, TestProfile());
  EXPECT_EQ(need.pinned_bytes(), Bytes(4 * kMiB));
  EXPECT_EQ(need.totals[kHost], Bytes(2 * kMiB + 6 * kMiB / 512 + 100'000'000u));
}

TEST(MemoryEstimate, OnDeviceHostTheArenaIsRamToo) {
  const MemoryEstimate estimate = EstimateMemory(SmallLayout(), HostTestProfile());
  ASSERT_NE(Find(estimate, Memory::kHost, "device arena"), nullptr);
  EXPECT_EQ(Find(estimate, Memory::kHost, "device arena")->bytes, 1000_B);
}

TEST(MemoryEstimate, ASoftwareMayBeHeavierThanOurs) {
  const Software software{.link_share = 1, .adam_speed = 1, .process_bytes = 7_B};
  EXPECT_EQ(
      Find(EstimateMemory(SmallLayout(), TestProfile(), software), Memory::kHost, "process")->bytes,
      7_B);
}

TEST(MemoryEstimate, EveryKindIsNamed) {
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.sequence = 16;
  job.accumulation = 2;
  StreamPlan plan;
  plan.anchor_home = AnchorHome::kHost;
  const absl::StatusOr<MemoryLayout> layout = LayOutMemory(TinyModel(4), job, plan);
  ASSERT_TRUE(layout.ok()) << layout.status();
  const MemoryEstimate estimate = EstimateMemory(*layout, TestProfile());
  std::set<std::string> names;
  for (const MemoryItem& item : estimate.items) names.insert(item.name);
  for (const BufferKind kind :
       {BufferKind::kWeightsHi, BufferKind::kWeightsLo, BufferKind::kMoments,
        BufferKind::kKeptGradient, BufferKind::kGradientSlab, BufferKind::kRingSlot,
        BufferKind::kAnchor, BufferKind::kActivations, BufferKind::kLogits,
        BufferKind::kWorkspace}) {
    EXPECT_EQ(names.count(std::string(ToString(kind))), 1u) << ToString(kind);
    EXPECT_GT(estimate.BytesOf(kind), 0_B) << ToString(kind);
  }
  for (const char* name : {"process", "page tables", "driver and libraries", "page rounding"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

RC_GTEST_PROP(MemoryEstimate, ItemsAddUpAndAreNeverBelowTheLayout, ()) {
  const RandomCase random = *RandomAnyCase();
  const PassKind kind = *rc::gen::element(PassKind::kTrain, PassKind::kEvaluate, PassKind::kPrefill,
                                          PassKind::kDecode);
  const absl::StatusOr<MemoryLayout> layout =
      LayOutMemory(random.spec, random.job, random.plan, kind);
  if (!layout.ok()) RC_DISCARD("impossible plan");
  const HardwareProfile profile = *RandomProfile();
  const MemoryEstimate estimate = EstimateMemory(*layout, profile);
  MemoryTotals sums{};
  std::set<std::pair<Memory, std::string>> names;
  for (size_t i = 0; i < estimate.items.size(); ++i) {
    const MemoryItem& item = estimate.items[i];
    sums[static_cast<size_t>(item.memory)] += item.bytes;
    RC_ASSERT(names.insert({item.memory, item.name}).second);  // each once
    if (i == 0) continue;
    const MemoryItem& before = estimate.items[i - 1];
    RC_ASSERT(before.memory < item.memory ||
              (before.memory == item.memory && before.bytes >= item.bytes));
  }
  RC_ASSERT(sums == estimate.totals);
  RC_ASSERT(EstimateNeed(layout->totals, profile).totals == estimate.totals);
  for (int m = 0; m < kMemoryCount; ++m) RC_ASSERT(estimate.totals[m] >= layout->totals[m]);
  RC_ASSERT(estimate.totals[kDevice] > layout->totals[kDevice]);
  RC_ASSERT(estimate.totals[kHost] > layout->totals[kHost]);
  RC_ASSERT(estimate.totals[kPinned].value() % (2 * kMiB) == 0);
}

TEST(Shortages, EachMemoryIsNamedWithWhatItNeedsAndHas) {
  const HardwareProfile profile = TestProfile();  // 8e9 on the device, 64e9 in RAM
  MemoryNeed need{.totals = {8'000'000'000_B, 4'000'000'000_B, 60'000'000'000_B}};
  EXPECT_TRUE(ShortagesOf(need, profile, 0).empty());
  need.totals[kDevice] += 1_B;
  std::vector<Shortage> shortages = ShortagesOf(need, profile, 0);
  ASSERT_EQ(shortages.size(), 1u);
  EXPECT_EQ(shortages[0].limit, Limit::kDeviceMemory);
  EXPECT_EQ(shortages[0].needed, 8'000'000'001_B);
  EXPECT_EQ(shortages[0].available, 8'000'000'000_B);
  need.totals[kPinned] += 1_B;  // pinned memory is RAM too
  shortages = ShortagesOf(need, profile, 0);
  ASSERT_EQ(shortages.size(), 2u);
  EXPECT_EQ(shortages[0].limit, Limit::kHostMemory);
  EXPECT_EQ(shortages[0].needed, 64'000'000'001_B);
  EXPECT_EQ(shortages[0].available, 64'000'000'000_B);
}

TEST(Shortages, AMarginStaysFree) {
  const HardwareProfile profile = TestProfile();
  EXPECT_EQ(Available(profile, Limit::kDeviceMemory, 0.25), 6'000'000'000_B);
  EXPECT_EQ(Available(profile, Limit::kHostMemory, 0.25), 48'000'000'000_B);
  const MemoryNeed need{.totals = {6'000'000'001_B, 0_B, 48'000'000'001_B}};
  EXPECT_TRUE(ShortagesOf(need, profile, 0).empty());
  EXPECT_EQ(ShortagesOf(need, profile, 0.25).size(), 2u);
}

TEST(Shortages, PageLockingHasALimitOnlyWhereTheSystemSetsOne) {
  HardwareProfile profile = TestProfile();
  const MemoryNeed need{.totals = {0_B, 1001_B, 0_B}};
  EXPECT_EQ(Available(profile, Limit::kPageLocking, 0.5),
            Bytes(std::numeric_limits<uint64_t>::max()));
  EXPECT_TRUE(ShortagesOf(need, profile, 0).empty());
  profile.host.memlock_bytes = Figure{.value = 1000, .origin = {}};
  const std::vector<Shortage> shortages = ShortagesOf(need, profile, 0.5);
  ASSERT_EQ(shortages.size(), 1u);
  EXPECT_EQ(shortages[0].limit, Limit::kPageLocking);
  EXPECT_EQ(shortages[0].available, 1000_B);  // an exact limit: no margin
}

TEST(Shortages, ACgroupLimitsRam) {
  HardwareProfile profile = TestProfile();
  profile.host.cgroup_bytes = Figure{.value = 1e9, .origin = {}};
  EXPECT_EQ(Available(profile, Limit::kHostMemory, 0), 1'000'000'000_B);
}

}  // namespace
}  // namespace horizon
