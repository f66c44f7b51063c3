#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"
#include "runtime/execution/model_pass.h"

namespace horizon {

// The loss of a model on data, without changing it.
struct Evaluation {
  double loss_sum = 0;  // over the counted tokens
  int64_t counted = 0;

  double loss() const { return counted == 0 ? 0 : loss_sum / static_cast<double>(counted); }
  double perplexity() const;
};

// The next micro-batch; none: the data is at its end.
using NextMicroBatch = std::function<absl::StatusOr<std::optional<std::vector<TokenRecord>>>()>;
// Hears of each micro-batch in order: its tokens, and the loss of each (0 without a label).
using OnTokenLosses =
    std::function<void(std::span<const TokenRecord> tokens, std::span<const float> losses)>;

// `pass` is of kind kEvaluate. Micro-batches overlap as the schedule allows. InvalidArgument for
// one of another size.
absl::StatusOr<Evaluation> Evaluate(const ModelPass& pass, const NextMicroBatch& next,
                                    const OnTokenLosses& on_losses = {});

}  // namespace horizon
