// The counter of bank conflicts on cases that can be counted by hand.
#include <gtest/gtest.h>

#include "kernels/cuda/shared_tile.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace horizon {
namespace {

class BankConflictsTest : public fake_cuda::DeviceTest {
 protected:
  BankConflictsTest() { fake_cuda::CountBankConflicts(true); }
  ~BankConflictsTest() override { fake_cuda::CountBankConflicts(false); }
  // What one more launch counts.
  template <typename... Parameters, typename... Arguments>
  fake_cuda::BankConflicts Of(void (*kernel)(Parameters...), const LaunchShape& shape,
                              Arguments... arguments) {
    EXPECT_EQ(Launch(kernel, shape, stream_, arguments...).code, 0);
    return fake_cuda::TakeBankConflicts();
  }
};

template <typename T>
__global__ void StoreAtStride(int stride) {
  __shared__ Shared<T, 2048> tile;
  const int at = static_cast<int>(threadIdx.x) * stride;
  if (at < 2048) tile[at] = T{};
}

TEST_F(BankConflictsTest, FollowFromTheStride) {
  const auto conflicts = [&](int stride) {
    return Of(StoreAtStride<float>, {1, 32}, stride).conflicts;
  };
  EXPECT_EQ(conflicts(1), 0U);
  EXPECT_EQ(conflicts(2), 1U);
  EXPECT_EQ(conflicts(3), 0U);
  EXPECT_EQ(conflicts(4), 3U);
  EXPECT_EQ(conflicts(32), 31U);
  EXPECT_EQ(conflicts(33), 0U);
  EXPECT_EQ(Of(StoreAtStride<float>, {3, 64}, 1).accesses, 6U) << "one a warp";
  // Half a warp at a time: 16 doubles at a stride of 2 have two in each bank.
  EXPECT_EQ(Of(StoreAtStride<double>, {1, 32}, 1).conflicts, 0U);
  EXPECT_EQ(Of(StoreAtStride<double>, {1, 32}, 2).conflicts, 2U);
  // Two elements of a word are one access to it.
  EXPECT_EQ(Of(StoreAtStride<uint16_t>, {1, 32}, 1).conflicts, 0U);
  EXPECT_EQ(Of(StoreAtStride<uint16_t>, {1, 32}, 4).conflicts, 1U);
}

TEST_F(BankConflictsTest, AreDescribedAndCountedOnlyWhenAsked) {
  const fake_cuda::BankConflicts found = Of(StoreAtStride<float>, {1, 32}, 4);
  EXPECT_EQ(found.accesses, 1U);
  EXPECT_NE(found.first.find("a store with 3 bank conflicts, in the kernel launched at"),
            std::string::npos)
      << found.first;
  EXPECT_EQ(fake_cuda::TakeBankConflicts().accesses, 0U);
  fake_cuda::CountBankConflicts(false);
  EXPECT_EQ(Of(StoreAtStride<float>, {1, 32}, 4).accesses, 0U);
}

// All threads read one word; then lanes of odd number read another array than those of even number.
__global__ void ReadTogether(float* out) {
  __shared__ Shared<float, 32> one;
  __shared__ Shared<float, 32> other;
  one[static_cast<int>(threadIdx.x)] = 1.0f;
  other[static_cast<int>(threadIdx.x)] = 2.0f;
  __syncwarp();
  const float first = one[7];
  float second = 0.0f;
  if (threadIdx.x % 2 == 0) {
    second = one[5];
  } else {
    second = other[5];
  }
  out[threadIdx.x] = first + second;
}

TEST_F(BankConflictsTest, AWordIsReadByAllAtOnce) {
  const fake_cuda::BankConflicts found = Of(ReadTogether, {1, 32}, Allocate<float>(32));
  EXPECT_EQ(found.conflicts, 0U);
  EXPECT_EQ(found.accesses, 5U);
}

__global__ void VectorsAtStride(unsigned stride) {
  const uint32_t place = threadIdx.x * stride;
  StoreShared(place, Vector<float, 4>{});
  LoadShared<4, float>(place);
}

TEST_F(BankConflictsTest, VectorsOfSixteenBytesGoByQuartersOfAWarp) {
  EXPECT_EQ(Of(VectorsAtStride, {1, 32, 4096}, 16u).conflicts, 0U);
  EXPECT_EQ(Of(VectorsAtStride, {1, 32, 4096}, 32u).conflicts, 2U * 4);
  EXPECT_EQ(Of(VectorsAtStride, {1, 32, 4096}, 128u).conflicts, 2U * 4 * 7);
}

// A tile whose rows follow each other without a swizzle.
__global__ void LoadPlainTile(const float* in, unsigned row_bytes, unsigned step) {
  for (unsigned place = threadIdx.x * 16; place < 32 * row_bytes; place += 32 * 16) {
    CopyAsync(place, in, 16);
  }
  CommitCopies();
  WaitForCopies<0>();
  __syncwarp();
  LoadMatrices(threadIdx.x / step * row_bytes);
}

TEST_F(BankConflictsTest, LoadsOfMatricesGoByEightRows) {
  const float* in = Upload(std::vector<float>(4));
  EXPECT_EQ(Of(LoadPlainTile, {1, 32, 4096}, in, 128u, 1u).conflicts, 4U * 7);
  EXPECT_EQ(Of(LoadPlainTile, {1, 32, 2048}, in, 64u, 1u).conflicts, 4U * 3);
  EXPECT_EQ(Of(LoadPlainTile, {1, 32, 144 * 32}, in, 144u, 1u).conflicts, 0U);
  // One row for all is no conflict.
  EXPECT_EQ(Of(LoadPlainTile, {1, 32, 4096}, in, 128u, 32u).conflicts, 0U);
  const fake_cuda::BankConflicts found = Of(LoadPlainTile, {1, 32, 2048}, in, 64u, 1u);
  EXPECT_EQ(found.accesses, 4U + 1);
  EXPECT_NE(found.first.find("an ldmatrix with 12 bank conflicts"), std::string::npos);
}

__global__ void CopyAtStride(const float* in, unsigned stride) {
  CopyAsync(threadIdx.x * stride, in, 16);
  CommitCopies();
  WaitForCopies<0>();
}

TEST_F(BankConflictsTest, AsynchronousCopiesAreStores) {
  const float* in = Upload(std::vector<float>(4));
  EXPECT_EQ(Of(CopyAtStride, {1, 32, 4096}, in, 16u).conflicts, 0U);
  const fake_cuda::BankConflicts found = Of(CopyAtStride, {1, 32, 4096}, in, 64u);
  EXPECT_EQ(found.conflicts, 4U * 3);
  EXPECT_NE(found.first.find("an asynchronous copy with 12"), std::string::npos) << found.first;
}

// Everything that SharedTile does with a tile of this width.
template <int kColumns>
__global__ void UseTile(const uint16_t* in) {
  const SharedTile<64, kColumns> tile{16};
  for (int i = static_cast<int>(threadIdx.x); i < 64 * kColumns / 8; i += 32) {
    tile.CopyVector(i * 8 / kColumns, i * 8 % kColumns, in, 8);
  }
  CommitCopies();
  WaitForCopies<0>();
  __syncwarp();
  for (int row = 0; row < 64; row += 16) {
    for (int column = 0; column < kColumns; column += 16) {
      FragmentB b[2];
      tile.LoadA(row, column);
      tile.LoadTransposedA(row, column);
      tile.LoadB(row, column, b);
      tile.LoadTransposedB(row, column, b);
    }
  }
}

TEST_F(BankConflictsTest, SharedTilesHaveNone) {
  const uint16_t* in = Upload(std::vector<uint16_t>(8));
  const auto expect_none = [&](auto kernel, unsigned columns) {
    const fake_cuda::BankConflicts found = Of(kernel, {1, 32, 16 + 64 * columns * 2}, in);
    EXPECT_EQ(found.conflicts, 0U) << columns << ": " << found.first;
    EXPECT_EQ(found.accesses, 4U * 4 * (columns / 16) + 2 * (columns / 8)) << columns;
  };
  expect_none(UseTile<16>, 16);
  expect_none(UseTile<32>, 32);
  expect_none(UseTile<48>, 48);
  expect_none(UseTile<64>, 64);
  expect_none(UseTile<80>, 80);
  expect_none(UseTile<96>, 96);
  expect_none(UseTile<112>, 112);
  expect_none(UseTile<128>, 128);
  expect_none(UseTile<256>, 256);
}

}  // namespace
}  // namespace horizon
