#pragma once

#include <cstdint>
#include <span>

#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// The first values of a model trained from scratch, as transformers draws them: norms multiply with
// 1 (their weights are 1, or 0 where spec.norm_adds_one), biases are 0, all else is normal with
// mean 0 and deviation spec.initializer_range.

// Writes elements [first, first + values.size()) of the tensor, row-major (past its end is a
// CHECK). An element is a function of seed, the tensor's name and its place alone: any cut, order
// or number of threads gives the same bits. Pure; any thread.
void FillRandomTensor(const ModelSpec& spec, const TensorSpec& tensor, int64_t seed, uint64_t first,
                      std::span<float> values);

}  // namespace horizon
