#include "planner/profile/probe_link.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "common/clock.h"
#include "runtime/device/host_device.h"

namespace horizon {
namespace {

class ProbeLinkTest : public testing::Test {
 protected:
  std::unique_ptr<Device> Open(Bytes capacity) {
    absl::StatusOr<std::unique_ptr<HostDevice>> device =
        HostDevice::Create({.capacity = capacity, .clock = &clock_});
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }
  std::optional<PcieState> Probe(const LinkReader& read) {
    const std::unique_ptr<Device> device = Open(40_MiB);
    const absl::StatusOr<std::optional<PcieState>> link = ProbeLink(clock_, *device, read);
    EXPECT_TRUE(link.ok()) << link.status();
    EXPECT_EQ(device->used(), 0_B);
    return link.value_or(std::nullopt);
  }
  static NvmlLink Link(uint32_t generation, uint32_t width) {
    return {.now = PcieLink{generation, width}, .most = PcieLink{4, 16}};
  }

  VirtualClock clock_;
  int asked_ = 0;
};

TEST_F(ProbeLinkTest, ALinkThatWakesUnderLoadIsAsGoodAsItCanBe) {
  const std::optional<PcieState> link = Probe([&] { return Link(++asked_ < 3 ? 1 : 4, 16); });
  EXPECT_EQ(asked_, 3);
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(*link, (PcieState{.generation = 4,
                              .width = 16,
                              .best_generation = 4,
                              .best_width = 16,
                              .under_load = true}));
  EXPECT_EQ(LinkProblem(*link), "");
}

TEST_F(ProbeLinkTest, OneThatStaysLowIsReportedWhenTheTimeIsOver) {
  const std::optional<PcieState> link = Probe([&] {
    ++asked_;
    clock_.Advance(std::chrono::milliseconds(100));
    return Link(asked_ == 2 ? 2 : 1, 4);
  });
  EXPECT_EQ(asked_, 5);
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->generation, 2);
  EXPECT_EQ(link->width, 4);
  // A quarter of the lanes at a quarter of the rate.
  EXPECT_EQ(LinkProblem(*link),
            "the link runs below its best: gen 2 x4 under load of gen 4 x16 (4 of 16 lanes), at "
            "most 6 % of what it could carry: look at slot, riser and firmware settings");
}

TEST_F(ProbeLinkTest, ADriverThatDoesNotTellIsAskedOnce) {
  EXPECT_FALSE(Probe([&] {
                 ++asked_;
                 return NvmlLink{};
               }).has_value());
  EXPECT_EQ(asked_, 1);
  EXPECT_FALSE(Probe([&]() -> absl::StatusOr<NvmlLink> {
                 ++asked_;
                 return absl::UnavailableError("GPU is lost");
               }).has_value());
  EXPECT_EQ(asked_, 2);
}

TEST_F(ProbeLinkTest, ADeviceThatIsTooSmallIsAnErrorAndNothingStays) {
  const std::unique_ptr<Device> device = Open(1_MiB);
  EXPECT_TRUE(
      absl::IsResourceExhausted(ProbeLink(clock_, *device, [] { return Link(4, 16); }).status()));
  EXPECT_EQ(device->used(), 0_B);
}

}  // namespace
}  // namespace horizon
