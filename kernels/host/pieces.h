#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "common/kernel_context.h"

namespace horizon {

// What a worker takes at a time of an array that is walked once: large enough that taking it costs
// nothing beside the work, small enough for a core's own cache.
inline constexpr int64_t kPieceBytes = int64_t{64} << 10;

// How many rows of `row_bytes` are about a piece; at least one.
inline int64_t RowsOfPiece(int64_t row_bytes) {
  return std::max<int64_t>(1, kPieceBytes / std::max<int64_t>(1, row_bytes));
}

// body(first, count) for runs of `size` elements of 0 .. count - 1, the last one maybe shorter,
// shared among the context's workers. The cut depends on the numbers given alone.
inline void RunPieces(const KernelContext& context, int64_t count, int64_t size,
                      absl::FunctionRef<void(int64_t first, int64_t count)> body) {
  context.workers->Run((count + size - 1) / size, [&](int64_t piece, int) {
    const int64_t first = piece * size;
    body(first, std::min(size, count - first));
  });
}

}  // namespace horizon
