#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/files/model_files.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// Maps our tensors to the tensors of a Hugging Face folder. Most of ours are one tensor on disk, of
// the same name. There are three exceptions:
// - Fused tensors. One tensor on disk holds several of ours, one after another: in phi3,
//   "...self_attn.qkv_proj.weight" is q, then k, then v (TensorSpec::fused).
// - Experts. Families whose experts are tensors of their own are also stored with one tensor for
//   all experts of a layer (ExpertLayout). An exported model has the layout of the folder that its
//   run began with.
// - Multimodal models. The text part (ModelSpec::wrapper) has other names on disk, and the folder
//   also holds tensors that are not ours: vision tower, projector. An exported model gets those
//   unchanged (carried_tensors.h).
// What is stored under a name may be quantised (stored_tensor.h); the shapes here are those of the
// dequantised tensors.

// The prefix that the names of the text part have on disk.
enum class DiskNaming {
  kPlain,          // a text model: "model.layers.0...", "lm_head.weight"
  kLanguageModel,  // as multimodal models are published: "language_model.model.layers.0...",
                   // "language_model.lm_head.weight"
  kNested,  // as some versions of transformers save them: "model.language_model.layers.0...",
            // "lm_head.weight"
};
// "plain", "language_model", "nested": the word that SaveCarriedTensors writes into its file.
std::string_view ToString(DiskNaming naming);

// How the experts of a layer are stored, in families that have a tensor for each matrix of each
// expert (mixtral, qwen3_moe). For other models there is only kUsual.
enum class ExpertLayout {
  kUsual,  // as the family names its tensors: "...experts.3.gate_proj.weight" and so on
  // As transformers 5 has them in memory, and saves them if it is told not to use the original
  // format. For a layer with E experts of width I and hidden size H:
  //   "mlp.experts.gate_up_proj" [E, 2 x I, H]: gate and then up of the first expert, of the second
  //   "mlp.experts.down_proj" [E, H, I]
  //   "mlp.gate.weight": the router
  kFused,
};
// "usual", "fused".
std::string_view ToString(ExpertLayout layout);

// The name on disk of a tensor that a text model calls `name`.
std::string DiskName(std::string_view name, DiskNaming naming);

// One of our tensors within a tensor on disk, where it begins at element `first`.
struct DiskPart {
  const TensorSpec* tensor = nullptr;
  uint64_t first = 0;
};

// A tensor on disk. Its parts are stored one after another, without gaps.
struct DiskTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<DiskPart> parts;
};

// All tensors on disk, in the order of the stages. The result points into `stages`.
std::vector<DiskTensor> ListDiskTensors(const std::vector<Stage>& stages, DiskNaming naming,
                                        ExpertLayout experts = ExpertLayout::kUsual);

// A piece of one of our tensors: its elements [first, first + count) are the elements [offset,
// offset + count) of the requested range.
struct PartRange {
  const TensorSpec* tensor = nullptr;
  uint64_t first = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
};
// Returns the pieces of our tensors that make up elements [first, first + count) of a tensor on
// disk, in order. The range must be within the tensor (CHECK).
std::vector<PartRange> PartsOfRange(const DiskTensor& tensor, uint64_t first, uint64_t count);

// Finds out how the files of a folder name the tensors of `spec`: kPlain for a text model; for a
// multimodal model the naming that its files use (kLanguageModel if they hold nothing of the text
// part). Returns DataLoss, with one tensor as an example of each, if the files mix namings or use
// the names of a text model.
absl::StatusOr<DiskNaming> FindNaming(const ModelSpec& spec, const std::vector<Stage>& stages,
                                      const ModelFiles& files);

// Finds out how the files of a folder store experts: kUsual if they hold none in another layout.
// Returns DataLoss, with one tensor as an example of each, if the files mix layouts.
absl::StatusOr<ExpertLayout> FindExpertLayout(const std::vector<Stage>& stages, DiskNaming naming,
                                              const ModelFiles& files);

// Whether a name in the folder of a multimodal model belongs to its text part, in either naming.
// All other tensors belong to its other parts.
bool IsTextPartName(std::string_view name);

}  // namespace horizon
