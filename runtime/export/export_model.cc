#include "runtime/export/export_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"
#include "model/files/disk_tensors.h"
#include "model/files/dtype.h"
#include "model/files/model_folder_writer.h"
#include "model/files/tensor_entry.h"
#include "model/stages.h"
#include "runtime/export/config_dtype.h"
#include "runtime/export/text_part_config.h"

namespace horizon {
namespace {

constexpr std::string_view kConfigFile = "config.json";
// A piece to be written, the same in the writer's buffer, as values, and as halves of a master.
constexpr Bytes kPiece = 1_MiB;

// What tokenizers and generation of the known families are kept in.
constexpr std::array<std::string_view, 14> kCompanions = {"added_tokens.json",
                                                          "chat_template.jinja",
                                                          "chat_template.json",
                                                          "generation_config.json",
                                                          "merges.txt",
                                                          "sentencepiece.bpe.model",
                                                          "special_tokens_map.json",
                                                          "spiece.model",
                                                          "tekken.json",
                                                          "tokenizer.json",
                                                          "tokenizer.model",
                                                          "tokenizer_config.json",
                                                          "vocab.json",
                                                          "vocab.txt"};
constexpr std::string_view kMoreTemplates = "additional_chat_templates";
constexpr std::array<std::string_view, 3> kProcessorFiles = {
    "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"};

std::string WithoutLastSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::Status CheckCopies(const std::vector<std::string>& copies) {
  std::vector<std::string> names;
  for (const std::string& path : copies) {
    const std::string name = CompanionName(path);
    const bool of_model = name.empty() || name == kConfigFile || name.ends_with(".safetensors") ||
                          name.ends_with(".safetensors.index.json");
    if (of_model || std::find(names.begin(), names.end(), name) != names.end()) {
      return absl::InvalidArgumentError(
          StrCat("cannot carry '", path, "' over into the exported model: ",
                 of_model ? "such a file is written anew" : "another one has this name"));
    }
    names.push_back(name);
  }
  return absl::OkStatus();
}

absl::Status CopyInto(Io& io, const std::string& from, File& target) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> source, io.Open(from, OpenMode::kRead));
  std::vector<std::byte> piece(kPiece.value());
  for (uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(const size_t count, source->ReadAt(offset, piece));
    if (count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(target.WriteAt(offset, std::span(piece).first(count)));
    offset += count;
  }
}

absl::Status CopyFile(Io& io, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::unique_ptr<File> target, io.Open(to, OpenMode::kCreateNew));
  RETURN_IF_ERROR(CopyInto(io, from, *target));
  RETURN_IF_ERROR(target->Sync());
  return target->Close();
}

// The tensors as they are to lie in the files, and where their values come from.
class Weights {
 public:
  struct Sources {
    const std::vector<Stage>& stages;
    ModelValues& values;
    NumberType type;
    ExpertLayout experts = ExpertLayout::kUsual;
    const CarriedTensors* carried = nullptr;  // nullptr: the folder is that of a text model
    const FrozenWeights* frozen = nullptr;    // nullptr: `values` has all
  };
  explicit Weights(const Sources& sources)
      : values_(sources.values),
        type_(sources.type),
        carried_(sources.carried),
        frozen_(sources.frozen),
        tensors_(ListDiskTensors(sources.stages,
                                 carried_ == nullptr ? DiskNaming::kPlain : carried_->naming,
                                 sources.experts)) {
    const Dtype dtype = type_ == NumberType::kFp32 ? Dtype::kF32 : Dtype::kBF16;
    for (const ModelValues::Tensor& tensor : values_.Tensors()) trained_.insert(tensor.name);
    for (const DiskTensor& tensor : tensors_) {
      const TensorEntry* copied = FindCopied(tensor);
      declarations_.push_back({.name = tensor.name,
                               .dtype = copied == nullptr ? dtype : copied->dtype,
                               .shape = tensor.shape});
      by_name_.emplace(tensor.name, Written{.tensor = &tensor, .copied = copied});
    }
    if (carried_ == nullptr) return;
    declarations_.insert(declarations_.end(), carried_->tensors.begin(), carried_->tensors.end());
  }

