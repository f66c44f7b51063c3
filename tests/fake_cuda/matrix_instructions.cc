#include "tests/fake_cuda/matrix_instructions.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/fake_cuda/bank_conflicts.h"
#include "tests/fake_cuda/dynamic_shared.h"
#include "tests/fake_cuda/include/fake_cuda_dynamic_shared.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {
namespace {

constexpr int kWarpLanes = 32;
constexpr int kRows = 16;     // of A and of the sums: m
constexpr int kColumns = 8;   // of B and of the sums: n
constexpr int kInner = 16;    // columns of A, rows of B: k
constexpr int kMatrices = 4;  // of an ldmatrix.x4
constexpr int kMatrixRows = 8;

template <typename T>
T& OperandsOf(const Arrival& arrival) {
  return *static_cast<T*>(arrival.operands);
}

float HalfOf(uint32_t pair, int half) {
  return std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xFFFF0000u);
}

uint32_t Bf16Of(float value) {
  if (std::isnan(value)) return 0x7FFF;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

}  // namespace

Place PlaceInA(int warp_lane, int element) {
  const bool lower_rows = element % 4 >= 2;
  const bool right_columns = element >= 4;
  return {warp_lane / 4 + (lower_rows ? 8 : 0),
          warp_lane % 4 * 2 + element % 2 + (right_columns ? 8 : 0)};
}

Place PlaceInB(int warp_lane, int element) {
  return {warp_lane % 4 * 2 + element % 2 + (element >= 2 ? 8 : 0), warp_lane / 4};
}

Place PlaceInSums(int warp_lane, int element) {
  return {warp_lane / 4 + (element >= 2 ? 8 : 0), warp_lane % 4 * 2 + element % 2};
}

// The two bytes of an element are read in the name of the thread that receives them.
void ExecuteLoad(std::span<const Arrival> warp_lanes, unsigned first_thread) {
  uint32_t rows[kWarpLanes];
  for (int i = 0; i < kWarpLanes; ++i) {
    rows[i] = OperandsOf<MatrixLoad>(warp_lanes[static_cast<size_t>(i)]).row;
  }
  CountMatrixLoad(rows);
  const bool transposed = OperandsOf<MatrixLoad>(warp_lanes[0]).transposed;
  for (int matrix = 0; matrix < kMatrices; ++matrix) {
    for (int row = 0; row < kMatrixRows; ++row) {
      const int giver = matrix * kMatrixRows + row;
      SetRunningThread(first_thread + static_cast<unsigned>(giver));
      if (!TheDynamicShared().IsPlace(rows[giver], 16)) {
        for (const Arrival& taker : warp_lanes) OperandsOf<MatrixLoad>(taker).pairs[matrix] = 0;
        break;
      }
      for (int column = 0; column < kMatrixRows; ++column) {
        const int of = transposed ? column : row;  // the row of the matrix as it is received
        const int at = transposed ? row : column;
        const int taker = of * 4 + at / 2;
        SetRunningThread(first_thread + static_cast<unsigned>(taker));
        const uint16_t element =
            TheDynamicShared().ReadElement(rows[giver] + 2u * static_cast<unsigned>(column));
        uint32_t& pair =
            OperandsOf<MatrixLoad>(warp_lanes[static_cast<size_t>(taker)]).pairs[matrix];
        pair = at % 2 == 0 ? (pair & 0xFFFF0000u) | element
                           : (pair & 0xFFFFu) | uint32_t{element} << 16;
      }
    }
  }
}

void ExecuteMultiply(std::span<const Arrival> warp_lanes) {
  float a[kRows][kInner];
  float b[kInner][kColumns];
  float sums[kRows][kColumns];
  for (int warp_lane = 0; warp_lane < kWarpLanes; ++warp_lane) {
    const auto& of = OperandsOf<MatrixMultiply>(warp_lanes[static_cast<size_t>(warp_lane)]);
    for (int i = 0; i < 8; ++i) {
      const Place place = PlaceInA(warp_lane, i);
      a[place.row][place.column] = HalfOf(of.a[i / 2], i % 2);
    }
    for (int i = 0; i < 4; ++i) {
      const Place place = PlaceInB(warp_lane, i);
      b[place.row][place.column] = HalfOf(of.b[i / 2], i % 2);
      const Place sum = PlaceInSums(warp_lane, i);
      sums[sum.row][sum.column] = of.sums[i];
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kInner; ++k) {
      for (int column = 0; column < kColumns; ++column) {
        sums[row][column] += a[row][k] * b[k][column];
      }
    }
  }
  for (int warp_lane = 0; warp_lane < kWarpLanes; ++warp_lane) {
    auto& of = OperandsOf<MatrixMultiply>(warp_lanes[static_cast<size_t>(warp_lane)]);
    for (int i = 0; i < 4; ++i) {
      const Place sum = PlaceInSums(warp_lane, i);
      of.sums[i] = sums[sum.row][sum.column];
    }
  }
}

uint32_t RoundToBf16Pair(float low, float high) { return Bf16Of(high) << 16 | Bf16Of(low); }

}  // namespace fake_cuda
