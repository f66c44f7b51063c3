#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "model/files/dtype.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/files/stored_tensor.h"
#include "model/files/tensor_entry.h"
#include "model/load_model_spec.h"
#include "model/quantization.h"
#include "model/stages.h"

namespace horizon {
namespace {

// Some tensors of the files; `parameters` counts their values, dequantised.
struct Sum {
  uint64_t tensors = 0;
  uint64_t parameters = 0;
  Bytes bytes;
};

uint64_t ParametersOf(const DiskTensor& tensor) {
  uint64_t parameters = 0;
  for (const DiskPart& part : tensor.parts) parameters += part.tensor->parameters;
  return parameters;
}

class WeightsCommand : public Command {
 public:
  std::string_view name() const override { return "weights"; }
  std::string_view summary() const override {
    return "Check that safetensors hold the model that config.json describes";
  }
  std::string_view details() const override {
    return "Reads the headers of model.safetensors, or of the shards that the index names, and "
           "compares the name, shape and type of every tensor with the model. A corrupt file is "
           "named with the reason (exit code 4). Quantised weights (MXFP4 of gpt_oss, FP8 in "
           "blocks) are counted with their scales.";
  }
  OptionList Options() override {
    return {.options = {{.name = "tensors",
                         .value = &tensors_,
                         .help = "List every tensor of the model with its number format"},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}},
            .positionals = {{.name = "FOLDER",
                             .value = &folder_,
                             .help = "Folder of a Hugging Face model",
                             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config,
                     LoadModelSpec(context.io, JoinPath(folder_, "config.json")));
    ASSIGN_OR_RETURN(const ModelFiles files, ModelFiles::Open(context.io, folder_));
    const std::vector<Stage> stages = ListStages(config.spec);
    ASSIGN_OR_RETURN(
        const MatchedTensors matched,
        MatchTensors(config.spec, stages, files, {.quantization = config.quantization}));
    Found found{.config = config, .files = files, .matched = matched};
    for (const ModelFiles::Location* location : matched.others) {
      ++found.others.tensors;
      found.others.bytes += location->tensor->bytes();
    }
    for (const ModelFiles::Location& location : files.tensors()) {
      for (Sum* sum :
           {&found.by_dtype[std::string(ToString(location.tensor->dtype))], &found.all}) {
        ++sum->tensors;
        sum->bytes += location.tensor->bytes();
      }
    }
    for (size_t i = 0; i < matched.tensors.size(); ++i) {
      const uint64_t parameters = ParametersOf(matched.tensors[i]);
      Sum& sum = found.by_format[matched.stored[i].FormatName()];
      ++sum.tensors;
      sum.parameters += parameters;
      sum.bytes += matched.stored[i].bytes();
      found.parameters += parameters;
    }
    return context.output.Write(json_ ? Json(found) : Text(found));
  }

 private:
  struct Found {
    const ModelConfig& config;
    const ModelFiles& files;
    const MatchedTensors& matched;
    std::map<std::string, Sum> by_dtype = {};   // tensors of the files
    std::map<std::string, Sum> by_format = {};  // tensors of the model
    Sum all = {};
    Sum others = {};  // of all: those of a multimodal model's other parts
    uint64_t parameters = 0;
  };

  std::string Text(const Found& found) const {
    const ModelSpec& spec = found.config.spec;
    std::string text =
        StrCat(spec.name, ": ", WithCommas(found.parameters), " parameters in ", found.all.tensors,
               " tensors, ", ToString(found.all.bytes), " in ", found.files.files().size(),
               found.files.files().size() == 1 ? " file" : " files",
               "; every tensor of the model is there, in its shape\n");
    for (const auto& [format, sum] : found.by_format) {
      text += StrCat("  ", format, ": ", sum.tensors, " tensors, ", WithCommas(sum.parameters),
                     " parameters, ", ToString(sum.bytes), "\n");
    }
    if (found.config.quantization.method != QuantMethod::kNone) {
      text += StrCat("  quantised: ", ToString(found.config.quantization),
                     "; weights are dequantised as they are read, and exported in bf16 or fp32\n");
    }
    if (found.matched.experts != ExpertLayout::kUsual) {
      text +=
          "  the experts of a layer are one tensor (mlp.experts.gate_up_proj, "
          "mlp.experts.down_proj); exports keep that\n";
    }
    if (!spec.wrapper.empty()) {
      text += StrCat("  ", found.others.tensors, " of the tensors, ", ToString(found.others.bytes),
                     ", belong to other parts of this ", spec.wrapper,
                     "; they are not trained and exported as they are\n");
    }
    return tensors_ ? StrCat(text, "\n", Table(found)) : text;
  }

  static std::string Table(const Found& found) {
    TextTable table({"tensor", "format", "shape", "parameters", "bytes"});
    for (size_t i = 0; i < found.matched.tensors.size(); ++i) {
      const DiskTensor& tensor = found.matched.tensors[i];
      const StoredTensor& stored = found.matched.stored[i];
      table.AddRow({tensor.name, stored.FormatName(), ShapeForMessage(tensor.shape),
                    WithCommas(ParametersOf(tensor)), ToString(stored.bytes())});
    }
    return std::move(table).Finish();
  }

  static void WriteSum(JsonWriter& json, const Sum& sum) {
    json.Key("tensors").Unsigned(sum.tensors).Key("bytes").Unsigned(sum.bytes);
  }

  std::string Json(const Found& found) const {
    const ModelSpec& spec = found.config.spec;
    JsonWriter json;
    json.BeginObject().Key("name").String(spec.name).Key("matches").Bool(true);
    json.Key("parameters").Unsigned(found.parameters);
    WriteSum(json, found.all);
    json.Key("quantization").String(ToString(found.config.quantization));
    json.Key("expert_layout").String(ToString(found.matched.experts));
    if (!spec.wrapper.empty()) {
      json.Key("wrapper").String(spec.wrapper).Key("other_parts").BeginObject();
      WriteSum(json, found.others);
      json.EndObject();
    }
    json.Key("dtypes").BeginObject();
    for (const auto& [dtype, sum] : found.by_dtype) {
      json.Key(dtype).BeginObject();
      WriteSum(json, sum);
      json.EndObject();
    }
    json.EndObject().Key("formats").BeginObject();
    for (const auto& [format, sum] : found.by_format) {
      json.Key(format).BeginObject().Key("parameters").Unsigned(sum.parameters);
      WriteSum(json, sum);
      json.EndObject();
    }
    json.EndObject();
    if (tensors_) WriteTensors(json, found);
    json.Key("files").BeginArray();
    for (const SafetensorsReader& file : found.files.files()) json.String(file.path());
    json.EndArray().EndObject();
    return std::move(json).Finish();
  }

  static void WriteTensors(JsonWriter& json, const Found& found) {
    json.Key("stored").BeginArray();
    for (size_t i = 0; i < found.matched.tensors.size(); ++i) {
      const DiskTensor& tensor = found.matched.tensors[i];
      const StoredTensor& stored = found.matched.stored[i];
      json.BeginObject().Key("name").String(tensor.name);
      json.Key("format").String(stored.FormatName()).Key("shape").BeginArray();
      for (const int64_t length : tensor.shape) json.Integer(length);
      json.EndArray().Key("parameters").Unsigned(ParametersOf(tensor));
      json.Key("bytes").Unsigned(stored.bytes()).EndObject();
    }
    json.EndArray();
  }

  std::string folder_;
  bool tensors_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWeightsCommand() { return std::make_unique<WeightsCommand>(); }

}  // namespace horizon
