#include "runtime/checkpoint/load_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/state_place.h"

namespace horizon {
namespace {

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, ParameterStore& store)
      : checkpoint_(checkpoint),
        format_(checkpoint.manifest().facts.job.state_format),
        store_(store) {
    for (const ParameterStore::Place& place : store.places()) {
      places_[place.slice.tensor->name].push_back(&place);
    }
  }

  absl::Status Load() {
    RETURN_IF_ERROR(CheckComplete());
    RETURN_IF_ERROR(checkpoint_.Read(
        [this](const TensorRecord& tensor, uint64_t offset, std::span<const std::byte> bytes) {
          return Take(tensor, offset, bytes);
        }));
    return store_.RebuildResidentWeights();
  }

 private:
  // Every byte of the store has one in the checkpoint, and the other way round.
  absl::Status CheckComplete() const {
    std::map<std::pair<std::string, StatePart>, Bytes> wanted;
    for (const auto& [name, places] : places_) {
      for (const StatePart part :
           {StatePart::kHi, StatePart::kLo, StatePart::kFirstMoment, StatePart::kSecondMoment,
            StatePart::kFirstScale, StatePart::kSecondScale}) {
        for (const ParameterStore::Place* place : places) {
          if (const Bytes bytes = store_.StateBytes(*place, part); bytes > 0_B) {
            wanted[{name, part}] += bytes;
          }
        }
      }
    }
    for (const TensorRecord& tensor : checkpoint_.manifest().tensors) {
      const auto found = wanted.find({tensor.name, tensor.part});
      if (found == wanted.end() || found->second != tensor.bytes) {
        return Wrong(tensor.name, tensor.part,
                     found == wanted.end() ? "is not one of this run's model"
                                           : "has another size than this run's");
      }
      wanted.erase(found);
    }
    if (wanted.empty()) return absl::OkStatus();
    return Wrong(wanted.begin()->first.first, wanted.begin()->first.second, "is missing");
  }

  absl::Status Wrong(const std::string& name, StatePart part, std::string_view how) const {
    return absl::DataLossError(
        StrCat(checkpoint_.path(), ": tensor ", SavedName(name, part), " ", how));
  }

  absl::Status Take(const TensorRecord& tensor, uint64_t offset, std::span<const std::byte> bytes) {
    if (tensor.part == StatePart::kHi) RETURN_IF_ERROR(CheckFinite(tensor, offset, bytes));
    for (const ParameterStore::Place* place : places_.at(tensor.name)) {
      const uint64_t begins = OffsetInTensor(place->slice, tensor.part, format_);
      const uint64_t ends = begins + store_.StateBytes(*place, tensor.part).value();
      const uint64_t first = std::max(begins, offset);
      const uint64_t last = std::min(ends, offset + bytes.size());
      if (first >= last) continue;
      RETURN_IF_ERROR(store_.WriteState(*place, tensor.part, first - begins,
                                        bytes.subspan(first - offset, last - first)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckFinite(const TensorRecord& tensor, uint64_t offset,
                           std::span<const std::byte> bytes) const {
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
      uint16_t hi = 0;
      std::memcpy(&hi, bytes.data() + i, sizeof(hi));
      if ((hi & 0x7f80) != 0x7f80) continue;
      return absl::DataLossError(StrCat(checkpoint_.path(), ": tensor ", tensor.name, " element ",
                                        (offset + i) / 2, " is not finite"));
    }
    return absl::OkStatus();
  }

  const Checkpoint& checkpoint_;
  const StateFormat format_;
  ParameterStore& store_;
  std::map<std::string, std::vector<const ParameterStore::Place*>> places_;
};

}  // namespace

absl::Status LoadCheckpoint(const Checkpoint& checkpoint, ParameterStore& store) {
  return Loader(checkpoint, store).Load();
}

}  // namespace horizon
