#include "kernels/gemm/blas.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace horizon {
namespace {

// Of /proc/self/status, in bytes.
uint64_t Mapped() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kibibytes = 0;
  while (status >> word && word != "VmSize:") {
  }
  status >> kibibytes;
  return kibibytes << 10;
}

TEST(Blas, MultipliesUnderALease) {
  const absl::StatusOr<BlasLease> lease = BlasLease::Take(1);
  ASSERT_TRUE(lease.ok()) << lease.status();
  const std::array<float, 4> a = {1, 2, 3, 4};
  const std::array<float, 4> b = {5, 6, 7, 8};
  std::array<float, 4> c = {-1, -1, -1, -1};
  MultiplyTile({.m = 2,
                .n = 2,
                .k = 2,
                .a = a.data(),
                .a_stride = 2,
                .b = b.data(),
                .b_stride = 2,
                .c = c.data(),
                .c_stride = 2});
  EXPECT_EQ(c, (std::array<float, 4>{19, 22, 43, 50}));
}

TEST(Blas, ALeaseMapsBuffersOnceForAsManyThreadsAsEverHadOne) {
  { ASSERT_TRUE(BlasLease::Take(3).ok()); }
  const uint64_t before = Mapped();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(BlasLease::Take(3).ok());
    absl::StatusOr<BlasLease> one = BlasLease::Take(1);
    const BlasLease moved = *std::move(one);
    ASSERT_TRUE(BlasLease::Take(2).ok());
  }
  EXPECT_LT(Mapped(), before + (uint64_t{1} << 20));
  const absl::StatusOr<BlasLease> held = BlasLease::Take(3);
  ASSERT_TRUE(BlasLease::Take(2).ok());  // five at once
  EXPECT_GE(Mapped(), before + (uint64_t{128} << 20));
}

// OpenBLAS itself would try for ever. Ends the process: 0 when the refusal is as promised.
void TakeALeaseInLittleAddressSpace() {
  const rlimit little{Mapped() + (200 << 20), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &little) != 0) std::_Exit(2);
  for (int i = 0; i < 2; ++i) {
    const absl::Status refused = BlasLease::Take(4).status();
    if (!absl::IsResourceExhausted(refused)) std::_Exit(3);
    if (refused.message().find("ulimit -v") == std::string::npos) std::_Exit(4);
    if (refused.message().find("on 4 threads") == std::string::npos) std::_Exit(5);
  }
  const rlimit enough{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &enough) != 0) std::_Exit(6);
  std::_Exit(BlasLease::Take(4).ok() ? 0 : 7);
}

TEST(BlasDeathTest, TooLittleAddressSpaceIsResourceExhaustedAndEnoughLaterIsFine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TakeALeaseInLittleAddressSpace(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace horizon
