// ldmatrix, mma and rounding: fragments against a table of their own, values against plain loops,
// and each way not to reach them together is found.
#include "tests/fake_cuda/matrix_instructions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "kernels/cuda/shared_tile.cuh"
#include "tests/fake_cuda/device_fixture.h"

namespace fake_cuda {
void PrintTo(const Place& place, std::ostream* out) { *out << place.row << ", " << place.column; }
}  // namespace fake_cuda

namespace horizon {
namespace {

using MatrixInstructions = fake_cuda::DeviceTest;
using fake_cuda::Place;

// Copied by eye from the figures of the PTX manual, in which every operand is made of matrices of
// 8 x 8 that are all held alike: the warp lane that has two neighbours of a row.
constexpr size_t kLaneOf[8][4] = {{0, 1, 2, 3},     {4, 5, 6, 7},     {8, 9, 10, 11},
                                  {12, 13, 14, 15}, {16, 17, 18, 19}, {20, 21, 22, 23},
                                  {24, 25, 26, 27}, {28, 29, 30, 31}};
// Which pair of the lane's elements lies in which 8 x 8 of the operand. In B, of which a lane has
// neighbours of a column, the first index is the part of the rows.
constexpr int kPairOfA[2][2] = {{0, 2}, {1, 3}};
constexpr int kPairOfB[2] = {0, 1};
constexpr int kPairOfSums[2] = {0, 1};

struct Held {
  size_t lane;
  int element;
};
Held HeldOfA(int row, int column) {
  return {kLaneOf[row % 8][column % 8 / 2], kPairOfA[row / 8][column / 8] * 2 + column % 2};
}
Held HeldOfB(int row, int column) {
  return {kLaneOf[column][row % 8 / 2], kPairOfB[row / 8] * 2 + row % 2};
}
Held HeldOfSums(int row, int column) {
  return {kLaneOf[row % 8][column / 2], kPairOfSums[row / 8] * 2 + column % 2};
}

TEST(Fragments, EveryElementIsWhereTheManualHasIt) {
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const Held a = HeldOfA(row, column);
      EXPECT_EQ(fake_cuda::PlaceInA(static_cast<int>(a.lane), a.element), (Place{row, column}));
      if (column >= 8) continue;
      const Held b = HeldOfB(row, column);
      EXPECT_EQ(fake_cuda::PlaceInB(static_cast<int>(b.lane), b.element), (Place{row, column}));
      const Held sum = HeldOfSums(row, column);
      EXPECT_EQ(fake_cuda::PlaceInSums(static_cast<int>(sum.lane), sum.element),
                (Place{row, column}));
    }
  }
}

uint16_t Bf16(float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); }

// Puts an element into the fragments of a warp, which begin as zeros.
template <typename Fragment>
void Put(Fragment* of_lanes, const Held& held, float value) {
  of_lanes[held.lane].pairs[held.element / 2] |= uint32_t{Bf16(value)} << (held.element % 2 * 16);
}

// Small integers, so that every sum is exact.
float A(int row, int column) { return static_cast<float>((row * 7 + column * 5) % 13 - 6); }
float B(int row, int column) { return static_cast<float>((row * 3 + column * 11) % 17 - 8); }
float C(int row, int column) { return static_cast<float>(row * 100 - column); }
float Sum(int row, int column) {
  float sum = C(row, column);
  for (int k = 0; k < 16; ++k) sum += A(row, k) * B(k, column);
  return sum;
}

__global__ void MultiplyOnce(const FragmentA* a, const FragmentB* b, FragmentC* sums,
                             unsigned threads) {
  if (threadIdx.x >= threads) return;
  FragmentC own = sums[threadIdx.x];
  MultiplyAdd(own, a[threadIdx.x], b[threadIdx.x]);
  sums[threadIdx.x] = own;
}

TEST_F(MatrixInstructions, MultiplyGivesTheProductPlusTheSums) {
  std::vector<FragmentA> a(32);
  std::vector<FragmentB> b(32);
  std::vector<FragmentC> sums(32);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      Put(a.data(), HeldOfA(row, column), A(row, column));
      if (column >= 8) continue;
      Put(b.data(), HeldOfB(row, column), B(row, column));
      const Held sum = HeldOfSums(row, column);
      sums[sum.lane].values[sum.element] = C(row, column);
    }
  }
  FragmentC* out = Upload(sums);
  ASSERT_EQ(Launch(MultiplyOnce, LaunchShape{1, 32}, stream_, Upload(a), Upload(b), out, 32u).code,
            0);
  EXPECT_FALSE(Found(""));
  const std::vector<FragmentC> got = Download(out, 32);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const Held sum = HeldOfSums(row, column);
      EXPECT_EQ(got[sum.lane].values[sum.element], Sum(row, column));
    }
  }
}

