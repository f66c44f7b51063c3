#include "kernels/cuda_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horizon {
namespace {

TEST(CudaStatus, TellsNoDeviceFromOutOfMemoryFromTheRest) {
  EXPECT_TRUE(ToStatus({}, "launch").ok());
  EXPECT_TRUE(absl::IsUnavailable(
      ToStatus({.code = 35, .text = "old driver", .no_device = true}, "launch")));
  EXPECT_TRUE(absl::IsResourceExhausted(ToStatus({.code = 2, .text = "out of memory"}, "launch")));
  const absl::Status status = ToStatus({.code = 700, .text = "illegal address"}, "launch it");
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "cannot launch it: illegal address (CUDA error 700)");
}

}  // namespace
}  // namespace horizon
