#include <cstdint>
#include <map>
#include <string>

#include "app/commands/commands.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/files/dtype.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/load_model_spec.h"
#include "model/stages.h"

namespace horizon {
namespace {

struct Sum {
  uint64_t tensors = 0;
  Bytes bytes;
};

class WeightsCommand : public Command {
 public:
  std::string_view name() const override { return "weights"; }
  std::string_view summary() const override {
    return "Check that safetensors hold the model that config.json describes";
  }
  std::string_view details() const override {
    return "Reads the headers of model.safetensors, or of the shards that the index names, and "
           "compares the name, shape and type of every tensor with the model. A corrupt file is "
           "named with the reason (exit code 4).";
  }
  OptionList Options() override {
    return {.options = {{.name = "json", .value = &json_, .help = "Answer in JSON"}},
            .positionals = {{.name = "FOLDER",
                             .value = &folder_,
                             .help = "Folder of a Hugging Face model",
                             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config,
                     LoadModelSpec(context.io, JoinPath(folder_, "config.json")));
    ASSIGN_OR_RETURN(const ModelFiles files, ModelFiles::Open(context.io, folder_));
    ASSIGN_OR_RETURN(const MatchedTensors matched,
                     MatchTensors(config.spec, ListStages(config.spec), files));
    Sum others;
    for (const ModelFiles::Location* location : matched.others) {
      ++others.tensors;
      others.bytes += location->tensor->bytes();
    }
    std::map<std::string, Sum> by_dtype;
    Sum all;
    for (const ModelFiles::Location& location : files.tensors()) {
      for (Sum* sum : {&by_dtype[std::string(ToString(location.tensor->dtype))], &all}) {
        ++sum->tensors;
        sum->bytes += location.tensor->bytes();
      }
    }
    const Found found{
        .spec = config.spec, .files = files, .by_dtype = by_dtype, .all = all, .others = others};
    return context.output.Write(json_ ? Json(found) : Text(found));
  }

 private:
  struct Found {
    const ModelSpec& spec;
    const ModelFiles& files;
    const std::map<std::string, Sum>& by_dtype;
    Sum all;
    Sum others;  // of all: those of a multimodal model's other parts
  };

  static std::string Text(const Found& found) {
    const auto& [spec, files, by_dtype, all, others] = found;
    std::string text =
        StrCat(spec.name, ": ", all.tensors, " tensors, ", ToString(all.bytes), " in ",
               files.files().size(), files.files().size() == 1 ? " file" : " files",
               "; every tensor of the model is there, in its shape\n");
    for (const auto& [dtype, sum] : by_dtype) {
      text += StrCat("  ", dtype, ": ", sum.tensors, " tensors, ", ToString(sum.bytes), "\n");
    }
    if (!spec.wrapper.empty()) {
      text += StrCat("  ", others.tensors, " of them, ", ToString(others.bytes),
                     ", belong to other parts of this ", spec.wrapper,
                     "; they are not trained and exported as they are\n");
    }
    return text;
  }

  static std::string Json(const Found& found) {
    JsonWriter json;
    json.BeginObject().Key("name").String(found.spec.name).Key("matches").Bool(true);
    json.Key("tensors").Unsigned(found.all.tensors).Key("bytes").Unsigned(found.all.bytes);
    if (!found.spec.wrapper.empty()) {
      json.Key("wrapper").String(found.spec.wrapper).Key("other_parts").BeginObject();
      json.Key("tensors").Unsigned(found.others.tensors);
      json.Key("bytes").Unsigned(found.others.bytes).EndObject();
    }
    json.Key("dtypes").BeginObject();
    for (const auto& [dtype, sum] : found.by_dtype) {
      json.Key(dtype).BeginObject().Key("tensors").Unsigned(sum.tensors);
      json.Key("bytes").Unsigned(sum.bytes).EndObject();
    }
    json.EndObject().Key("files").BeginArray();
    for (const SafetensorsReader& file : found.files.files()) json.String(file.path());
    json.EndArray().EndObject();
    return std::move(json).Finish();
  }

  std::string folder_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWeightsCommand() { return std::make_unique<WeightsCommand>(); }

}  // namespace horizon