TEST_F(MatrixInstructions, MultiplyIsReachedByWholeWarps) {
  const FragmentA* a = Upload(std::vector<FragmentA>(32));
  const FragmentB* b = Upload(std::vector<FragmentB>(32));
  FragmentC* sums = Upload(std::vector<FragmentC>(32));
  ASSERT_EQ(Launch(MultiplyOnce, LaunchShape{1, 32}, stream_, a, b, sums, 31u).code, 0);
  EXPECT_TRUE(Found("waits at mma with mask 0xffffffff, but lane 31 has returned"));
  ASSERT_EQ(Launch(MultiplyOnce, LaunchShape{1, 16}, stream_, a, b, sums, 16u).code, 0);
  EXPECT_TRUE(Found("but the warp has 16 threads"));
}

TEST_F(MatrixInstructions, MultiplyNeedsComputeCapability8) {
  fake_cuda::Reset({.devices = {{.major = 7, .minor = 5}}});
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  const FragmentA* a = Upload(std::vector<FragmentA>(32));
  const FragmentB* b = Upload(std::vector<FragmentB>(32));
  FragmentC* sums = Upload(std::vector<FragmentC>(32));
  ASSERT_EQ(Launch(MultiplyOnce, LaunchShape{1, 32}, stream_, a, b, sums, 32u).code, 0);
  EXPECT_TRUE(Found("mma on a device below compute capability 8.0"));
}

enum class Apart { kTransposed, kMultiply, kBarrier, kSyncwarp };
__global__ void HalvesApart(Apart apart) {
  FragmentC sums = {};
  if (threadIdx.x < 16) {
    LoadMatrices(0);
  } else if (apart == Apart::kTransposed) {
    LoadTransposed(0);
  } else if (apart == Apart::kMultiply) {
    MultiplyAdd(sums, FragmentA{}, FragmentB{});
  } else if (apart == Apart::kBarrier) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST_F(MatrixInstructions, LanesMeetAtTheSameInstruction) {
  for (const Apart apart : {Apart::kTransposed, Apart::kMultiply, Apart::kSyncwarp}) {
    ASSERT_EQ(Launch(HalvesApart, LaunchShape{1, 32, 512}, stream_, apart).code, 0);
    EXPECT_TRUE(Found("wait for something else"));
  }
  ASSERT_EQ(Launch(HalvesApart, LaunchShape{1, 32, 512}, stream_, Apart::kBarrier).code, 0);
  EXPECT_TRUE(Found("waits at __syncthreads"));
}

// Row r of matrix m is at 16 (8 m + r) bytes turned by five rows; element i of it is
// 1000 m + 10 r + i.
__device__ uint32_t PlaceOfRow(int row) { return static_cast<uint32_t>((row + 5) % 32) * 16u; }
enum class Order { kSyncwarp, kBarrier, kNone };
__global__ void LoadOnce(FourFragments* out, bool transposed, Order order, uint32_t off) {
  const int i = static_cast<int>(threadIdx.x % 32);
  if (threadIdx.x >= blockDim.x - 32) {  // the last warp writes
    Vector<uint16_t, 8> row;
    for (int j = 0; j < 8; ++j) row[j] = static_cast<uint16_t>(i / 8 * 1000 + i % 8 * 10 + j);
    StoreShared(PlaceOfRow(i), row);
  }
  if (order == Order::kSyncwarp) __syncwarp();
  if (order == Order::kBarrier) __syncthreads();
  const uint32_t place = PlaceOfRow(i) + off;
  if (threadIdx.x < 32) out[i] = transposed ? LoadTransposed(place) : LoadMatrices(place);
}

TEST_F(MatrixInstructions, LoadsGiveEachLaneItsPairs) {
  for (const bool transposed : {false, true}) {
    FourFragments* out = Allocate<FourFragments>(32);
    ASSERT_EQ(
        Launch(LoadOnce, LaunchShape{1, 64, 512}, stream_, out, transposed, Order::kBarrier, 0u)
            .code,
        0);
    EXPECT_FALSE(Found(""));
    const std::vector<FourFragments> got = Download(out, 32);
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int row = 0; row < 8; ++row) {
        for (int column = 0; column < 8; ++column) {
          const size_t lane = kLaneOf[row][column / 2];
          const uint32_t pair = got[lane].pairs[matrix];
          const uint32_t element = pair >> (column % 2 * 16) & 0xFFFF;
          const int stored = transposed ? column * 10 + row : row * 10 + column;
          EXPECT_EQ(element, static_cast<uint32_t>(matrix * 1000 + stored));
        }
      }
    }
  }
}

