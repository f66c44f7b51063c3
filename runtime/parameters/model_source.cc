#include "runtime/parameters/model_source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/files/disk_tensors.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/files/stored_tensor.h"
#include "model/files/stored_values.h"
#include "model/load_model_spec.h"
#include "model/quantization.h"
#include "model/stages.h"
#include "runtime/checkpoint/checkpoint_names.h"

namespace horizon {
namespace {

constexpr char kConfigFile[] = "config.json";
// The least magnitude, as bits, whose high half is infinite (split_master.h).
constexpr uint32_t kInfiniteAsBf16 = 0x7F7F8000;

// A checkpoint of a run that trains a part of its model holds that part alone.
absl::Status WithAdviceOnCheckpoints(Io& io, const std::string& folder,
                                     const absl::Status& status) {
  if (!io.Info(JoinPath(folder, kManifestFile)).ok()) return status;
  return absl::Status(
      status.code(),
      StrCat(std::string(status.message()), "; '", folder,
             "' is a checkpoint, which holds the trained tensors alone where others are frozen: "
             "`horizon export` writes the whole model"));
}

// How the weights of the folder are quantised, as its own config.json says; a folder without one
// (a checkpoint) holds plain weights. The caller's spec may come from elsewhere.
absl::StatusOr<Quantization> QuantizationOf(Io& io, const std::string& folder) {
  const std::string path = JoinPath(folder, kConfigFile);
  const absl::StatusOr<FileInfo> info = io.Info(path);
  if (absl::IsNotFound(info.status())) return Quantization{};
  RETURN_IF_ERROR(info.status());
  ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(io, path));
  return config.quantization;
}

}  // namespace

class WeightFiles::Files {
 public:
  explicit Files(ModelFiles files) : files_(std::move(files)), values_(files_) {}

  // Finds the tensors of `spec` in the files. Must be called before all other methods.
  absl::Status Match(const ModelSpec& spec, const Quantization& quantization) {
    const std::vector<Stage> stages = ListStages(spec);
    ASSIGN_OR_RETURN(MatchedTensors matched,
                     MatchTensors(spec, stages, files_, {.quantization = quantization}));
    for (size_t i = 0; i < matched.tensors.size(); ++i) {
      for (const DiskPart& part : matched.tensors[i].parts) {
        places_.emplace(part.tensor->name, Place{.stored = i, .first = part.first});
      }
    }
    stored_ = std::move(matched.stored);
    return absl::OkStatus();
  }

  absl::Status Read(const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    CHECK(first <= tensor.parameters && into.size() <= tensor.parameters - first);
    const auto place = places_.find(tensor.name);
    CHECK(place != places_.end());  // the tensors were matched when the folder was opened
    const StoredTensor& stored = stored_[place->second.stored];
    const uint64_t at = place->second.first + first;
    RETURN_IF_ERROR(values_.Read(stored, at, into));
    return CheckFinite(stored, at, into);
  }

  const TensorEntry* FindPlain(const DiskTensor& tensor) const {
    const auto place = places_.find(tensor.parts.front().tensor->name);
    if (place == places_.end() || place->second.first != 0) return nullptr;
    const StoredTensor& stored = stored_[place->second.stored];
    // Our tensors lie one after another in every layout, so the same begin and the same shape are
    // the same tensors.
    const bool same = stored.format == StoredFormat::kPlain && stored.shape == tensor.shape;
    return same ? stored.values->tensor : nullptr;
  }

  absl::Status ReadBytes(const TensorEntry& tensor, uint64_t offset,
                         std::span<std::byte> into) const {
    return files_.ReadRange(tensor.name, offset, into);
  }

 private:
  // Where one of our tensors is: it begins at element `first` of a tensor on disk.
  struct Place {
    size_t stored = 0;  // position in stored_
    uint64_t first = 0;
  };

  absl::Status CheckFinite(const StoredTensor& stored, uint64_t first,
                           std::span<const float> values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) {
      return (std::bit_cast<uint32_t>(value) & 0x7FFFFFFF) >= kInfiniteAsBf16;
    });
    if (bad == values.end()) return absl::OkStatus();
    const std::string what =
        StrCat(values_.DescribeElement(stored, first + static_cast<uint64_t>(bad - values.begin())),
               " is ", *bad);
    if (!std::isfinite(*bad)) {
      return absl::DataLossError(StrCat(what, "; only finite weights can be trained"));
    }
    return absl::InvalidArgumentError(
        StrCat(what, ", which is infinite as bf16; only what bf16 can hold can be trained"));
  }

  const ModelFiles files_;
  StoredValues values_;
  std::vector<StoredTensor> stored_;
  std::unordered_map<std::string, Place> places_;  // by our names
};

absl::StatusOr<WeightFiles> WeightFiles::Open(Io& io, const std::string& folder,
                                              const ModelSpec& spec) {
  ASSIGN_OR_RETURN(ModelFiles opened, ModelFiles::Open(io, folder));
  ASSIGN_OR_RETURN(const Quantization quantization, QuantizationOf(io, folder));
  auto files = std::make_shared<Files>(std::move(opened));
  const absl::Status matched = files->Match(spec, quantization);
  if (!matched.ok()) return WithAdviceOnCheckpoints(io, folder, matched);
  return WeightFiles(std::move(files));
}

ParameterSource WeightFiles::values() const {
  return [files = files_](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    return files->Read(tensor, first, into);
  };
}

const TensorEntry* WeightFiles::FindPlain(const DiskTensor& tensor) const {
  return files_->FindPlain(tensor);
}

absl::Status WeightFiles::ReadBytes(const TensorEntry& tensor, uint64_t offset,
                                    std::span<std::byte> into) const {
  return files_->ReadBytes(tensor, offset, into);
}

absl::StatusOr<ParameterSource> OpenModelSource(Io& io, const std::string& folder,
                                                const ModelSpec& spec) {
  ASSIGN_OR_RETURN(const WeightFiles weights, WeightFiles::Open(io, folder, spec));
  return weights.values();
}

}  // namespace horizon
