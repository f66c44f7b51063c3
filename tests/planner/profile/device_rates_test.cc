// Rates of a device, measured through its own calls: on the host, and on CUDA as the fake plays it.
#include "planner/profile/device_rates.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/documents/json.h"
#include "common/files/io.h"
#include "planner/profile/probe_cuda.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/host_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {
namespace {

void ExpectMeasured(const Curve& curve, size_t points) {
  ASSERT_GE(curve.points.size(), points);
  EXPECT_EQ(curve.origin.kind, OriginKind::kMeasured);
  EXPECT_GE(curve.origin.repeats, 1);
  for (size_t i = 0; i < curve.points.size(); ++i) {
    EXPECT_GT(curve.points[i].y, 0);
    if (i == 0) continue;
    EXPECT_GT(curve.points[i].x, curve.points[i - 1].x);
  }
}

void ExpectWhole(const HardwareProfile& profile) {
  ExpectMeasured(profile.device.gemm_bf16, 1);
  ExpectMeasured(profile.device.attention, 1);
  ExpectMeasured(profile.link.h2d_pinned, 1);
  ExpectMeasured(profile.link.d2h_pinned, 1);
  for (const Figure& figure :
       {profile.device.element_bytes_per_second, profile.device.memory_bytes_per_second,
        profile.device.launch_seconds, profile.link.latency_seconds,
        profile.link.both_ways_bytes_per_second}) {
    EXPECT_GT(figure.value, 0) << figure.origin.source;
    EXPECT_EQ(figure.origin.kind, OriginKind::kMeasured) << figure.origin.source;
  }
  // A pageable copy is a pinned one and another by a thread, so it is slower.
  ASSERT_EQ(profile.link.h2d_pageable.points.size(), profile.link.h2d_pinned.points.size());
  for (size_t i = 0; i < profile.link.h2d_pinned.points.size(); ++i) {
    EXPECT_LT(profile.link.h2d_pageable.points[i].y, profile.link.h2d_pinned.points[i].y);
  }
}

HardwareProfile WithPack() {
  HardwareProfile profile;
  profile.host.pack.points = {{1, 1e9}};
  return profile;
}

TEST(DeviceRates, OfTheHostFitExactlyIntoWhatIsAskedFor) {
  RealClock clock;
  const DeviceRateOptions rates{.time = Seconds{0.5}, .matrix_bytes = kLeastMatrixBytes};
  const absl::StatusOr<std::unique_ptr<HostDevice>> device =
      HostDevice::Create({.capacity = HostRatingBytes(rates, 2), .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  HardwareProfile profile = WithPack();
  const absl::Status status = MeasureDeviceRates(
      clock,
      {.device = **device, .kernels = HostKernels(), .values = ValueType::kFp32, .threads = 2},
      rates, profile);
  ASSERT_TRUE(status.ok()) << status;
  ExpectWhole(profile);
  EXPECT_EQ((*device)->high_water(), (*device)->capacity());
  EXPECT_EQ((*device)->used(), 0_B);
}

// A machine with a device, whole: the profile can be written and read again.
TEST(DeviceRates, OfACudaDeviceMakeAProfile) {
  fake_cuda::Reset();
  RealClock clock;
  const std::unique_ptr<Io> io = MakePosixIo();
  const DeviceRateOptions rates{.time = Seconds{0.5}, .matrix_bytes = kLeastMatrixBytes};
  {
    const absl::StatusOr<std::unique_ptr<Device>> device =
        MakeCudaDevice({.capacity = CudaRatingBytes(rates), .clock = &clock});
    ASSERT_TRUE(device.ok()) << device.status();
    const absl::StatusOr<std::unique_ptr<DeviceContext>> context =
        CudaKernels().make_device_context();
    ASSERT_TRUE(context.ok()) << context.status();
    const absl::StatusOr<HardwareProfile> profile = ProbeCuda(
        *io, clock,
        {.host = {.time = Seconds{0.2}},
         .rated = {.device = **device, .kernels = CudaKernels(), .device_context = context->get()},
         .rates = rates,
         .name = "Fake GPU",
         .free_bytes = 1_GiB});
    ASSERT_TRUE(profile.ok()) << profile.status();
    ExpectWhole(*profile);
    EXPECT_EQ(profile->device.kind, DeviceKind::kCuda);
    EXPECT_EQ(profile->device.memory_bytes.value, 1 << 30);
    EXPECT_FALSE(profile->host.memlock_bytes.has_value());
    EXPECT_EQ((*device)->high_water(), (*device)->capacity());
    const absl::StatusOr<Document> document = ParseJson("profile", WriteProfile(*profile));
    ASSERT_TRUE(document.ok()) << document.status();
    EXPECT_TRUE(ReadProfile(*document).ok()) << ReadProfile(*document).status();
  }
  EXPECT_EQ(fake_cuda::Leaks(), std::vector<std::string>{});
}

// Time that is over leaves one point of each curve.
TEST(DeviceRates, WithoutTimeEveryCurveHasOnePoint) {
  RealClock clock;
  const DeviceRateOptions rates{.time = Seconds{1e-9}, .matrix_bytes = 4 * kLeastMatrixBytes};
  const absl::StatusOr<std::unique_ptr<HostDevice>> device =
      HostDevice::Create({.capacity = HostRatingBytes(rates, 1), .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  HardwareProfile profile = WithPack();
  ASSERT_TRUE(MeasureDeviceRates(
                  clock, {.device = **device, .kernels = HostKernels(), .values = ValueType::kFp32},
                  rates, profile)
                  .ok());
  EXPECT_EQ(profile.device.gemm_fp32.points.size(), 1u);
  EXPECT_EQ(profile.device.attention.points.size(), 1u);
}

TEST(DeviceRates, TheErrorOfADeviceIsTold) {
  RealClock clock;
  const DeviceRateOptions rates{.time = Seconds{0.1}, .matrix_bytes = kLeastMatrixBytes};
  const absl::StatusOr<std::unique_ptr<HostDevice>> device =
      HostDevice::Create({.capacity = HostRatingBytes(rates, 1) - 1_B, .clock = &clock});
  ASSERT_TRUE(device.ok()) << device.status();
  HardwareProfile profile = WithPack();
  const absl::Status status = MeasureDeviceRates(
      clock, {.device = **device, .kernels = HostKernels(), .values = ValueType::kFp32}, rates,
      profile);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace horizon
