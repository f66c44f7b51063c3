#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"
#include "runtime/execution/model_pass.h"

namespace horizon {

// The loss of a model on data; evaluating does not change the model.
struct Evaluation {
  double loss_sum = 0;  // over the tokens with a label
  int64_t counted = 0;  // tokens with a label

  double loss() const { return counted == 0 ? 0 : loss_sum / static_cast<double>(counted); }
  double perplexity() const;
};

// Returns the next micro-batch, or nullopt at the end of the data.
using NextMicroBatch = std::function<absl::StatusOr<std::optional<std::vector<TokenRecord>>>()>;
// Called for each micro-batch in order, with its tokens and the loss of each token (0 without a
// label).
using OnTokenLosses =
    std::function<void(std::span<const TokenRecord> tokens, std::span<const float> losses)>;

// Evaluates all micro-batches of `next`. `pass` is of kind kEvaluate. Micro-batches overlap as the
// schedule allows. InvalidArgument for a micro-batch of a wrong size.
absl::StatusOr<Evaluation> Evaluate(const ModelPass& pass, const NextMicroBatch& next,
                                    const OnTokenLosses& on_losses = {});

}  // namespace horizon
