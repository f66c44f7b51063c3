#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Rotary position embedding (RoPE) as Hugging Face transformers computes it. In each head, value
// i < rotary_dim / 2 and value i + rotary_dim / 2 form a pair that is rotated by the angle
// position x frequencies[i]. Values of a head from rotary_dim on stay as they are (partial rotary,
// as in GPT-NeoX and Phi).

// Computes the angles' cosines and sines for the positions 0 .. sequence - 1:
// table[sequence, 2, rotary_dim / 2] holds the cosines of fp32(position x frequency), then the
// sines, both multiplied by `factor` (a parameter of yarn; 1 otherwise). `frequencies` has
// rotary_dim / 2 elements. The kinds of rotary embedding (default, linear, llama3, yarn) differ in
// their frequencies and `factor` alone (model/rotary_frequencies.h).
void FillRotaryTable(std::span<const float> frequencies, float factor, int64_t sequence,
                     std::span<float> table);

// Applies the rotary embedding to x[tokens, heads x head_dim] in place. The position of a token is
// its position in its sample (TokenRecord::position). Forward rotates q or k by the angle; backward
// rotates their gradients by the negative angle.
enum class RotaryDirection { kForward, kBackward };
struct ApplyRotary {
  RotaryDirection direction = RotaryDirection::kForward;
  int64_t tokens = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rotary_dim = 0;                // even, 2 .. head_dim; equals head_dim in most models
  const TokenRecord* records = nullptr;  // [tokens], for their positions
  const float* table = nullptr;          // from FillRotaryTable, for all positions that occur
  Values x;
};
absl::Status ApplyRotaryReference(const KernelContext& context, const ApplyRotary& args);
absl::Status ApplyRotaryHost(const KernelContext& context, const ApplyRotary& args);
// x is bf16 in device memory; the result is that of the host kernel, rounded once to bf16. See
// rms_norm.h for what all CUDA kernels have in common.
absl::Status ApplyRotaryCuda(const KernelContext& context, const ApplyRotary& args);

}  // namespace horizon
