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
#include "model/files/disk_tensors.h"
#include "model/model_spec.h"
#include "runtime/parameters/model_source.h"
#include "runtime/parameters/parameter_source.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/schedule.h"
#include "schedule/training_job.h"

namespace horizon {

// Gives the values of a model that is exported, by tensor: from a run's parameter store or from a
// checkpoint.
class ModelValues {
 public:
  virtual ~ModelValues() = default;
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  virtual std::vector<Tensor> Tensors() const = 0;
  // Read the bf16 high halves, or the fp32 masters, of a tensor from element `first` on.
  virtual absl::Status ReadHi(const std::string& tensor, uint64_t first,
                              std::span<uint16_t> into) = 0;
  virtual absl::Status ReadMaster(const std::string& tensor, uint64_t first,
                                  std::span<float> into) = 0;
};

// Gives the trained tensors of a run, between two steps. Everything it is made from outlives it.
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

// The tensors that a run did not train, from the model that it began with. Where that model is a
// folder, they are written exactly as they are stored there: the same bytes and the same number
// type. Quantised tensors, and experts that are stored in another layout there, are written like
// trained ones.
struct FrozenWeights {
  ParameterSource values;
  std::optional<WeightFiles> files = std::nullopt;  // none: the model was randomly initialised
};

// How ExportModel writes a model.
struct ExportOptions {
  // Either an empty folder, or a new one within an existing folder.
  std::string folder;
  // kFp32: the exact masters. kBf16: their high halves, which are rounded to nearest bf16, ties
  // away from zero.
  NumberType dtype = NumberType::kBf16;
  // The config.json that the model was made from (a file's text, or the catalog's). It is written
  // with the dtype above, without quantization_config, and otherwise unchanged.
  std::string config_text;
  // Paths of files to copy under their own names; see CompanionFiles.
  std::vector<std::string> copies;
  // How the folder that the model came from stores experts.
  ExpertLayout experts = ExpertLayout::kUsual;
  // For a multimodal model, the tensors of its other parts, which are written beside those of the
  // text part. Without them the text part is exported as a text model (text_part_config.h).
  std::optional<CarriedTensors> carried = std::nullopt;
  // Required where `values` lacks tensors of the model.
  std::optional<FrozenWeights> frozen = std::nullopt;
  Bytes max_shard = Bytes(CheckedU64(5'000'000'000));
};

// Writes the trained model as a Hugging Face folder that transformers can load: config.json, the
// weights in safetensors files under their names on disk (disk_tensors.h; a tied model has no
// lm_head.weight), and the copied files. config.json is written last, so a folder that has one is
// complete; everything is synced. Must not be called while steps run. Needs at most 4 MiB of memory
// besides the store. `values` must hold the tensors of `spec`, or all that are not frozen.
//
// Errors: those of CheckExportFolder; InvalidArgument for a config that is not a JSON object or a
// copied file with the name of a model file; DataLoss when the values belong to another model or a
// tensor to be copied cannot be read; ResourceExhausted when the disk has less space than the
// weights need; otherwise Io's. After an error everything that was written is removed, and the
// folder too if it was made here.
absl::Status ExportModel(Io& io, const ModelSpec& spec, ModelValues& values,
                         const ExportOptions& options);
absl::Status ExportModel(Io& io, const ModelSpec& spec, const ParameterStore& store,
                         const Schedule& schedule, const ExportOptions& options);

// Copies a file through a temporary name (WriteFileAtomically), piece by piece.
absl::Status CopyFileAtomically(Io& io, const std::string& from, const std::string& to);

// Checks whether a model can be exported to `folder`, before a long run: AlreadyExists when it
// exists and is not an empty folder; NotFound when its parent folder does not exist.
absl::Status CheckExportFolder(Io& io, const std::string& folder);

// Lists the files in a model folder that belong to the model besides weights and config: tokenizer,
// chat templates, generation_config.json, and the preprocessor configurations of a multimodal
// model. Regular files (or links to them) only, ordered by name.
absl::StatusOr<std::vector<std::string>> CompanionFiles(Io& io, const std::string& folder);
// The name of such a file within its folder: "tokenizer.json",
// "additional_chat_templates/tool_use.jinja".
std::string CompanionName(const std::string& path);
inline constexpr char kChatTemplateFile[] = "chat_template.jinja";
// Whether a companion file of that name is a chat template in a file of its own.
bool IsChatTemplate(const std::string& name);
// Whether a companion file is only useful for a multimodal model.
bool IsProcessorFile(const std::string& path);

}  // namespace horizon