  const std::vector<TensorDeclaration>& declarations() const { return declarations_; }

  Bytes bytes() const {
    Bytes total;
    for (const TensorDeclaration& tensor : declarations_) {
      total += TensorBytes(tensor.dtype, tensor.shape).value_or(0_B);
    }
    return total;
  }

  absl::Status Read(const TensorDeclaration& declared, uint64_t offset, std::span<std::byte> into) {
    const auto found = by_name_.find(declared.name);
    if (found == by_name_.end()) return carried_->read(declared, offset, into);
    const auto [written, copied] = found->second;
    if (copied != nullptr) return frozen_->files->ReadBytes(*copied, offset, into);
    const DiskTensor& tensor = *written;
    if (type_ == NumberType::kBf16) {
      return Fill(halves_, tensor, offset, into,
                  [&](const TensorSpec& part, uint64_t first, std::span<uint16_t> values) {
                    return IsTrained(part) ? values_.ReadHi(part.name, first, values)
                                           : ReadFrozenHi(part, first, values);
                  });
    }
    return Fill(masters_, tensor, offset, into,
                [&](const TensorSpec& part, uint64_t first, std::span<float> values) {
                  return IsTrained(part) ? values_.ReadMaster(part.name, first, values)
                                         : frozen_->values(part, first, values);
                });
  }

 private:
  struct Written {
    const DiskTensor* tensor;
    const TensorEntry* copied;
  };

  bool IsTrained(const TensorSpec& tensor) const { return trained_.contains(tensor.name); }

  // A tensor of which no part was trained is written as it lies in the folder that the run began
  // with, if it lies there by itself and not quantised. nullptr: it is written from values.
  const TensorEntry* FindCopied(const DiskTensor& tensor) const {
    if (frozen_ == nullptr || !frozen_->files.has_value()) return nullptr;
    const bool is_trained =
        std::any_of(tensor.parts.begin(), tensor.parts.end(),
                    [&](const DiskPart& part) { return IsTrained(*part.tensor); });
    return is_trained ? nullptr : frozen_->files->FindPlain(tensor);
  }

  absl::Status ReadFrozenHi(const TensorSpec& tensor, uint64_t first, std::span<uint16_t> into) {
    std::vector<float> values(into.size());
    std::vector<int16_t> unused(into.size());
    RETURN_IF_ERROR(frozen_->values(tensor, first, values));
    return SplitMasterHost(values, into, unused);
  }

  // By way of `values`, since bytes to be written need not be aligned.
  template <typename T, typename Reading>
  static absl::Status Fill(std::vector<T>& values, const DiskTensor& tensor, uint64_t offset,
                           std::span<std::byte> into, const Reading& read) {
    CHECK(offset % sizeof(T) == 0 && into.size() % sizeof(T) == 0);
    values.resize(into.size() / sizeof(T));
    for (const PartRange& part : PartsOfRange(tensor, offset / sizeof(T), values.size())) {
      RETURN_IF_ERROR(
          read(*part.tensor, part.first, std::span(values).subspan(part.offset, part.count)));
    }
    std::memcpy(into.data(), values.data(), into.size());
    return absl::OkStatus();
  }

  ModelValues& values_;
  const NumberType type_;
  const CarriedTensors* carried_;
  const FrozenWeights* frozen_;
  std::unordered_set<std::string> trained_;
  const std::vector<DiskTensor> tensors_;
  std::vector<TensorDeclaration> declarations_;
  std::unordered_map<std::string_view, Written> by_name_;
  std::vector<uint16_t> halves_;
  std::vector<float> masters_;
};

