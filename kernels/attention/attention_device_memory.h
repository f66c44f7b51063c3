#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/arguments/workspace_allocator.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_launch.h"

namespace horizon {

// The temporary arrays of CUDA attention in the device workspace. They hold what belongs to one
// sequence of the batch at a time. Scores are fp32; the bf16 numbers that are computed from them
// overwrite the first half of each row.

// Rows of scores that exist at a time: all heads of one tile of queries.
inline int64_t ScoreRowsAtOnce(const AttentionShape& shape) {
  return shape.heads * std::min(shape.sequence, kDeviceQueryTile);
}

// Arrays for one tile of queries.
struct AttentionForwardMemory {
  uint16_t* q;     // [heads, queries, head_dim]
  float* scores;   // [heads, queries, kDeviceKeyTile]
  float* output;   // [heads, queries, head_dim]
  float* largest;  // [heads, queries], of the online softmax
  float* sum;      // [heads, queries]

  AttentionForwardMemory(const AttentionShape& shape, WorkspaceAllocator& workspace) {
    const int64_t rows = ScoreRowsAtOnce(shape);
    q = workspace.Allocate<uint16_t>(rows * shape.head_dim);
    scores = workspace.Allocate<float>(rows * kDeviceKeyTile);
    output = workspace.Allocate<float>(rows * shape.head_dim);
    largest = workspace.Allocate<float>(rows);
    sum = workspace.Allocate<float>(rows);
  }
};

// Arrays for one tile of queries, and the gradients of all keys and values of a sequence.
struct AttentionBackwardMemory {
  uint16_t* q;                // [heads, queries, head_dim]
  uint16_t* output_gradient;  // the same
  float* scores;              // [heads, queries, kDeviceKeyTile]
  float* score_gradients;     // the same
  float* q_gradient;          // [heads, queries, head_dim]
  float* k_gradient;          // [sequence, kv_heads, head_dim]
  float* v_gradient;          // the same

  AttentionBackwardMemory(const AttentionShape& shape, WorkspaceAllocator& workspace) {
    const int64_t rows = ScoreRowsAtOnce(shape);
    const int64_t keys = shape.sequence * shape.kv_heads * shape.head_dim;
    q = workspace.Allocate<uint16_t>(rows * shape.head_dim);
    output_gradient = workspace.Allocate<uint16_t>(rows * shape.head_dim);
    scores = workspace.Allocate<float>(rows * kDeviceKeyTile);
    score_gradients = workspace.Allocate<float>(rows * kDeviceKeyTile);
    q_gradient = workspace.Allocate<float>(rows * shape.head_dim);
    k_gradient = workspace.Allocate<float>(keys);
    v_gradient = workspace.Allocate<float>(keys);
  }
};

}  // namespace horizon
