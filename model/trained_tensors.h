#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// Selects which tensors of a model are trained; the others are frozen. Patterns are globs on the
// names that tensors have on disk: `*` matches any characters, dots included, `?` matches one, and
// `[0-9]` one of several:
//
//   {.train = {"model.layers.2[4-7].*"}}        trains only layers 24 to 27
//   {.freeze = {"*embed_tokens*", "*norm*"}}    trains everything but embeddings and norms
//
// If `train` is empty, all tensors are selected, otherwise those that match one of its patterns;
// `freeze` then removes those that it matches. Some tensors match by a second name as well: a
// tensor stored inside a larger one also by the name of the larger one, a tied table also by
// lm_head.weight, and the text part of a multimodal model also by its names inside the whole model.
struct TrainedPatterns {
  const std::vector<std::string>& train;
  const std::vector<std::string>& freeze;
};

// Applies the patterns to all `stages` (ListStages of `spec`): sets TensorSpec::trained, the counts
// of each Stage, and which stages need the gradient of their input. Returns InvalidArgument if a
// pattern matches nothing (the message names the nearest tensors), and if no tensor is left to
// train.
absl::Status SelectTrained(const ModelSpec& spec, const TrainedPatterns& patterns,
                           std::vector<Stage>& stages);

// The index of the first stage between embedding and head that backward has to reach. If there is
// none, stages.size() - 1, which is the head.
int32_t FirstDifferentiated(const std::vector<Stage>& stages);

// The names of the tensors that a selection trains, in the order of the model. Two selections are
// the same if these lists are equal. Returns the errors of SelectTrained.
absl::StatusOr<std::vector<std::string>> TrainedNames(const ModelSpec& spec,
                                                      const TrainedPatterns& patterns);

}  // namespace horizon
