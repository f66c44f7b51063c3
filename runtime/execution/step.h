#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/arguments/token_record.h"

namespace horizon {

// The input and the result of one step.

struct StepInput {
  int64_t number = 1;  // of the step, from 1
  double learning_rate = 0;
  // The tokens of all micro-batches, one after the other: micro_batch x sequence each.
  std::vector<TokenRecord> tokens;
  int64_t counted = 0;  // tokens with a label, over which the loss is averaged
  // A step with a loss or gradient that is not finite ends the run: later steps, which may be in
  // flight by then, do not update.
  bool ends_at_non_finite = false;
};

struct StepResult {
  int64_t number = 0;
  double loss = 0;  // mean over the counted tokens of all micro-batches
  int64_t counted = 0;
  double gradient_norm = 0;  // before clipping
  float clip_factor = 1;
  bool applied = false;  // the update was (or will be) made
  // An earlier step has ended the run (StepInput::ends_at_non_finite), so this one does not update.
  bool ended = false;
  std::string non_finite;     // what was not finite ("the gradient of ..."); empty: everything was
  std::vector<double> norms;  // of each tensor's gradient, in the order of TensorNames()
  // Of a model with experts: how often each router chose each expert, in all micro-batches and
  // without padding ([router, expert]), and how unevenly: the auxiliary loss without its
  // coefficient, the mean over the micro-batches (kernels/experts/router.h).
  std::vector<int64_t> expert_counts;
  int64_t experts = 0;
  int64_t experts_per_token = 0;
  double router_aux_loss = 0;
  // Passes without updates give the loss of each token (0 without a label), or the logits of the
  // last token of each row.
  std::vector<float> token_losses;
  std::vector<float> logits;
};

// The content of the clip factor's buffer, which Adam reads.
struct ClipRecord {
  double norm = 0;
  float factor = 1;
  uint32_t applies = 0;  // 0: the update is not made
};

}  // namespace horizon
