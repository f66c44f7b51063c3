#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model_spec.h"

namespace horizon {

// Stretches the positions of a model beyond those it was trained with, as its config.json would say
// it: the run, its checkpoints and the exported model then all follow from the changed text.

struct RopeScaling {
  double factor = 1.0;  // of YaRN
};

// Reads "yarn:FACTOR", with a factor above 1: "yarn:4".
absl::StatusOr<RopeScaling> ParseRopeScaling(std::string_view text);

// `config`, the text of the config.json that `spec` was read from, with YaRN: factor times as many
// positions, of which the model's own number is the original one. Everything else stays as it is,
// byte for byte. InvalidArgument if the config scales its positions already, or has several rotary
// embeddings or none.
absl::StatusOr<std::string> WithRopeScaling(std::string_view config, const ModelSpec& spec,
                                            const RopeScaling& scaling);

// What to type for a sequence that is longer than the model's positions: "; stretch them with
// --rope-scaling yarn:4", or "; use a shorter sequence" where the config already scales them.
std::string AdviceForLongSequence(const ModelSpec& spec, int64_t sequence);

}  // namespace horizon