TEST_F(MatrixInstructions, LoadsSeeWhatABarrierOrders) {
  FourFragments* out = Allocate<FourFragments>(32);
  const auto launch = [&](unsigned threads, Order order, uint32_t off, unsigned bytes) {
    ASSERT_EQ(
        Launch(LoadOnce, LaunchShape{1, threads, bytes}, stream_, out, false, order, off).code, 0);
  };
  launch(32, Order::kSyncwarp, 0, 512);
  EXPECT_FALSE(Found(""));
  // A row that the warp has written itself is given to other lanes of it.
  launch(32, Order::kNone, 0, 512);
  EXPECT_TRUE(Found("without a barrier between"));
  // __syncwarp does not order two warps; whether the other one has written yet is chance.
  launch(64, Order::kSyncwarp, 0, 512);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_FALSE(fake_cuda::TakeFaults().empty());
}

TEST_F(MatrixInstructions, LoadsAreAlignedAndInside) {
  FourFragments* out = Allocate<FourFragments>(32);
  const auto launch = [&](uint32_t off, unsigned bytes) {
    ASSERT_EQ(
        Launch(LoadOnce, LaunchShape{1, 64, bytes}, stream_, out, false, Order::kBarrier, off).code,
        0);
  };
  launch(8, 544);
  EXPECT_TRUE(Found("dynamic shared memory, which is no multiple of that"));
  launch(16, 512);
  EXPECT_TRUE(Found("an access of 16 bytes to byte 512 of dynamic shared memory, which has 512"));
  launch(16, 528);
  EXPECT_TRUE(Found("which the block never wrote"));
}

__global__ void Pack(const float* in, uint32_t* out) {
  const float* pair = in + size_t{threadIdx.x} * 2;
  out[threadIdx.x] = PackBf16(pair[0], pair[1]);
}

TEST_F(MatrixInstructions, RoundsToNearestEven) {
  const float next = 1.0f + 0x1p-7f;  // of bf16 after 1
  const float* in = Upload(std::vector<float>{
      1.0f + 0x1p-8f, next + 0x1p-8f, std::nextafter(1.0f + 0x1p-8f, 2.0f), -1.0f,
      std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max(), 0x1p-133f,
      -std::numeric_limits<float>::infinity()});
  uint32_t* out = Allocate<uint32_t>(4);
  ASSERT_EQ(Launch(Pack, LaunchShape{1, 4}, stream_, in, out).code, 0);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(out, 4),
            (std::vector<uint32_t>{0x3F823F80, 0xBF803F81, 0x7F807FFF, 0xFF800001}));
}

// D = (A B) E with the first product kept in registers. Products are small integers.
__global__ void MultiplyTwice(const FragmentA* a, const FragmentB* b, FragmentC* out) {
  const unsigned i = threadIdx.x;
  FragmentC left = {}, right = {};
  MultiplyAdd(left, a[i], b[i]);
  MultiplyAdd(right, a[i], b[32 + i]);
  FragmentC sums = {};
  MultiplyAdd(sums, FragmentAOf(left, right), b[64 + i]);
  out[i] = sums;
}

