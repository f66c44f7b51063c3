#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/units.h"
#include "model/model_files.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// Checks that the files of a model hold exactly the tensors its spec lists, in the right shapes and
// in a dtype a model may have (F32, F16, BF16; tensors may differ). Besides those it accepts
// - tables that follow from the config, which old exports hold (rotary_emb.inv_freq and the like);
// - for a tied model a second copy of the embedding under `lm_head.weight`, if its bytes are equal:
//   it is compared in pieces of `piece`, twice that in memory.
// DataLoss names the missing, extra and misshapen tensors (the first few and how many) and their
// files; InvalidArgument when only a dtype is one we cannot train; else the error of reading.
absl::Status MatchTensors(const ModelSpec& spec, const std::vector<Stage>& stages,
                          const ModelFiles& files, Bytes piece = 1_MiB);

}  // namespace horizon
