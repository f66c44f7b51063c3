// A matrix of bf16 in dynamic shared memory, in an order without bank conflicts, and loads of its
// parts as fragments for the tensor cores (mma.cuh).
//   const SharedTile<64, 128> keys{0};  // at byte 0
//   keys.CopyAsync(row, column, from, 8);
//   ...
//   const FragmentA a = keys.LoadA(0, 16);  // rows 0 to 15, columns 16 to 31
#pragma once

#include "kernels/cuda/mma.cuh"

namespace horizon {

inline constexpr int kBf16PerVector = 8;  // bf16 in 16 bytes

// Loads and stores N elements of T in dynamic shared memory in one access. `place` is a multiple of
// its size.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> LoadShared(uint32_t place) {
#ifdef __CUDACC__
  return *reinterpret_cast<const Vector<T, N>*>(DynamicSharedMemory() + place);
#else
  Vector<T, N> vector;
  fake_cuda::ReadDynamicShared(place, &vector, sizeof(vector));
  return vector;
#endif
}
template <int N, typename T>
__device__ __forceinline__ void StoreShared(uint32_t place, const Vector<T, N>& vector) {
#ifdef __CUDACC__
  *reinterpret_cast<Vector<T, N>*>(DynamicSharedMemory() + place) = vector;
#else
  fake_cuda::WriteDynamicShared(place, &vector, sizeof(vector));
#endif
}

// A matrix of kRows x kColumns bf16 from `begin` on, a multiple of 16 bytes.
//
// Rows are stored one behind the other, as vectors of 16 bytes. The 32 banks hold eight vectors, so
// those that are accessed at once must differ in their number modulo eight. Neighbours of a row do.
// ldmatrix takes a column of eight rows, whose vectors all had the same number modulo eight if a
// row had eight of them. So row r stores vector v at place v ^ (r % 8). In narrower rows, or where
// eight does not divide the vectors of a row, only the lower bits of v are swizzled, and the
// swizzle changes when the rows before have been through all remainders that their begins have.
template <int kRows, int kColumns>
struct SharedTile {
  static_assert(kRows % 8 == 0 && kColumns % kBf16PerVector == 0);
  static constexpr int kVectors = kColumns / kBf16PerVector;
  static constexpr uint32_t kBytes = kRows * kColumns * 2;

  uint32_t begin;

  // The place of eight columns of a row, the first of which is a multiple of eight.
  __device__ __forceinline__ uint32_t Place(int row, int column) const {
    constexpr int kPower = (kVectors & -kVectors) < 8 ? (kVectors & -kVectors) : 8;
    const int swizzle = row / (8 / kPower) % kPower;
    const int vector = column / kBf16PerVector ^ swizzle;
    return begin + static_cast<uint32_t>(row * kVectors + vector) * 16u;
  }

  // Begins to copy eight columns of a row, as CopyAsync; of the source `count` elements exist, more
  // than eight or less than none counts as all or none.
  __device__ __forceinline__ void CopyVector(int row, int column, const uint16_t* from,
                                             int64_t count) const {
    const int64_t inside = count < 0 ? 0 : count;
    CopyAsync(Place(row, column), from,
              inside < kBf16PerVector ? static_cast<int>(inside) * 2 : 16);
  }

  // A of 16 rows and 16 columns of the tile from (row, column) on, both multiples of eight.
  __device__ __forceinline__ FragmentA LoadA(int row, int column) const {
    const int i = WarpLane();
    const FourFragments four = LoadMatrices(Place(row + i % 16, column + i / 16 * 8));
    return {{four.pairs[0], four.pairs[1], four.pairs[2], four.pairs[3]}};
  }
  // The same of the tile's transpose: A has the tile's columns as rows.
  __device__ __forceinline__ FragmentA LoadTransposedA(int row, int column) const {
    const int i = WarpLane();
    const FourFragments four =
        LoadTransposed(Place(row + i / 16 * 8 + i % 8, column + i / 8 % 2 * 8));
    return {{four.pairs[0], four.pairs[1], four.pairs[2], four.pairs[3]}};
  }
  // Two B side by side, of 16 rows and 16 columns of the tile from (row, column) on.
  __device__ __forceinline__ void LoadB(int row, int column, FragmentB (&b)[2]) const {
    const int i = WarpLane();
    Split(LoadTransposed(Place(row + i % 16, column + i / 16 * 8)), b);
  }
  // The same of the tile's transpose: B has the tile's columns as rows.
  __device__ __forceinline__ void LoadTransposedB(int row, int column, FragmentB (&b)[2]) const {
    const int i = WarpLane();
    Split(LoadMatrices(Place(row + i / 16 * 8 + i % 8, column + i / 8 % 2 * 8)), b);
  }

 private:
  __device__ __forceinline__ static int WarpLane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ __forceinline__ static void Split(const FourFragments& four, FragmentB (&b)[2]) {
    b[0] = {{four.pairs[0], four.pairs[1]}};
    b[1] = {{four.pairs[2], four.pairs[3]}};
  }
};

}  // namespace horizon