TEST_F(MatrixInstructions, ResultsSideBySideAreTheNextOperand) {
  const auto a_of = [](int row, int k) { return row % 3 == k % 3 && k < 6 ? 1.0f : 0.0f; };
  const auto b_of = [](int k, int column) {
    return static_cast<float>((k * 5 + column * 3) % 7 - 3);
  };
  std::vector<FragmentA> a(32);
  std::vector<FragmentB> b(96);
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 16; ++i) {
      Put(a.data(), HeldOfA(i, k), a_of(i, k));
      Put(i < 8 ? b.data() : b.data() + 32, HeldOfB(k, i % 8), b_of(k, i));
      if (i < 8) Put(b.data() + 64, HeldOfB(k, i), b_of(k + 1, i));
    }
  }
  FragmentC* out = Allocate<FragmentC>(32);
  ASSERT_EQ(Launch(MultiplyTwice, LaunchShape{1, 32}, stream_, Upload(a), Upload(b), out).code, 0);
  EXPECT_FALSE(Found(""));
  const std::vector<FragmentC> got = Download(out, 32);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float expected = 0;
      for (int inner = 0; inner < 16; ++inner) {
        float product = 0;
        for (int k = 0; k < 16; ++k) product += a_of(row, k) * b_of(k, inner);
        expected += product * b_of(inner + 1, column);
      }
      const Held sum = HeldOfSums(row, column);
      EXPECT_EQ(got[sum.lane].values[sum.element], expected);
    }
  }
}

// Fills a tile so that an element tells its place, and loads all fragments of its first 16 x 16.
template <int kColumns>
__global__ void LoadFragments(uint32_t* out, int row, int column) {
  const SharedTile<32, kColumns> tile{32};
  for (int i = static_cast<int>(threadIdx.x); i < 32 * kColumns / 8; i += 32) {
    Vector<uint16_t, 8> vector;
    for (int j = 0; j < 8; ++j) vector[j] = static_cast<uint16_t>(i * 8 + j);
    StoreShared(tile.Place(i * 8 / kColumns, i * 8 % kColumns), vector);
  }
  __syncwarp();
  uint32_t* own = out + size_t{threadIdx.x} * 16;
  const FragmentA a = tile.LoadA(row, column);
  const FragmentA transposed_a = tile.LoadTransposedA(row, column);
  FragmentB b[2], transposed_b[2];
  tile.LoadB(row, column, b);
  tile.LoadTransposedB(row, column, transposed_b);
  for (int i = 0; i < 4; ++i) {
    own[i] = a.pairs[i];
    own[4 + i] = transposed_a.pairs[i];
    own[8 + i] = b[i / 2].pairs[i % 2];
    own[12 + i] = transposed_b[i / 2].pairs[i % 2];
  }
}

class SharedTileTest : public fake_cuda::DeviceTest {
 protected:
  template <int kColumns>
  void ExpectFragmentsOfTheMatrix() {
    SCOPED_TRACE(kColumns);
    uint32_t* out = Allocate<uint32_t>(512);
    constexpr std::pair<int, int> kPlaces[] = {{0, 0}, {16, kColumns - 16}, {8, 8}};
    for (const auto& [row, column] : kPlaces) {
      if (column + 16 > kColumns) continue;
      ASSERT_EQ(Launch(LoadFragments<kColumns>, LaunchShape{1, 32, 32 + 64 * kColumns}, stream_,
                       out, row, column)
                    .code,
                0);
      EXPECT_FALSE(Found(""));
      const std::vector<uint32_t> got = Download(out, 512);
      const auto element = [&](const Held& held, int first) {
        const size_t pair = held.lane * 16 + static_cast<size_t>(first + held.element / 2);
        return static_cast<int>(got[pair] >> (held.element % 2 * 16) & 0xFFFF);
      };
      for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
          const int stored = (row + i) * kColumns + column + j;
          EXPECT_EQ(element(HeldOfA(i, j), 0), stored);
          EXPECT_EQ(element(HeldOfA(j, i), 4), stored);
          EXPECT_EQ(element(HeldOfB(i, j % 8), 8 + j / 8 * 2), stored);
          EXPECT_EQ(element(HeldOfB(j, i % 8), 12 + i / 8 * 2), stored);
        }
      }
    }
  }
};

TEST_F(SharedTileTest, FragmentsAreThoseOfTheMatrixInEveryWidth) {
  ExpectFragmentsOfTheMatrix<16>();
  ExpectFragmentsOfTheMatrix<24>();
  ExpectFragmentsOfTheMatrix<32>();
  ExpectFragmentsOfTheMatrix<64>();
  ExpectFragmentsOfTheMatrix<80>();
  ExpectFragmentsOfTheMatrix<96>();
  ExpectFragmentsOfTheMatrix<128>();
}

}  // namespace
}  // namespace horizon
