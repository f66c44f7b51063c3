#include "runtime/device/cuda_locked_pages.h"

#include <algorithm>
#include <iterator>

namespace horizon {
namespace {

uintptr_t PageOf(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) / LockedPages::kPageBytes * LockedPages::kPageBytes;
}

uintptr_t PageBehind(std::span<const std::byte> memory) {
  return PageOf(memory.data() + memory.size() - 1) + LockedPages::kPageBytes;
}

// The pages of a range are numbers here.
// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* Pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

LockedPages::~LockedPages() {
  while (!pieces_.empty()) {
    const auto last = std::prev(pieces_.end());
    cudaHostUnregister(Pointer(last->first));
    pieces_.erase(last);
  }
}

LockedPages::Pieces::iterator LockedPages::FirstEndingAfter(uintptr_t address) {
  const auto next = pieces_.upper_bound(address);
  if (next == pieces_.begin()) return next;
  const auto before = std::prev(next);
  return before->first + before->second.bytes > address ? before : next;
}

cudaError_t LockedPages::Lock(std::span<std::byte> memory) {
  const uintptr_t begin = PageOf(memory.data());
  const uintptr_t end = PageBehind(memory);
  for (uintptr_t at = begin; at < end;) {
    const auto next = FirstEndingAfter(at);
    if (next != pieces_.end() && next->first <= at) {
      ++next->second.users;
      at = next->first + next->second.bytes;
      continue;
    }
    const uint64_t free = (next == pieces_.end() ? end : std::min(end, next->first)) - at;
    const uint64_t bytes = std::min(free, most_piece_bytes_);
    const cudaError_t error = cudaHostRegister(Pointer(at), bytes, cudaHostRegisterPortable);
    if (error != cudaSuccess) {
      // CUDA keeps the error until it is asked for; without this the next launch would seem to have
      // failed.
      cudaGetLastError();
      if (at > begin) Release(begin, at);
      return error;
    }
    pieces_.emplace(at, Piece{.bytes = bytes, .users = 1});
    at += bytes;
  }
  return cudaSuccess;
}

cudaError_t LockedPages::Unlock(std::span<std::byte> memory) {
  return Release(PageOf(memory.data()), PageBehind(memory));
}

cudaError_t LockedPages::Release(uintptr_t begin, uintptr_t end) {
  cudaError_t first_error = cudaSuccess;
  auto piece = pieces_.lower_bound(end);
  while (piece != pieces_.begin()) {
    --piece;
    if (piece->first + piece->second.bytes <= begin) break;
    if (--piece->second.users > 0) continue;
    const cudaError_t error = cudaHostUnregister(Pointer(piece->first));
    if (error != cudaSuccess) {
      cudaGetLastError();
      if (first_error == cudaSuccess) first_error = error;
    }
    piece = pieces_.erase(piece);
  }
  return first_error;
}

uint64_t LockedPages::BytesLeftInPiece(const std::byte* data) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const auto piece = std::prev(pieces_.upper_bound(address));
  return piece->first + piece->second.bytes - address;
}

}  // namespace horizon
