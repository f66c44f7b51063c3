#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/disk_tensors.h"
#include "model/files/model_files.h"
#include "model/files/stored_tensor.h"
#include "model/model_spec.h"
#include "model/quantization.h"
#include "model/stages.h"

namespace horizon {

// Options of MatchTensors.
struct MatchOptions {
  Quantization quantization = {};  // what the folder's config.json says
  Bytes piece = 1_MiB;             // how much of each is read at once to compare two tensors
};

// The result of MatchTensors.
struct MatchedTensors {
  DiskNaming naming = DiskNaming::kPlain;
  ExpertLayout experts = ExpertLayout::kUsual;
  // The tensors on disk, in the order of the stages, and how each is stored. The first point into
  // the stages, the second into the ModelFiles.
  std::vector<DiskTensor> tensors;
  std::vector<StoredTensor> stored;
  // The tensors of the other parts of a multimodal model, sorted by name. They point into the
  // ModelFiles.
  std::vector<const ModelFiles::Location*> others;
};

// Checks that the files of a model hold exactly the tensors that its spec lists (in their form on
// disk, disk_tensors.h), with the right shapes, and with dtypes that a model may have (F32, F16,
// BF16; tensors may differ). Where the config.json says that the model is quantised, a tensor may
// instead be stored in that format (stored_tensor.h), and at least one must be. It also accepts
// - tables that can be computed from the config and that old exports contain (rotary_emb.inv_freq
//   and similar);
// - for a tied model, a second copy of the embedding as `lm_head.weight` if its bytes are equal
//   (they are compared in pieces of `piece` bytes, with two pieces in memory);
// - for a multimodal model, any tensor that is not of its text part.
//
// Returns DataLoss with the missing, extra and misshapen tensors (the first few, and how many) and
// their files, and what they may mean (another number of experts, shared experts);
// InvalidArgument if the only problem is a dtype that we cannot train, or if no tensor is
// quantised where the config.json says so; otherwise the error of FindNaming, FindExpertLayout or
// of reading.
absl::StatusOr<MatchedTensors> MatchTensors(const ModelSpec& spec, const std::vector<Stage>& stages,
                                            const ModelFiles& files,
                                            const MatchOptions& options = {});

}  // namespace horizon
