#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Rotary position embedding as transformers has it: in a head, value i < rotary_dim / 2 and value
// i + rotary_dim / 2 are a pair, turned by position x frequency i. The values of a head from
// rotary_dim on are left as they are (partial rotary, as GPT-NeoX and Phi have it).

// table[sequence, 2, rotary_dim / 2]: cosines, then sines, of fp32(position x frequency), times
// `factor` (of yarn; 1 otherwise). `frequencies` has rotary_dim / 2 of them; which kind of rotary
// embedding it is (default, linear, llama3, yarn) is all in these (model/rotary_frequencies.h).
void FillRotaryTable(std::span<const float> frequencies, float factor, int64_t sequence,
                     std::span<float> table);

// Turns the heads of x[tokens, heads x head_dim] in place, each by the angles of its token's
// position in its sample: forward by the angle, backward (the gradient's way) by the negative one.
enum class RotaryDirection { kForward, kBackward };
struct Rotary {
  RotaryDirection direction = RotaryDirection::kForward;
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;                // even, 2 .. head_dim; of most models head_dim
  const TokenRecord* records = nullptr;  // [tokens]: their positions
  const float* table = nullptr;          // of all positions that occur, see FillRotaryTable
  Values x;
};
absl::Status RotaryReference(const KernelContext& context, const Rotary& args);
absl::Status RotaryHost(const KernelContext& context, const Rotary& args);
// x is bf16 in device memory, with the host's bits rounded once; see rms_norm.h.
absl::Status RotaryCuda(const KernelContext& context, const Rotary& args);

}  // namespace horizon
