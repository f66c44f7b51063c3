#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/manifest.h"

namespace horizon {

// What the golden checkpoint holds, written down once for the tool that made it and for the test
// that must be able to read it for ever. Never changed: a new version gets a golden of its own.

inline constexpr int64_t kGoldenStep = 7;
inline constexpr char kGoldenConfig[] = "{\"model_type\": \"llama\"}\n";

inline std::vector<SavedTensor> GoldenTensors() {
  return {{.name = "model.embed_tokens.weight", .shape = {5, 3}},
          {.name = "model.norm.weight", .shape = {3}}};
}

inline CheckpointFacts GoldenFacts() {
  CheckpointFacts facts;
  facts.job.model = "golden";
  facts.job.data = "golden.jsonl";
  facts.job.steps = 20;
  facts.job.learning_rate = 0.3;
  facts.job.state_format = StateFormat::k8BitMoments;
  facts.job.seed = 42;
  facts.plan.buffer_depth = 5;
  facts.model_fingerprint = "00112233445566aa";
  facts.data_fingerprint = "ffeeddccbbaa9988";
  facts.data_position = {.epoch = 1, .index = 23};
  facts.generator_key = 42;
  facts.counters = {
      .skipped_steps = 2, .tokens = 7168, .first_loss = 6.25, .best_loss = 0.1, .last_loss = 0.125};
  facts.metrics_lines = 9;
  return facts;
}

// Byte `offset` of entry `entry`: tensor by tensor, the parts in the order hi, lo, m, v, m_scale,
// v_scale.
inline std::byte GoldenByte(size_t entry, size_t offset) {
  return static_cast<std::byte>((entry * 37 + offset * 11 + 5) & 0xFF);
}

}  // namespace horizon
