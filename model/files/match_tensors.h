#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_files.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// The result of MatchTensors.
struct MatchedTensors {
  DiskNaming naming = DiskNaming::kPlain;
  // The tensors of the other parts of a multimodal model, sorted by name. They point into the
  // ModelFiles.
  std::vector<const ModelFiles::Location*> others;
};

// Checks that the files of a model hold exactly the tensors that its spec lists (in their form on
// disk, disk_tensors.h), with the right shapes, and with dtypes that a model may have (F32, F16,
// BF16; tensors may differ). It also accepts
// - tables that can be computed from the config and that old exports contain (rotary_emb.inv_freq
//   and similar);
// - for a tied model, a second copy of the embedding as `lm_head.weight` if its bytes are equal
//   (they are compared in pieces of `piece` bytes, with two pieces in memory);
// - for a multimodal model, any tensor that is not of its text part.
//
// Returns DataLoss with the missing, extra and misshapen tensors (the first few, and how many) and
// their files; InvalidArgument if the only problem is a dtype that we cannot train; otherwise the
// error of FindNaming or of reading.
absl::StatusOr<MatchedTensors> MatchTensors(const ModelSpec& spec, const std::vector<Stage>& stages,
                                            const ModelFiles& files, Bytes piece = 1_MiB);

}  // namespace horizon
