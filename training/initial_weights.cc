#include "training/initial_weights.h"

#include <span>

#include "common/text/str_cat.h"
#include "runtime/parameters/model_source.h"
#include "runtime/parameters/random_init.h"

namespace horizon {

absl::Status CheckWeightSource(Io& io, const WeightSource& source) {
  const auto* weights = std::get_if<FolderWeights>(&source);
  if (weights == nullptr) return absl::OkStatus();
  const absl::StatusOr<FileInfo> info = io.Info(weights->folder);
  if (info.ok() && info->kind == FileKind::kDirectory) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("--model ", weights->folder,
                                           " has no weights to begin with: name a folder that "
                                           "has, or add --init random"));
}

absl::StatusOr<ParameterStore::Source> OpenWeights(Io& io, const WeightSource& source,
                                                   const ModelSpec& spec) {
  if (const auto* random = std::get_if<RandomWeights>(&source)) return OpenWeights(*random, spec);
  return OpenModelSource(io, std::get<FolderWeights>(source).folder, spec);
}

ParameterStore::Source OpenWeights(const RandomWeights& source, const ModelSpec& spec) {
  return
      [&spec, seed = source.seed](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
        FillRandomTensor(spec, tensor, seed, first, into);
        return absl::OkStatus();
      };
}

}  // namespace horizon
