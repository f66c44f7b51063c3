#include "model/files/disk_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/families/family.h"

namespace horizon {
namespace {

constexpr std::string_view kModel = "model.";
constexpr std::array kNamings = {DiskNaming::kLanguageModel, DiskNaming::kNested,
                                 DiskNaming::kPlain};

// What takes the place of "model." at the begin of a name, and what is put before a name that does
// not begin so (the head's).
struct Prefixes {
  std::string_view model;
  std::string_view other;
};

Prefixes PrefixesOf(DiskNaming naming) {
  switch (naming) {
    case DiskNaming::kPlain:
      return {.model = "model.", .other = ""};
    case DiskNaming::kLanguageModel:
      return {.model = "language_model.model.", .other = "language_model."};
    case DiskNaming::kNested:
      return {.model = "model.language_model.", .other = ""};
  }
  CHECK(false);
  return {};
}

// Of tensors in one naming or layout, the first that is in the files, and how many are.
struct Found {
  const ModelFiles::Location* first = nullptr;
  size_t count = 0;
};

// The head has one name in two namings, so it tells nothing.
Found FindBody(const std::vector<DiskTensor>& tensors, const ModelFiles& files) {
  Found found;
  for (const DiskTensor& tensor : tensors) {
    if (!tensor.parts.front().tensor->name.starts_with(kModel)) continue;
    const ModelFiles::Location* location = files.Find(tensor.name);
    if (location == nullptr) continue;
    if (found.count++ == 0) found.first = location;
  }
  return found;
}

std::string InFile(const ModelFiles& files, const ModelFiles::Location& location) {
  return StrCat(Quoted(location.tensor->name), " in '", files.files()[location.file].path(), "'");
}

bool HasSeparateExperts(const Stage& stage) {
  return std::any_of(stage.tensors.begin(), stage.tensors.end(),
                     [](const TensorSpec& tensor) { return tensor.expert >= 0; });
}

// Where a tensor of a stage with experts is in layout kFused; nothing if it is stored as in kUsual.
std::optional<FusedPlace> FusedExpertPlace(const Stage& stage, const TensorSpec& tensor) {
  const auto place = [&](TensorRole role, int64_t matrices, int64_t position) {
    FusedPlace whole{
        .name = StrCat("model.layers.", stage.layer, ".", UsualTensorName(stage.kind, role)),
        .shape = tensor.shape,
        .first = static_cast<uint64_t>(tensor.expert * matrices + position) * tensor.parameters};
    whole.shape[0] *= matrices;
    whole.shape.insert(whole.shape.begin(), stage.units);
    return whole;
  };
  switch (tensor.role) {
    case TensorRole::kGate:
      return place(TensorRole::kGateUp, 2, 0);
    case TensorRole::kUp:
      return place(TensorRole::kGateUp, 2, 1);
    case TensorRole::kDown:
      return place(TensorRole::kExpertsDown, 1, 0);
    case TensorRole::kRouter:  // alone, under the usual name, whatever the family calls it
      return FusedPlace{.name = StrCat("model.layers.", stage.layer, ".",
                                       UsualTensorName(stage.kind, tensor.role)),
                        .shape = tensor.shape};
    default:
      return tensor.fused;
  }
}

// Those of `tensors` whose names are not among `others`.
Found FindOnlyIn(const std::vector<DiskTensor>& tensors, const std::vector<DiskTensor>& others,
                 const ModelFiles& files) {
  std::unordered_set<std::string_view> names;
  for (const DiskTensor& other : others) names.insert(other.name);
  Found found;
  for (const DiskTensor& tensor : tensors) {
    if (names.contains(tensor.name)) continue;
    const ModelFiles::Location* location = files.Find(tensor.name);
    if (location == nullptr) continue;
    if (found.count++ == 0) found.first = location;
  }
  return found;
}

}  // namespace

std::string_view ToString(DiskNaming naming) {
  switch (naming) {
    case DiskNaming::kPlain:
      return "plain";
    case DiskNaming::kLanguageModel:
      return "language_model";
    case DiskNaming::kNested:
      return "nested";
  }
  return "unknown";
}

std::string_view ToString(ExpertLayout layout) {
  return layout == ExpertLayout::kFused ? "fused" : "usual";
}

std::string DiskName(std::string_view name, DiskNaming naming) {
  const Prefixes prefixes = PrefixesOf(naming);
  if (!name.starts_with(kModel)) return StrCat(prefixes.other, name);
  return StrCat(prefixes.model, name.substr(kModel.size()));
}

std::vector<DiskTensor> ListDiskTensors(const std::vector<Stage>& stages, DiskNaming naming,
                                        ExpertLayout experts) {
  std::vector<DiskTensor> tensors;
  std::unordered_map<std::string, size_t> fused;  // position in `tensors`, by name
  for (const Stage& stage : stages) {
    const bool fuse = experts == ExpertLayout::kFused && HasSeparateExperts(stage);
    for (const TensorSpec& tensor : stage.tensors) {
      const std::optional<FusedPlace> place = fuse ? FusedExpertPlace(stage, tensor) : tensor.fused;
      std::string name = DiskName(place.has_value() ? place->name : tensor.name, naming);
      const DiskPart part{.tensor = &tensor, .first = place.has_value() ? place->first : 0};
      if (place.has_value()) {
        const auto [known, is_new] = fused.emplace(name, tensors.size());
        if (!is_new) {
          tensors[known->second].parts.push_back(part);
          continue;
        }
      }
      tensors.push_back({.name = std::move(name),
                         .shape = place.has_value() ? place->shape : tensor.shape,
                         .parts = {part}});
    }
  }
  for (const auto& [name, position] : fused) {
    std::vector<DiskPart>& parts = tensors[position].parts;
    std::sort(parts.begin(), parts.end(),
              [](const DiskPart& a, const DiskPart& b) { return a.first < b.first; });
    uint64_t end = 0;
    for (const DiskPart& part : parts) {
      CHECK(part.first == end);
      end += part.tensor->parameters;
    }
  }
  return tensors;
}

std::vector<PartRange> PartsOfRange(const DiskTensor& tensor, uint64_t first, uint64_t count) {
  const DiskPart& last = tensor.parts.back();
  const uint64_t elements = last.first + last.tensor->parameters;
  CHECK(first <= elements && count <= elements - first);
  std::vector<PartRange> ranges;
  for (const DiskPart& part : tensor.parts) {
    const uint64_t begin = std::max(first, part.first);
    const uint64_t end = std::min(first + count, part.first + part.tensor->parameters);
    if (begin >= end) continue;
    ranges.push_back({.tensor = part.tensor,
                      .first = begin - part.first,
                      .offset = begin - first,
                      .count = end - begin});
  }
  return ranges;
}

absl::StatusOr<DiskNaming> FindNaming(const ModelSpec& spec, const std::vector<Stage>& stages,
                                      const ModelFiles& files) {
  if (spec.wrapper.empty()) return DiskNaming::kPlain;
  std::array<Found, kNamings.size()> found;
  size_t most = 0;
  for (size_t i = 0; i < kNamings.size(); ++i) {
    found[i] = FindBody(ListDiskTensors(stages, kNamings[i]), files);
    if (found[i].count > found[most].count) most = i;
  }
  if (kNamings[most] == DiskNaming::kPlain) {
    return absl::DataLossError(
        StrCat("the config.json of '", files.folder(), "' is that of a multimodal model (",
               spec.wrapper, "), but ", InFile(files, *found[most].first),
               " has the name it has in a text model; in a multimodal one names begin with "
               "\"language_model.model.\" or \"model.language_model.\". Give the folder the "
               "config.json of the text model (text_config)"));
  }
  for (size_t i = 0; i < kNamings.size(); ++i) {
    if (i == most || found[i].count == 0) continue;
    return absl::DataLossError(StrCat(
        "the tensors in '", files.folder(),
        "' are named in two ways: ", InFile(files, *found[most].first), " and ",
        InFile(files, *found[i].first), "; remove those of one of them, or save the model again"));
  }
  return kNamings[most];
}

absl::StatusOr<ExpertLayout> FindExpertLayout(const std::vector<Stage>& stages, DiskNaming naming,
                                              const ModelFiles& files) {
  if (std::none_of(stages.begin(), stages.end(), HasSeparateExperts)) return ExpertLayout::kUsual;
  const std::vector<DiskTensor> usual = ListDiskTensors(stages, naming, ExpertLayout::kUsual);
  const std::vector<DiskTensor> fused = ListDiskTensors(stages, naming, ExpertLayout::kFused);
  const Found in_usual = FindOnlyIn(usual, fused, files);
  const Found in_fused = FindOnlyIn(fused, usual, files);
  if (in_fused.count == 0) return ExpertLayout::kUsual;
  if (in_usual.count == 0) return ExpertLayout::kFused;
  return absl::DataLossError(StrCat("the experts in '", files.folder(),
                                    "' are stored in two ways: ", InFile(files, *in_usual.first),
                                    " and ", InFile(files, *in_fused.first),
                                    "; remove those of one of them, or save the model again"));
}

bool IsTextPartName(std::string_view name) {
  return name.starts_with("language_model.") || name.starts_with("model.language_model.") ||
         name.starts_with("lm_head.");
}

}  // namespace horizon