// Every tensor of the model has values, or is frozen and `may_lack` it; no values are left over.
absl::Status CheckValues(const std::vector<Stage>& stages, const ModelValues& values,
                         bool may_lack) {
  std::unordered_map<std::string, std::vector<int64_t>> shapes;
  for (ModelValues::Tensor& tensor : values.Tensors()) {
    shapes.emplace(std::move(tensor.name), std::move(tensor.shape));
  }
  const auto wrong = [](const std::string& name, const std::string& what) {
    return absl::DataLossError(StrCat("cannot export the model: tensor ", Quoted(name), " ", what,
                                      "; the config.json is not that of the trained model"));
  };
  size_t found_tensors = 0;
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      const auto found = shapes.find(tensor.name);
      if (found == shapes.end() && may_lack) continue;
      if (found == shapes.end()) return wrong(tensor.name, "has no trained values");
      ++found_tensors;
      if (found->second == tensor.shape) continue;
      return wrong(tensor.name, StrCat("was trained as ", ShapeForMessage(found->second),
                                       ", the config makes it ", ShapeForMessage(tensor.shape)));
    }
  }
  if (found_tensors == shapes.size()) return absl::OkStatus();
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) shapes.erase(tensor.name);
  }
  return wrong(shapes.begin()->first, "was trained, but is not in the config's model");
}

absl::StatusOr<std::string> ConfigOf(const ModelSpec& spec, const ExportOptions& options) {
  const std::string_view dtype = options.dtype == NumberType::kFp32 ? "float32" : "bfloat16";
  if (spec.wrapper.empty() || options.carried.has_value()) {
    return WithDtype(options.config_text, dtype);
  }
  ASSIGN_OR_RETURN(const std::string text, TextPartConfig(options.config_text, spec));
  return WithDtype(text, dtype);
}

absl::Status CheckSpace(Io& io, const std::string& folder, Bytes needed) {
  ASSIGN_OR_RETURN(const Bytes free, io.FreeSpace(folder));
  if (needed <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat("the model takes ", WithCommas(needed.value()), " bytes, and '", folder, "' has ",
             WithCommas(free.value()), " free; free some, export as bf16, or choose another disk"));
}

absl::Status WriteAll(Io& io, const std::string& folder, const std::string& config,
                      Weights& weights, const ExportOptions& options) {
  RETURN_IF_ERROR(CheckSpace(io, folder, weights.bytes()));
  for (const std::string& path : options.copies) {
    const std::string target = JoinPath(folder, CompanionName(path));
    absl::Status made =
        ParentOf(target) == folder ? absl::OkStatus() : io.MakeDirectory(ParentOf(target));
    if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    RETURN_IF_ERROR(CopyFile(io, path, target));
  }
  RETURN_IF_ERROR(WriteModelFolder(
      io, folder, weights.declarations(),
      [&](const TensorDeclaration& tensor, uint64_t offset, std::span<std::byte> into) {
        return weights.Read(tensor, offset, into);
      },
      {.max_shard = options.max_shard, .piece = kPiece}));
  return WriteTextFile(io, JoinPath(folder, kConfigFile), config);
}

// Everything in the folder was written here: it was empty before. What cannot be removed stays; the
// first error is what the caller has to know.
void RemoveAll(Io& io, const std::string& folder, bool remove_folder) {
  const absl::StatusOr<std::vector<std::string>> names = io.List(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = JoinPath(folder, name);
    if (name == kMoreTemplates) {
      RemoveAll(io, path, /*remove_folder=*/true);
    } else {
      io.Unlink(path).IgnoreError();
    }
  }
  if (remove_folder) io.RemoveDirectory(folder).IgnoreError();
}

