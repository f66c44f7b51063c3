#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace horizon {

// Host memory page-locked with cudaHostRegister. Ranges are rounded out to whole pages and cut into
// pieces, since drivers refuse too much in one call and a page cannot be registered twice: ranges
// that share a page share its piece. Not for several threads; the device is the calling thread's.
class LockedPages {
 public:
  static constexpr uint64_t kMostPieceBytes = uint64_t{64} << 30;
  // The smallest page there is. Where pages are larger, neighbours may be refused.
  static constexpr uint64_t kPageBytes = 4096;

  explicit LockedPages(uint64_t most_piece_bytes = kMostPieceBytes)
      : most_piece_bytes_(most_piece_bytes) {}
  LockedPages(const LockedPages&) = delete;
  LockedPages& operator=(const LockedPages&) = delete;
  // Unlocks what is left, last piece first.
  ~LockedPages();

  // Not empty, and no byte of it locked already. When a piece is refused, those before it are given
  // back in reverse order, CUDA's note of the error is cleared, and the error is returned.
  cudaError_t Lock(std::span<std::byte> memory);
  // Exactly a range that was locked. The first error; pages are given up all the same.
  cudaError_t Unlock(std::span<std::byte> memory);
  // How many bytes from `data`, which is locked, lie within one piece: a copy may not span two.
  uint64_t BytesTogether(const std::byte* data) const;

 private:
  struct Piece {
    uint64_t bytes = 0;
    int users = 0;
  };
  using Pieces = std::map<uintptr_t, Piece>;  // by address; none overlap

  // The first piece that ends behind the address.
  Pieces::iterator FirstBehind(uintptr_t address);
  // Takes a user from the pieces within [begin, end), last first.
  cudaError_t Release(uintptr_t begin, uintptr_t end);

  const uint64_t most_piece_bytes_;
  Pieces pieces_;
};

}  // namespace horizon
