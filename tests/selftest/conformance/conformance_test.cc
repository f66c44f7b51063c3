// What the suite says of devices that are not as they should be. tests/runtime/device/ has those
// that are.
#include "selftest/conformance/conformance.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/device/host_device.h"
#include "tests/runtime/device/adversarial_device.h"

namespace horizon {
namespace {

using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

absl::StatusOr<std::unique_ptr<Device>> MakeHost(Bytes capacity, Clock* clock, uint64_t) {
  return HostDevice::Create({.capacity = capacity, .clock = clock});
}

TEST(ConformanceSuite, HasEveryCheckOnce) {
  std::set<std::string_view> names;
  for (const ConformanceCheck& check : ConformanceChecks()) names.insert(check.name);
  EXPECT_EQ(names.size(), ConformanceChecks().size());
  EXPECT_EQ(ConformanceChecks().size(), 28);
}

TEST(ConformanceSuite, ADeviceThatCannotBeMadeIsAFindingOfEveryCheck) {
  const DeviceFactory factory{
      .name = "none",
      .seeds = 3,
      .create = [](Bytes, Clock*, uint64_t) -> absl::StatusOr<std::unique_ptr<Device>> {
        return absl::UnavailableError("no such device");
      }};
  for (const ConformanceCheck& check : ConformanceChecks()) {
    Findings findings;
    check.run(factory, findings);
    EXPECT_THAT(findings.lines(), Contains(HasSubstr("no such device"))) << check.name;
  }
}

TEST(ConformanceSuite, TheFirstSeedWithAFindingIsNamedAndTheLast) {
  std::vector<uint64_t> seeds;
  const DeviceFactory factory{
      .name = "fails later",
      .seeds = 10,
      .create = [&](Bytes capacity, Clock* clock,
                    uint64_t seed) -> absl::StatusOr<std::unique_ptr<Device>> {
        seeds.push_back(seed);
        if (seed >= 3) return absl::UnavailableError("gone");
        return MakeHost(capacity, clock, seed);
      }};
  int over_seeds = 0;
  for (const ConformanceCheck& check : ConformanceChecks()) {
    Findings findings;
    findings.Add("of another check");
    seeds.clear();
    check.run(factory, findings);
    if (seeds.back() == 0) continue;
    ++over_seeds;
    EXPECT_EQ(seeds, std::vector<uint64_t>({0, 1, 2, 3})) << check.name;
    std::vector<std::string> lines = findings.lines();
    lines.erase(lines.begin());
    EXPECT_THAT(lines, Not(IsEmpty()));
    EXPECT_THAT(lines, Each(EndsWith("(seed 3)"))) << check.name;
    findings.Add("later");
    EXPECT_EQ(findings.lines().back(), "later");
  }
  EXPECT_EQ(over_seeds, 12);
}

// Computes wrongly, and fails or does nothing: a check must say so and come to an end.
TEST(ConformanceSuite, AWrongKernelIsAFinding) {
  for (const KernelCall& kernel : std::vector<KernelCall>{
           [](const KernelContext&) { return absl::OkStatus(); },
           [](const KernelContext&) { return absl::InternalError("no code for it"); }}) {
    const DeviceFactory factory{
        .name = "wrong",
        .create = MakeHost,
        .double_words = [&](std::byte*, const std::byte*, uint64_t) { return kernel; }};
    std::set<std::string_view> failing;
    for (const ConformanceCheck& check : ConformanceChecks()) {
      Findings findings;
      check.run(factory, findings);
      if (!findings.none()) failing.insert(check.name);
    }
    EXPECT_THAT(failing, testing::ElementsAre("EventsOrderAChainOverThreeStreams",
                                              "WorkOfAStreamRunsInTheOrderItWasPut"));
  }
}

// A device that fails in the middle of a check must not end the program, nor make it wait for ever.
TEST(ConformanceSuite, EveryCheckComesToAnEndWhicheverCallFails) {
  for (const DeviceFault fault :
       {DeviceFault::kOnce, DeviceFault::kFromThereOn, DeviceFault::kLate}) {
    for (const ConformanceCheck& check : ConformanceChecks()) {
      bool found = false;
      for (const uint64_t call : {1, 2, 3, 4, 5, 7, 9, 12, 20, 35}) {
        const DeviceFactory factory{
            .name = "failing",
            .create = [&](Bytes capacity, Clock* clock,
                          uint64_t seed) -> absl::StatusOr<std::unique_ptr<Device>> {
              auto device =
                  AdversarialDevice::Create({.capacity = capacity, .seed = call, .clock = clock});
              if (!device.ok()) return device.status();
              (*device)->FailCall(call, absl::UnavailableError("planted"), fault);
              return *std::move(device);
            }};
        Findings findings;
        check.run(factory, findings);
        found |= !findings.none();
      }
      EXPECT_TRUE(found) << check.name;
    }
  }
}

}  // namespace
}  // namespace horizon
