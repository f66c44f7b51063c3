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

// The tensors of a model as they lie in a Hugging Face folder, and where ours are among them. Most
// of ours are one tensor there, of the same name. Two things differ:
// - Fused tensors. One tensor on disk holds several of ours, one after another: phi3's
//   "...self_attn.qkv_proj.weight" is q, then k, then v (TensorSpec::fused).
// - Multimodal models. The text part of one (ModelSpec::wrapper) has other names on disk, and
//   beside it lie tensors that are not ours: vision tower, projector. Those are carried over into
//   an exported model unchanged (carried_tensors.h).

// What the names of the text part's tensors begin with.
enum class DiskNaming {
  kPlain,          // a text model: "model.layers.0...", "lm_head.weight"
  kLanguageModel,  // as multimodal models are published: "language_model.model.layers.0...",
                   // "language_model.lm_head.weight"
  kNested,  // as some versions of transformers save them: "model.language_model.layers.0...",
            // "lm_head.weight"
};
// "plain", "language_model", "nested": the word that carried_tensors.h writes into a file.
std::string_view ToString(DiskNaming naming);

// The name on disk of a tensor that is called `name` in a text model.
std::string DiskName(std::string_view name, DiskNaming naming);

// Where a tensor of ours begins on disk: element `first` of tensor `name`.
struct DiskPlace {
  std::string name;
  uint64_t first = 0;
};
DiskPlace DiskPlaceOf(const TensorSpec& tensor, DiskNaming naming);

// One of our tensors in a tensor on disk, where it begins at element `first`.
struct DiskPart {
  const TensorSpec* tensor = nullptr;
  uint64_t first = 0;
};

// A tensor on disk: its parts lie one after another, without holes.
struct DiskTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<DiskPart> parts;
};

// All tensors on disk, in the order of the stages. They point into `stages`.
std::vector<DiskTensor> ListDiskTensors(const std::vector<Stage>& stages, DiskNaming naming);

// Elements [first, first + count) of one of our tensors, which are elements [offset, offset +
// count) of the range that was asked for.
struct PartRange {
  const TensorSpec* tensor = nullptr;
  uint64_t first = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
};
// What elements [first, first + count) of a tensor on disk consist of, in order. A range past the
// tensor's end is a CHECK.
std::vector<PartRange> PartsOfRange(const DiskTensor& tensor, uint64_t first, uint64_t count);

// How the files of a folder name the tensors of `spec`: kPlain for a text model; for a multimodal
// one whichever naming its files use (kLanguageModel where they hold nothing of the text part).
// DataLoss, with a tensor of each, when they use several, or the names of a text model.
absl::StatusOr<DiskNaming> FindNaming(const ModelSpec& spec, const std::vector<Stage>& stages,
                                      const ModelFiles& files);

// Whether a name in the folder of a multimodal model belongs to its text part, in either naming.
// All others are tensors of its other parts.
bool IsTextPartName(std::string_view name);

}  // namespace horizon
