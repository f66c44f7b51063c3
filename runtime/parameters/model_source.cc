#include "runtime/parameters/model_source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/convert.h"
#include "model/files/disk_tensors.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/stages.h"
#include "runtime/checkpoint/checkpoint_names.h"

namespace horizon {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
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

}  // namespace

class WeightFiles::Files {
 public:
  Files(ModelFiles files, DiskNaming naming)
      : files_(std::move(files)), naming_(naming), bytes_(kPieceBytes) {}

  Dtype DtypeOf(const TensorSpec& tensor) const {
    return LocationOf(DiskPlaceOf(tensor, naming_)).tensor->dtype;
  }

  absl::Status ReadBytes(const TensorSpec& tensor, uint64_t offset, std::span<std::byte> into) {
    return files_.ReadRange(DiskPlaceOf(tensor, naming_).name, offset, into);
  }

  absl::Status Read(const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    CHECK(first <= tensor.parameters && into.size() <= tensor.parameters - first);
    const DiskPlace place = DiskPlaceOf(tensor, naming_);
    const ModelFiles::Location& location = LocationOf(place);
    const Dtype dtype = location.tensor->dtype;
    const uint64_t width = BitsOf(dtype) / 8;
    const uint64_t piece = kPieceBytes / width;
    first += place.first;  // counted in the tensor on disk from here on
    for (uint64_t done = 0; done < into.size(); done += piece) {
      const auto values = into.subspan(done, std::min<uint64_t>(piece, into.size() - done));
      const auto bytes = std::span(bytes_).first(values.size() * width);
      RETURN_IF_ERROR(files_.ReadRange(place.name, (first + done) * width, bytes));
      RETURN_IF_ERROR(ConvertToFloat(dtype, bytes, values));
      RETURN_IF_ERROR(CheckFinite(location, first + done, values));
    }
    return absl::OkStatus();
  }

 private:
  const ModelFiles::Location& LocationOf(const DiskPlace& place) const {
    const ModelFiles::Location* location = files_.Find(place.name);
    CHECK(location != nullptr);  // the tensors were matched when the folder was opened
    return *location;
  }

  absl::Status CheckFinite(const ModelFiles::Location& location, uint64_t first,
                           std::span<const float> values) const {
    const auto bad = std::find_if(values.begin(), values.end(), [](float value) {
      return (std::bit_cast<uint32_t>(value) & 0x7FFFFFFF) >= kInfiniteAsBf16;
    });
    if (bad == values.end()) return absl::OkStatus();
    const std::string what = StrCat("'", files_.files()[location.file].path(), "': element ",
                                    first + static_cast<uint64_t>(bad - values.begin()),
                                    " of tensor ", Quoted(location.tensor->name), " is ", *bad);
    if (!std::isfinite(*bad)) {
      return absl::DataLossError(StrCat(what, "; only finite weights can be trained"));
    }
    return absl::InvalidArgumentError(
        StrCat(what, ", which is infinite as bf16; only what bf16 can hold can be trained"));
  }

  ModelFiles files_;
  const DiskNaming naming_;
  std::vector<std::byte> bytes_;  // a piece as it lies in the file
};

absl::StatusOr<WeightFiles> WeightFiles::Open(Io& io, const std::string& folder,
                                              const ModelSpec& spec) {
  ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::Open(io, folder));
  const std::vector<Stage> stages = ListStages(spec);
  absl::StatusOr<MatchedTensors> matched = MatchTensors(spec, stages, files);
  if (!matched.ok()) return WithAdviceOnCheckpoints(io, folder, matched.status());
  return WeightFiles(std::make_shared<Files>(std::move(files), matched->naming));
}

ParameterSource WeightFiles::values() const {
  return [files = files_](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
    return files->Read(tensor, first, into);
  };
}

Dtype WeightFiles::DtypeOf(const TensorSpec& tensor) const { return files_->DtypeOf(tensor); }

absl::Status WeightFiles::ReadBytes(const TensorSpec& tensor, uint64_t offset,
                                    std::span<std::byte> into) const {
  return files_->ReadBytes(tensor, offset, into);
}

absl::StatusOr<ParameterSource> OpenModelSource(Io& io, const std::string& folder,
                                                const ModelSpec& spec) {
  ASSIGN_OR_RETURN(const WeightFiles weights, WeightFiles::Open(io, folder, spec));
  return weights.values();
}

}  // namespace horizon
