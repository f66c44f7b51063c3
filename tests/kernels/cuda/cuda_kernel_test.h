#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/kernels/support/device_arrays.h"

namespace horizon {

// Tests of CUDA bodies with arrays that begin 0, 1 or 4 elements behind an aligned place. They need
// a device, the fake one or another.
class CudaKernelTest : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (CudaDeviceCount() == 0) GTEST_SKIP() << "no CUDA device";
  }
  static int64_t offset() { return GetParam(); }
};

}  // namespace horizon
