#include "model/files/disk_tensors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

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

// A tensor of the files that has this name in one naming, and how many there are. The head has one
// name in two of them, so it tells nothing.
struct Found {
  const ModelFiles::Location* first = nullptr;
  size_t count = 0;
};

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

std::string DiskName(std::string_view name, DiskNaming naming) {
  const Prefixes prefixes = PrefixesOf(naming);
  if (!name.starts_with(kModel)) return StrCat(prefixes.other, name);
  return StrCat(prefixes.model, name.substr(kModel.size()));
}

DiskPlace DiskPlaceOf(const TensorSpec& tensor, DiskNaming naming) {
  if (!tensor.fused.has_value()) return {.name = DiskName(tensor.name, naming)};
  return {.name = DiskName(tensor.fused->name, naming), .first = tensor.fused->first};
}

std::vector<DiskTensor> ListDiskTensors(const std::vector<Stage>& stages, DiskNaming naming) {
  std::vector<DiskTensor> tensors;
  std::unordered_map<std::string_view, size_t> fused;  // by name in a text model
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      DiskPlace place = DiskPlaceOf(tensor, naming);
      const DiskPart part{.tensor = &tensor, .first = place.first};
      if (tensor.fused.has_value()) {
        const auto [known, is_new] = fused.emplace(tensor.fused->name, tensors.size());
        if (!is_new) {
          tensors[known->second].parts.push_back(part);
          continue;
        }
      }
      tensors.push_back({.name = std::move(place.name),
                         .shape = tensor.fused.has_value() ? tensor.fused->shape : tensor.shape,
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

bool IsTextPartName(std::string_view name) {
  return name.starts_with("language_model.") || name.starts_with("model.language_model.") ||
         name.starts_with("lm_head.");
}

}  // namespace horizon
