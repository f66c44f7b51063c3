#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Fills next_same and is_first of a micro-batch from its ids: O(n log n), with n int32_t of memory
// for as long as it runs. At most 2^31 - 1 tokens.
void LinkSameTokens(std::span<TokenRecord> records);

// A table on the device: rows [first_row, first_row + rows) of the vocabulary. Writes the
// output row of every token whose id lies there; the shard that begins at row 0 also clears the
// others (later shards fill them). An output is scale x the table's number: an fp32 product,
// rounded once to the output's type (Gemma scales by sqrt(hidden)).
struct EmbedForward {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;
  ConstValues table;  // [rows, hidden]
  Values output;      // [tokens, hidden]
};
absl::Status EmbedForwardReference(const KernelContext& context, const EmbedForward& args);
absl::Status EmbedForwardHost(const KernelContext& context, const EmbedForward& args);
// Table and output are bf16 in device memory; see rms_norm.h.
absl::Status EmbedForwardCuda(const KernelContext& context, const EmbedForward& args);

// The same out of the parameter store: rows from the high half alone, or both halves. A bf16 output
// takes the high half alone. On the same numbers it has the bits of EmbedForward.
struct GatherRows {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;
  const uint16_t* hi = nullptr;
  const int16_t* lo = nullptr;  // null: high half alone
  Values output;
};
absl::Status GatherRowsReference(const KernelContext& context, const GatherRows& args);
absl::Status GatherRowsHost(const KernelContext& context, const GatherRows& args);

// The gradient of rows [first_row, first_row + rows): for each id the fp32 sum of its tokens' rows
// of output_gradient, in ascending order of position, times scale, stored as GradientOut says;
// unless sums are added to (`add`), every other row is cleared.
struct EmbedBackward {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;
  ConstValues output_gradient;  // [tokens, hidden]
  GradientOut gradient;         // [rows, hidden]
};
absl::Status EmbedBackwardReference(const KernelContext& context, const EmbedBackward& args);
absl::Status EmbedBackwardHost(const KernelContext& context, const EmbedBackward& args);
// Of the same numbers, the host's bits.
absl::Status EmbedBackwardCuda(const KernelContext& context, const EmbedBackward& args);

// The same sums times scale, rounded to bf16 when `rounded`, added to (or, when `clear`, put into,
// every other row cleared) a gradient kept on the host: kept[i] = r(kept[i] + sum), where r rounds
// to the kept type.
struct ScatterRows {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;
  ConstValues row_gradients;  // [tokens, hidden], fp32 or bf16
  bool rounded = false;
  bool clear = false;
  float* kept_fp32 = nullptr;  // one of the two
  uint16_t* kept_bf16 = nullptr;
};
absl::Status ScatterRowsReference(const KernelContext& context, const ScatterRows& args);
absl::Status ScatterRowsHost(const KernelContext& context, const ScatterRows& args);

}  // namespace horizon
