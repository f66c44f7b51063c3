#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/carried_tensors.h"
#include "model/model_spec.h"
#include "runtime/parameters/model_source.h"
#include "runtime/parameters/parameter_source.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/schedule.h"
#include "schedule/training_job.h"

namespace horizon {

// The values of a model to be exported, by tensor: out of a run's store or out of a checkpoint.
class ModelValues {
 public:
  virtual ~ModelValues() = default;
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  virtual std::vector<Tensor> Tensors() const = 0;
  // The high halves, and the masters, of a tensor from element `first` on.
  virtual absl::Status ReadHi(const std::string& tensor, uint64_t first,
                              std::span<uint16_t> into) = 0;
  virtual absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                                  std::span<float> into) = 0;
};

// The trained ones of a run, between two steps. What it is made from outlives it.
class StoreValues final : public ModelValues {
 public:
  StoreValues(const ParameterStore& store, const Schedule& schedule);
  std::vector<Tensor> Tensors() const override { return tensors_; }
  absl::Status ReadHi(const std::string& tensor, uint64_t first, std::span<uint16_t> into) override;
  absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                          std::span<float> into) override;

 private:
  const ParameterStore& store_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, const TensorSpec*> specs_;
};

// Where the tensors come from that a run did not train: the model that it began with. Where that is
// a folder, they are written as they lie there, byte for byte and in the type they have there.
struct FrozenWeights {
  ParameterSource values;
  std::optional<WeightFiles> files = std::nullopt;  // nothing: the values are random numbers
};

struct ExportOptions {
  // A new folder in an existing one, or an empty one.
  std::string folder;
  // kFp32: the masters to the bit. kBf16: their high halves, the nearest bf16, ties away from zero.
  NumberType dtype = NumberType::kBf16;
  // The config.json the model was made from (a file's text, or the catalog's); written with the
  // dtype above and otherwise as it is.
  std::string config_text;
  // Paths of files to carry over under their own names; see CompanionFiles.
  std::vector<std::string> copies;
  // Of a multimodal model: the tensors of its other parts, which are written beside those of the
  // text part. Without them the text part is exported as a text model (text_part_config.h).
  std::optional<CarriedTensors> carried = std::nullopt;
  // Needed where `values` lacks tensors of the model.
  std::optional<FrozenWeights> frozen = std::nullopt;
  Bytes max_shard = Bytes(CheckedU64(5'000'000'000));
};

// Writes the trained model as a Hugging Face folder that transformers loads as it is: config.json,
// the weights in safetensors files as they lie there (disk_tensors.h; a tied model has no
// lm_head.weight), and the copies. config.json comes last, so a folder that has one is whole;
// everything is synced. Not while steps run. Holds at most 4 MiB besides the store.
// `values` must hold the tensors of `spec`, or those that are not frozen.
// Errors: those of CheckExportFolder; InvalidArgument for a config that is no JSON object or a copy
// named like a file of the model; DataLoss when the values are those of another model or what is
// carried over cannot be read; ResourceExhausted when the disk has not the bytes the weights take;
// else Io's. After an error what was written is gone, and the folder too if it was made here.
absl::Status ExportModel(Io& io, const ModelSpec& spec, ModelValues& values,
                         const ExportOptions& options);
absl::Status ExportModel(Io& io, const ModelSpec& spec, const ParameterStore& store,
                         const Schedule& schedule, const ExportOptions& options);

// Copies a file through a temporary name (WriteFileAtomically), in pieces.
absl::Status CopyFileAtomically(Io& io, const std::string& from, const std::string& to);

// Whether a model can be exported to `folder`: AlreadyExists when it is there and not an empty
// folder, NotFound when the folder it is to lie in is not there. To be asked before a long run.
absl::Status CheckExportFolder(Io& io, const std::string& folder);

// The paths of the files in a model folder that belong to the model besides weights and config:
// tokenizer, chat templates, generation_config.json, and what a multimodal model's images and
// videos are prepared with. Regular files (or links to such) only, in order of name.
absl::StatusOr<std::vector<std::string>> CompanionFiles(Io& io, const std::string& folder);
// What such a path is called within its folder: "tokenizer.json",
// "additional_chat_templates/tool_use.jinja".
std::string CompanionName(const std::string& path);
inline constexpr char kChatTemplateFile[] = "chat_template.jinja";
// Whether a companion of that name is a chat template in a file of its own.
bool IsChatTemplate(const std::string& name);
// Whether a companion is of use to a multimodal model only.
bool IsProcessorFile(const std::string& path);

}  // namespace horizon
