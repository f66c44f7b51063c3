#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// Which tensors of a model are trained; the others are frozen. Patterns are globs on the names that
// tensors have on disk, where `*` stands for any characters, dots included, `?` for one and
// `[0-9]` for one of several:
//
//   {.train = {"model.layers.2[4-7].*"}}        layers 24 to 27 alone
//   {.freeze = {"*embed_tokens*", "*norm*"}}    everything but embeddings and norms
//
// Without `train` all tensors are trained, else those that one of its patterns matches; `freeze`
// then takes away what it matches. A tensor that is part of a larger one on disk goes by that one's
// name too, a tied table also by lm_head.weight, the text part of a multimodal model also by the
// names it has inside the whole.
struct TrainedPatterns {
  const std::vector<std::string>& train;
  const std::vector<std::string>& freeze;
};

// Sets what is trained in all `stages` (ListStages of `spec`): TensorSpec::trained, the counts of
// Stage, and which stages need the gradient of their input. InvalidArgument, naming the nearest
// tensors, when a pattern matches nothing, and when nothing is left to train.
absl::Status SelectTrained(const ModelSpec& spec, const TrainedPatterns& patterns,
                           std::vector<Stage>& stages);

// The first stage between embedding and head that is differentiated; stages.size() - 1, the head's,
// when none is.
int32_t FirstDifferentiated(const std::vector<Stage>& stages);

// The names of the tensors that a selection trains, in the model's order: two selections are the
// same where these are. Errors are SelectTrained's.
absl::StatusOr<std::vector<std::string>> TrainedNames(const ModelSpec& spec,
                                                      const TrainedPatterns& patterns);

}  // namespace horizon
