#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "common/kernel_context.h"

namespace horizon {

// Splits a pass over an array among the workers. A piece is what a worker takes at a time: large
// enough that taking it costs nothing compared with the work, small enough for the cache of a core.
inline constexpr int64_t kPieceBytes = int64_t{64} << 10;

// The number of rows of `row_bytes` that make about one piece; at least 1.
inline int64_t RowsPerPiece(int64_t row_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, row_bytes));
}

// Calls body(first, count) on the context's workers for consecutive pieces of `size` elements of
// 0 .. count - 1; the last piece may be shorter. Returns when all are done. The pieces depend on
// `count` and `size` alone, not on the number of workers.
inline void RunPieces(const KernelContext& context, int64_t count, int64_t size,
                      absl::FunctionRef<void(int64_t first, int64_t count)> body) {
  context.workers->Run((count + size - 1) / size, [&](int64_t piece, int) {
    const int64_t first = piece * size;
    body(first, std::min(size, count - first));
  });
}

}  // namespace horizon
