#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/arguments/token_record.h"

namespace horizon {

// What a step is given, and what it gives.

struct StepInput {
  int64_t number = 1;  // of the step, from 1
  double learning_rate = 0;
  // Of all micro-batches, one after the other: micro_batch x sequence each.
  std::vector<TokenRecord> tokens;
  int64_t counted = 0;  // labelled tokens among them
  // A step that is not finite ends the run: no later one, which may be under way by then, updates.
  bool ends_at_non_finite = false;
};

struct StepResult {
  int64_t number = 0;
  double loss = 0;  // mean over the counted tokens of all micro-batches
  int64_t counted = 0;
  double gradient_norm = 0;  // before clipping
  float clip_factor = 1;
  bool applied = false;       // the update was (or will be) made
  bool ended = false;         // by a step before: computed for nothing
  std::string non_finite;     // what was not finite ("the gradient of ..."); empty: all was
  std::vector<double> norms;  // of each tensor's gradient, in the order of TensorNames()
  // Of passes without updates: the loss of each token (0 without a label), or the logits of the
  // last one of each row.
  std::vector<float> token_losses;
  std::vector<float> logits;
};

// The content of the clip factor's buffer: what Adam is told of the step.
struct ClipRecord {
  double norm = 0;
  float factor = 1;
  uint32_t applies = 0;
};

}  // namespace horizon
