#include "common/cuda_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/failure_source.h"

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
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice);
}

TEST(CudaStatus, SaysWhatToTryWhereItIsKnown) {
  const absl::Status image = ToStatus({.code = 209, .text = "no kernel image"}, "launch");
  EXPECT_TRUE(absl::IsUnavailable(image));
  EXPECT_THAT(std::string(image.message()), testing::HasSubstr("not built for this device"));
  EXPECT_TRUE(absl::IsUnavailable(ToStatus({.code = 801, .text = "not supported"}, "launch")));
  const absl::Status ecc = ToStatus({.code = 214, .text = "uncorrectable ECC error"}, "launch");
  EXPECT_EQ(ecc.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(ecc.message()), testing::HasSubstr("nvidia-smi -q -d ECC"));
}

}  // namespace
}  // namespace horizon
