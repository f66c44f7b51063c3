#include "model/files/match_tensors.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/dequantize.h"
#include "model/files/dtype.h"
#include "model/files/mismatch_hints.h"
#include "model/files/tensor_entry.h"

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

// Finds the tensors of a model in its files, in plain or quantised form, and collects what is wrong
// with them.
class Finder {
 public:
  Finder(const ModelFiles& files, const Quantization& quantization)
      : files_(files), quantization_(quantization) {}

  // How the files store the tensor; without `values` if it is missing.
  StoredTensor Find(const DiskTensor& tensor) {
    if (IsMxfp4(tensor)) return FindMxfp4(tensor);
    StoredTensor stored{.shape = tensor.shape, .values = Take(tensor.name)};
    if (stored.values == nullptr) return stored;
    CheckShape(*stored.values, tensor.shape);
    const Dtype dtype = stored.values->tensor->dtype;
    if (quantization_.method == QuantMethod::kFp8 && dtype == Dtype::kF8E4M3 &&
        tensor.shape.size() >= 2) {
      FindFp8Scales(tensor, stored);
    } else if (!IsModelDtype(dtype)) {
      AddDtype(*stored.values, "F32, F16 or BF16");
    }
    return stored;
  }

  // The tensor of that name, which the model has; nullptr, and a problem, if it is missing.
  const ModelFiles::Location* Take(const std::string& name) {
    expected_.insert(name);
    const ModelFiles::Location* location = files_.Find(name);
    if (location == nullptr) missing.Add(Quoted(name));
    return location;
  }

  bool IsExpected(const std::string& name) const { return expected_.contains(name); }
  bool found_quantised() const { return quantised_ > 0; }

  Problems missing{"missing"};
  Problems shapes{"of another shape"};
  Problems dtypes{"of a dtype that cannot be read"};

 private:
  // Experts as published, unless the files hold them in plain form.
  bool IsMxfp4(const DiskTensor& tensor) const {
    const TensorRole role = tensor.parts.front().tensor->role;
    return quantization_.method == QuantMethod::kMxfp4 &&
           (role == TensorRole::kGateUp || role == TensorRole::kExpertsDown) &&
           files_.Find(tensor.name) == nullptr;
  }

  StoredTensor FindMxfp4(const DiskTensor& tensor) {
    StoredTensor stored{.format = StoredFormat::kMxfp4,
                        .shape = tensor.shape,
                        .values = Take(StrCat(tensor.name, "_blocks")),
                        .scales = Take(StrCat(tensor.name, "_scales"))};
    ++quantised_;
    std::vector<int64_t> shape = {tensor.shape[0], tensor.shape[2],
                                  tensor.shape[1] / static_cast<int64_t>(kMxfp4Block)};
    if (stored.scales != nullptr) {
      CheckShape(*stored.scales, shape);
      if (stored.scales->tensor->dtype != Dtype::kU8) AddDtype(*stored.scales, "U8");
    }
    shape.push_back(kMxfp4BlockBytes);
    if (stored.values != nullptr) {
      CheckShape(*stored.values, shape);
      if (stored.values->tensor->dtype != Dtype::kU8) AddDtype(*stored.values, "U8");
    }
    return stored;
  }

  void FindFp8Scales(const DiskTensor& tensor, StoredTensor& stored) {
    stored.format = StoredFormat::kFp8;
    stored.block_rows = quantization_.block_rows;
    stored.block_columns = quantization_.block_columns;
    ++quantised_;
    stored.scales = Take(StrCat(tensor.name, "_scale_inv"));
    if (stored.scales == nullptr) return;
    std::vector<int64_t> shape = tensor.shape;
    int64_t& rows = shape[shape.size() - 2];
    rows = (rows - 1) / quantization_.block_rows + 1;
    shape.back() = (shape.back() - 1) / quantization_.block_columns + 1;
    CheckShape(*stored.scales, shape);
    const Dtype dtype = stored.scales->tensor->dtype;
    if (dtype != Dtype::kF32 && dtype != Dtype::kBF16) AddDtype(*stored.scales, "F32 or BF16");
  }

  void CheckShape(const ModelFiles::Location& found, const std::vector<int64_t>& wanted) {
    if (found.tensor->shape == wanted) return;
    std::vector<int64_t> swapped = wanted;
    if (swapped.size() >= 2) std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
    const bool is_transposed = found.tensor->shape == swapped;
    shapes.Add(StrCat(InFile(files_, found), " is ", ShapeForMessage(found.tensor->shape),
                      ", the config makes it ", ShapeForMessage(wanted),
                      is_transposed ? " (it may be transposed)" : ""));
  }

  void AddDtype(const ModelFiles::Location& found, std::string_view wanted) {
    dtypes.Add(
        StrCat(InFile(files_, found), " is ", ToString(found.tensor->dtype), ", not ", wanted));
  }

  const ModelFiles& files_;
  const Quantization& quantization_;
  std::unordered_set<std::string> expected_;
  size_t quantised_ = 0;
};

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
                                            const ModelFiles& files, const MatchOptions& options) {
  MatchedTensors matched;
  ASSIGN_OR_RETURN(matched.naming, FindNaming(spec, stages, files));
  ASSIGN_OR_RETURN(matched.experts, FindExpertLayout(stages, matched.naming, files));
  matched.tensors = ListDiskTensors(stages, matched.naming, matched.experts);
  Finder finder(files, options.quantization);
  for (const DiskTensor& tensor : matched.tensors) matched.stored.push_back(finder.Find(tensor));
  Problems extra("not of this model");
  const std::string head = DiskName(kHead, matched.naming);
  const ModelFiles::Location* tied_head = nullptr;
  for (const ModelFiles::Location& location : files.tensors()) {
    const std::string& name = location.tensor->name;
    if (finder.IsExpected(name)) continue;
    if (!spec.wrapper.empty() && !IsTextPartName(name)) {
      matched.others.push_back(&location);
    } else if (spec.tied && name == head) {
      tied_head = &location;
    } else if (!IsDerivedTable(name)) {
      extra.Add(InFile(files, location));
    }
  }
  if (!finder.missing.empty() || !finder.shapes.empty() || !extra.empty()) {
    return absl::DataLossError(StrCat(
        "the tensors in '", files.folder(), "' are not those of its config:", finder.missing.Text(),
        finder.shapes.Text(), extra.Text(), finder.dtypes.Text(),
        MismatchHints(spec, matched.tensors, options.quantization, files)));
  }
  if (!finder.dtypes.empty()) {
    return absl::InvalidArgumentError(
        StrCat("the model in '", files.folder(), "' cannot be used:", finder.dtypes.Text(),
               " Convert it to BF16 first.",
               MismatchHints(spec, matched.tensors, options.quantization, files)));
  }
  if (options.quantization.method != QuantMethod::kNone && !finder.found_quantised()) {
    return absl::InvalidArgumentError(
        StrCat("the config.json in '", files.folder(), "' has a quantization_config (",
               ToString(options.quantization),
               "), and no tensor there is stored so; remove quantization_config from it"));
  }
  if (tied_head == nullptr) return matched;
  const TensorSpec* embedding = EmbeddingOf(stages);
  CHECK(embedding != nullptr);
  RETURN_IF_ERROR(CompareTiedHead(files, *tied_head,
                                  *files.Find(DiskName(embedding->name, matched.naming)),
                                  std::max<uint64_t>(1, options.piece.value())));
  return matched;
}

}  // namespace horizon
