#include "training/frozen_weights.h"

#include <utility>
#include <variant>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/files/posix_absolute_path.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/frozen_base.h"
#include "runtime/checkpoint/resume_check.h"
#include "runtime/parameters/model_source.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

constexpr char kSourceFile[] = "weights.json";

std::string SourcePath(const std::string& run_folder) {
  return JoinPath(JoinPath(run_folder, kBaseFolder), kSourceFile);
}

// The values, and the files they are in where there are any.
absl::StatusOr<FrozenWeights> Open(Io& io, const WeightSource& source, const ModelSpec& spec) {
  if (const auto* random = std::get_if<RandomWeights>(&source)) {
    return FrozenWeights{.values = OpenWeights(*random, spec)};
  }
  ASSIGN_OR_RETURN(const WeightFiles files,
                   WeightFiles::Open(io, std::get<FolderWeights>(source).folder, spec));
  return FrozenWeights{.values = files.values(), .files = files};
}

}  // namespace

absl::Status FillFrozen(Io& io, const WeightSource& source, const ModelSpec& spec,
                        const std::string& checkpoint, const Manifest& saved,
                        ParameterStore& store) {
  if (saved.facts.frozen.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ParameterSource weights, OpenWeights(io, source, spec));
  RETURN_IF_ERROR(store.FillFrozen(weights));
  ASSIGN_OR_RETURN(const std::vector<FrozenTensor> found, store.ChecksumFrozen());
  return CheckFrozenBase(checkpoint, saved.facts.frozen, found);
}

absl::StatusOr<std::optional<FrozenWeights>> OpenFrozen(Io& io, const WeightSource& source,
                                                        const ModelSpec& spec,
                                                        const FrozenRun& run) {
  if (run.initial_checksums.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(FrozenWeights weights, Open(io, source, spec));
  ASSIGN_OR_RETURN(const std::vector<FrozenTensor> found,
                   ChecksumFrozenBase(spec, run.job, weights.values));
  RETURN_IF_ERROR(CheckFrozenBase(run.path, run.initial_checksums, found));
  return weights;
}

absl::Status WriteWeightSource(Io& io, const std::string& run_folder, const WeightSource& source) {
  JsonWriter json;
  json.BeginObject();
  if (const auto* random = std::get_if<RandomWeights>(&source)) {
    json.Key("random_seed").Integer(random->seed);
  } else {
    json.Key("folder").String(AbsolutePath(std::get<FolderWeights>(source).folder));
  }
  json.EndObject();
  return WriteTextFile(io, SourcePath(run_folder), std::move(json).Finish());
}

absl::StatusOr<WeightSource> ReadWeightSource(Io& io, const std::string& run_folder) {
  const std::string path = SourcePath(run_folder);
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  ObjectReader reader(document, document.root);
  std::string folder;
  int64_t seed = -1;
  reader.Optional("folder", &folder);
  reader.Optional("random_seed", &seed);
  if (folder.empty() == (seed < 0)) reader.Fail("folder", "or random_seed must be given");
  RETURN_IF_ERROR(reader.Finish());
  if (!folder.empty()) return FolderWeights{.folder = folder};
  return RandomWeights{.seed = seed};
}

}  // namespace horizon
