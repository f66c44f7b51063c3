#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/arguments/device_parts.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_launch.h"

namespace horizon {

// Where CUDA attention keeps what it has in hand of one sequence. Scores take their place as fp32,
// and what becomes of them as bf16 takes the first half of each row.
inline int64_t ScoreRowsAtOnce(const AttentionShape& shape) {
  return shape.heads * std::min(shape.sequence, kDeviceQueryTile);
}

// Of one tile of queries.
struct AttentionForwardMemory {
  uint16_t* q;     // [heads, queries, head_dim]
  float* scores;   // [heads, queries, kDeviceKeyTile]
  float* output;   // [heads, queries, head_dim]
  float* largest;  // [heads, queries]
  float* sum;

  AttentionForwardMemory(const AttentionShape& shape, DeviceParts& parts) {
    const int64_t rows = ScoreRowsAtOnce(shape);
    q = parts.Take<uint16_t>(rows * shape.head_dim);
    scores = parts.Take<float>(rows * kDeviceKeyTile);
    output = parts.Take<float>(rows * shape.head_dim);
    largest = parts.Take<float>(rows);
    sum = parts.Take<float>(rows);
  }
};

// Of one tile of queries, and the gradients of all keys and values of a sequence.
struct AttentionBackwardMemory {
  uint16_t* q;                // [heads, queries, head_dim]
  uint16_t* output_gradient;  // the same
  float* scores;              // [heads, queries, kDeviceKeyTile]
  float* score_gradients;     // the same
  float* q_gradient;          // [heads, queries, head_dim]
  float* k_gradient;          // [sequence, kv_heads, head_dim]
  float* v_gradient;          // the same

  AttentionBackwardMemory(const AttentionShape& shape, DeviceParts& parts) {
    const int64_t rows = ScoreRowsAtOnce(shape);
    const int64_t keys = shape.sequence * shape.kv_heads * shape.head_dim;
    q = parts.Take<uint16_t>(rows * shape.head_dim);
    output_gradient = parts.Take<uint16_t>(rows * shape.head_dim);
    scores = parts.Take<float>(rows * kDeviceKeyTile);
    score_gradients = parts.Take<float>(rows * kDeviceKeyTile);
    q_gradient = parts.Take<float>(rows * shape.head_dim);
    k_gradient = parts.Take<float>(keys);
    v_gradient = parts.Take<float>(keys);
  }
};

}  // namespace horizon
