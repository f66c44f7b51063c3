#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace horizon {

// Page-locks host memory with cudaHostRegister. Ranges are rounded out to whole pages and cut into
// pieces, because drivers refuse too much in one call and a page cannot be registered twice: ranges
// that share a page share its piece, which has a use count. Not thread-safe. All CUDA calls
// use the calling thread's current device.
class LockedPages {
 public:
  static constexpr uint64_t kMostPieceBytes = uint64_t{64} << 30;
  // The smallest page size that exists. On systems with larger pages, locking two neighbouring
  // ranges may be refused.
  static constexpr uint64_t kPageBytes = 4096;

  explicit LockedPages(uint64_t most_piece_bytes = kMostPieceBytes)
      : most_piece_bytes_(most_piece_bytes) {}
  LockedPages(const LockedPages&) = delete;
  LockedPages& operator=(const LockedPages&) = delete;
  // Unlocks all pieces that are still locked, last piece first.
  ~LockedPages();

  // `memory` is not empty and no byte of it is locked already. When CUDA refuses a piece, the
  // pieces before it are unlocked in reverse order, CUDA's last error is cleared, and the error is
  // returned.
  cudaError_t Lock(std::span<std::byte> memory);
  // `memory` is exactly a range that was locked. Returns the first error; the pages count as
  // unlocked all the same.
  cudaError_t Unlock(std::span<std::byte> memory);
  // How many bytes from `data` on are in the same piece. `data` is locked. A copy may not span two
  // pieces.
  uint64_t BytesLeftInPiece(const std::byte* data) const;

 private:
  struct Piece {
    uint64_t bytes = 0;
    int users = 0;  // locked ranges that have pages in this piece
  };
  using Pieces = std::map<uintptr_t, Piece>;  // by address; none overlap

  // The first piece that ends after the address.
  Pieces::iterator FirstEndingAfter(uintptr_t address);
  // Lowers the use count of the pieces within [begin, end), last piece first, and unlocks those
  // that reach zero.
  cudaError_t Release(uintptr_t begin, uintptr_t end);

  const uint64_t most_piece_bytes_;
  Pieces pieces_;
};

}  // namespace horizon
