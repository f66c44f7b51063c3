#pragma once

#include <cstdint>
#include <span>

#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// The initial values of a model that is trained from scratch, as transformers initialises them:
// norms multiply by 1 (their weights are 1, or 0 where spec.norm_adds_one), biases are 0,
// everything else is normal with mean 0 and standard deviation spec.initializer_range.

// Writes elements [first, first + values.size()) of the tensor in row-major order (past its end is
// a CHECK). An element depends only on the seed, the tensor's name and its position, so any
// division, order or number of threads gives the same bits. Pure; any thread.
void FillRandomTensor(const ModelSpec& spec, const TensorSpec& tensor, int64_t seed, uint64_t first,
                      std::span<float> values);

}  // namespace horizon
