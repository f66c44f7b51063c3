#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// The token embedding: forward and backward on the device, and the same with a table that stays in
// the parameter store on the host.

// Fills next_same and is_first of a micro-batch from its ids. Takes O(n log n) time, and n int32_t
// of memory while it runs. At most 2^31 - 1 tokens.
void LinkSameTokens(std::span<TokenRecord> records);

// Looks tokens up in a table on the device, which holds the rows [first_row, first_row + rows) of
// the vocabulary (a shard). It writes the output row of every token with an id in the shard. The
// shard that begins at row 0 also sets the other output rows to zero; later shards fill them. An
// output is scale x the number in the table, multiplied in fp32 and rounded once to the output's
// type (Gemma scales by sqrt(hidden)).
struct EmbedForward {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;  // [tokens]
  ConstValues table;                     // [rows, hidden]
  Values output;                         // [tokens, hidden]
};
absl::Status EmbedForwardReference(const KernelContext& context, const EmbedForward& args);
absl::Status EmbedForwardHost(const KernelContext& context, const EmbedForward& args);
// Table and output are bf16 in device memory. See rms_norm.h for what all CUDA kernels have in
// common.
absl::Status EmbedForwardCuda(const KernelContext& context, const EmbedForward& args);

// The same lookup in the parameter store on the host, where the table is a split fp32 master: it
// reads the bf16 high half alone, or both halves. For a bf16 output it reads the high half alone.
// The same numbers give the bits of EmbedForward.
struct GatherRows {
  int64_t tokens = 0;
  int64_t hidden = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
  float scale = 1.0f;
  const TokenRecord* records = nullptr;  // [tokens]
  const uint16_t* hi = nullptr;          // [rows, hidden]
  const int16_t* lo = nullptr;           // [rows, hidden]; null: the high half alone
  Values output;                         // [tokens, hidden]
};
absl::Status GatherRowsReference(const KernelContext& context, const GatherRows& args);
absl::Status GatherRowsHost(const KernelContext& context, const GatherRows& args);

// The gradient of the table rows [first_row, first_row + rows). The gradient of a row is the fp32
// sum of output_gradient over all tokens with its id, in ascending order of tokens, times scale. It
// is stored as GradientOut says. Rows without a token become zero, unless the gradient is added to
// a sum
// (`add`).
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
// The same numbers give the bits of the host kernel.
absl::Status EmbedBackwardCuda(const KernelContext& context, const EmbedBackward& args);

// The same gradient of a table in the parameter store, added to the gradient that is kept on the
// host: kept[i] = r(kept[i] + g), where g is the sum times scale, rounded to bf16 if `rounded`, and
// r rounds to the kept type. With `clear` the old content does not count: kept[i] = r(g), and rows
// without a token become zero.
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
  float* kept_fp32 = nullptr;  // exactly one of the two is set
  uint16_t* kept_bf16 = nullptr;
};
absl::Status ScatterRowsReference(const KernelContext& context, const ScatterRows& args);
absl::Status ScatterRowsHost(const KernelContext& context, const ScatterRows& args);

}  // namespace horizon
