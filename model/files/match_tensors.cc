#include "model/files/match_tensors.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kHead = "lm_head.weight";

// Buffers that transformers computes from the config and once saved with the weights.
bool IsDerivedTable(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("rotary_emb.cos_cached") ||
         name.ends_with("rotary_emb.sin_cached");
}

// The first few of one kind of problem, and how many there are.
class Problems {
 public:
  explicit Problems(std::string_view kind) : kind_(kind) {}
  void Add(const std::string& what) {
    constexpr size_t kShown = 3;
    if (++count_ > kShown) return;
    text_ += StrCat(count_ == 1 ? "" : "; ", what);
  }
  bool empty() const { return count_ == 0; }
  std::string Text() const {
    return empty() ? "" : StrCat(" ", count_, " ", kind_, ": ", text_, count_ > 3 ? "; ..." : ".");
  }

 private:
  std::string_view kind_;
  size_t count_ = 0;
  std::string text_;
};

std::string InFile(const ModelFiles& files, const ModelFiles::Location& location) {
  return StrCat(Quoted(location.tensor->name), " in '", files.files()[location.file].path(), "'");
}

const TensorSpec* EmbeddingOf(const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) {
    if (stage.kind == StageKind::kEmbedding && !stage.tensors.empty()) return &stage.tensors[0];
  }
  return nullptr;
}

// Both have the same dtype and shape.
absl::Status CompareBytes(const ModelFiles& files, const ModelFiles::Location& a,
                          const ModelFiles::Location& b, uint64_t piece) {
  const uint64_t bytes = a.tensor->bytes().value();
  CHECK(a.tensor->bytes() == b.tensor->bytes());
  std::vector<std::byte> left(std::min(piece, bytes));
  std::vector<std::byte> right(left.size());
  for (uint64_t offset = 0; offset < bytes; offset += left.size()) {
    const uint64_t count = std::min<uint64_t>(left.size(), bytes - offset);
    const auto left_part = std::span(left).first(count);
    const auto right_part = std::span(right).first(count);
    RETURN_IF_ERROR(files.ReadRange(a.tensor->name, offset, left_part));
    RETURN_IF_ERROR(files.ReadRange(b.tensor->name, offset, right_part));
    const auto differing = std::mismatch(left_part.begin(), left_part.end(), right_part.begin());
    if (differing.first == left_part.end()) continue;
    const auto at = offset + static_cast<uint64_t>(differing.first - left_part.begin());
    return absl::DataLossError(StrCat(
        "the model is tied, but ", InFile(files, a), " differs from ", InFile(files, b),
        " at byte ", at, "; set tie_word_embeddings to false or remove the head from the files"));
  }
  return absl::OkStatus();
}

// `head` is a tensor of the files the spec does not list, of a tied model.
absl::Status CompareTiedHead(const ModelFiles& files, const ModelFiles::Location& head,
                             const ModelFiles::Location& embedding, uint64_t piece) {
  if (head.tensor->dtype != embedding.tensor->dtype ||
      head.tensor->shape != embedding.tensor->shape) {
    return absl::DataLossError(
        StrCat("the model is tied, but ", InFile(files, head), " is ", ToString(head.tensor->dtype),
               " ", ShapeForMessage(head.tensor->shape), " and ", InFile(files, embedding), " is ",
               ToString(embedding.tensor->dtype), " ", ShapeForMessage(embedding.tensor->shape)));
  }
  return CompareBytes(files, head, embedding, piece);
}

}  // namespace

absl::StatusOr<MatchedTensors> MatchTensors(const ModelSpec& spec, const std::vector<Stage>& stages,
                                            const ModelFiles& files, Bytes piece) {
  MatchedTensors matched;
  ASSIGN_OR_RETURN(matched.naming, FindNaming(spec, stages, files));
  Problems missing("missing");
  Problems shapes("of another shape");
  Problems dtypes("of a dtype that is not F32, F16 or BF16");
  Problems extra("not of this model");
  const std::vector<DiskTensor> tensors = ListDiskTensors(stages, matched.naming);
  std::unordered_set<std::string_view> expected;
  for (const DiskTensor& tensor : tensors) {
    expected.insert(tensor.name);
    const ModelFiles::Location* location = files.Find(tensor.name);
    if (location == nullptr) {
      missing.Add(Quoted(tensor.name));
      continue;
    }
    const TensorEntry& found = *location->tensor;
    if (found.shape != tensor.shape) {
      shapes.Add(StrCat(InFile(files, *location), " is ", ShapeForMessage(found.shape),
                        ", the config makes it ", ShapeForMessage(tensor.shape)));
    }
    if (!IsModelDtype(found.dtype)) {
      dtypes.Add(StrCat(InFile(files, *location), " is ", ToString(found.dtype)));
    }
  }
  const std::string head = DiskName(kHead, matched.naming);
  const ModelFiles::Location* tied_head = nullptr;
  for (const ModelFiles::Location& location : files.tensors()) {
    const std::string& name = location.tensor->name;
    if (expected.contains(name)) continue;
    if (!spec.wrapper.empty() && !IsTextPartName(name)) {
      matched.others.push_back(&location);
    } else if (spec.tied && name == head) {
      tied_head = &location;
    } else if (!IsDerivedTable(name)) {
      extra.Add(InFile(files, location));
    }
  }
  if (!missing.empty() || !shapes.empty() || !extra.empty()) {
    return absl::DataLossError(StrCat("the tensors in '", files.folder(),
                                      "' are not those of its config:", missing.Text(),
                                      shapes.Text(), extra.Text(), dtypes.Text()));
  }
  if (!dtypes.empty()) {
    return absl::InvalidArgumentError(StrCat("the model in '", files.folder(), "' cannot be used:",
                                             dtypes.Text(), " Convert it to BF16 first."));
  }
  if (tied_head == nullptr) return matched;
  const TensorSpec* embedding = EmbeddingOf(stages);
  CHECK(embedding != nullptr);
  RETURN_IF_ERROR(CompareTiedHead(files, *tied_head,
                                  *files.Find(DiskPlaceOf(*embedding, matched.naming).name),
                                  std::max<uint64_t>(1, piece.value())));
  return matched;
}

}  // namespace horizon
