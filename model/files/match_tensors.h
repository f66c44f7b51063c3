#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_files.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// What the tensors of a folder turned out to be.
struct MatchedTensors {
  DiskNaming naming = DiskNaming::kPlain;
  // Tensors of a multimodal model's other parts, sorted by name; they point into the files.
  std::vector<const ModelFiles::Location*> others;
};

// Checks that the files of a model hold exactly the tensors its spec lists (as they lie on disk,
// disk_tensors.h), in the right shapes and in a dtype a model may have (F32, F16, BF16; tensors may
// differ). Besides those it accepts
// - tables that follow from the config, which old exports hold (rotary_emb.inv_freq and the like);
// - for a tied model a second copy of the embedding under `lm_head.weight`, if its bytes are equal:
//   it is compared in pieces of `piece`, twice that in memory;
// - for a multimodal model any tensor that is not of its text part.
// DataLoss names the missing, extra and misshapen tensors (the first few and how many) and their
// files; InvalidArgument when only a dtype is one we cannot train; else the error of FindNaming or
// of reading.
absl::StatusOr<MatchedTensors> MatchTensors(const ModelSpec& spec, const std::vector<Stage>& stages,
                                            const ModelFiles& files, Bytes piece = 1_MiB);

}  // namespace horizon