// Whether the folder is there already; it can be used either way.
absl::StatusOr<bool> FindExportFolder(Io& io, const std::string& folder) {
  const absl::StatusOr<FileInfo> info = io.Info(folder);
  if (absl::IsNotFound(info.status())) {
    ASSIGN_OR_RETURN(const FileInfo parent, io.Info(ParentOf(folder)));
    if (parent.kind == FileKind::kDirectory) return false;
    return absl::NotFoundError(
        StrCat("cannot export a model to '", folder, "': '", ParentOf(folder), "' is no folder"));
  }
  RETURN_IF_ERROR(info.status());
  const std::string taken = StrCat("cannot export a model to '", folder, "': it exists and is ");
  if (info->kind != FileKind::kDirectory) {
    return absl::AlreadyExistsError(StrCat(taken, "no folder; choose a new one"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  if (names.empty()) return true;
  return absl::AlreadyExistsError(
      StrCat(taken, "not empty ('", names.front(), "' is there); choose a new one"));
}

}  // namespace

absl::Status CheckExportFolder(Io& io, const std::string& folder) {
  return FindExportFolder(io, WithoutLastSlashes(folder)).status();
}

StoreValues::StoreValues(const ParameterStore& store, const Schedule& schedule) : store_(store) {
  for (const Stage& stage : schedule.chunks.stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (!tensor.trained) continue;
      tensors_.push_back({.name = tensor.name, .shape = tensor.shape});
      specs_.emplace(tensor.name, &tensor);
    }
  }
}

absl::Status StoreValues::ReadHi(const std::string& tensor, uint64_t first,
                                 std::span<uint16_t> into) {
  return store_.ReadHi(*specs_.at(tensor), first, into);
}

absl::Status StoreValues::ReadMaster(const std::string& tensor, uint64_t first,
                                     std::span<float> into) {
  return store_.ReadMaster(*specs_.at(tensor), first, into);
}

absl::Status CopyFileAtomically(Io& io, const std::string& from, const std::string& to) {
  return WriteFileAtomically(io, to, [&](File& target) { return CopyInto(io, from, target); });
}

absl::Status ExportModel(Io& io, const ModelSpec& spec, const ParameterStore& store,
                         const Schedule& schedule, const ExportOptions& options) {
  StoreValues values(store, schedule);
  return ExportModel(io, spec, values, options);
}

absl::Status ExportModel(Io& io, const ModelSpec& spec, ModelValues& values,
                         const ExportOptions& options) {
  ASSIGN_OR_RETURN(const std::string config, ConfigOf(spec, options));
  RETURN_IF_ERROR(CheckCopies(options.copies));
  const std::vector<Stage> stages = ListStages(spec);
  RETURN_IF_ERROR(CheckValues(stages, values, options.frozen.has_value()));
  const std::string folder = WithoutLastSlashes(options.folder);
  ASSIGN_OR_RETURN(const bool exists, FindExportFolder(io, folder));
  const bool whole = !spec.wrapper.empty() && options.carried.has_value();
  Weights weights({.stages = stages,
                   .values = values,
                   .type = options.dtype,
                   .experts = options.experts,
                   .carried = whole ? &*options.carried : nullptr,
                   .frozen = options.frozen.has_value() ? &*options.frozen : nullptr});
  if (!exists) RETURN_IF_ERROR(io.MakeDirectory(folder));
  absl::Status status = exists ? absl::OkStatus() : io.SyncDirectory(ParentOf(folder));
  if (status.ok()) status = WriteAll(io, folder, config, weights, options);
  if (!status.ok()) RemoveAll(io, folder, /*remove_folder=*/!exists);
  return status;
}

bool IsProcessorFile(const std::string& path) {
  return std::find(kProcessorFiles.begin(), kProcessorFiles.end(), NameOf(path)) !=
         kProcessorFiles.end();
}

std::string CompanionName(const std::string& path) {
  const std::string name = NameOf(path);
  return NameOf(ParentOf(path)) == kMoreTemplates ? JoinPath(std::string(kMoreTemplates), name)
                                                  : name;
}

bool IsChatTemplate(const std::string& name) {
  return name == kChatTemplateFile || name.starts_with(StrCat(kMoreTemplates, "/"));
}

absl::StatusOr<std::vector<std::string>> CompanionFiles(Io& io, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, io.List(folder));
  std::vector<std::string> paths;
  const auto take = [&](const std::string& path) -> absl::Status {
    ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
    if (info.kind == FileKind::kRegular) paths.push_back(path);
    return absl::OkStatus();
  };
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name == kMoreTemplates) {
      ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
      if (info.kind != FileKind::kDirectory) continue;
      ASSIGN_OR_RETURN(const std::vector<std::string> templates, io.List(path));
      for (const std::string& each : templates) {
        if (each.ends_with(".jinja")) RETURN_IF_ERROR(take(JoinPath(path, each)));
      }
      continue;
    }
    const bool known = std::find(kCompanions.begin(), kCompanions.end(), name) != kCompanions.end();
    if (known || IsProcessorFile(name)) RETURN_IF_ERROR(take(path));
  }
  return paths;
}

}  // namespace horizon
