#include "model/quantization.h"

#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/files/dequantize.h"

namespace horizon {
namespace {

constexpr std::string_view kKey = "quantization_config";
constexpr std::string_view kMethod = "quant_method";
constexpr std::string_view kBlockSize = "weight_block_size";
constexpr std::string_view kSupported =
    "mxfp4 (the experts of gpt_oss) and fp8 (e4m3 with weight_block_size) are; of other formats, "
    "convert the checkpoint to BF16 first";
constexpr std::string_view kTwoNumbers =
    "two numbers of at least 1, such as [128, 128] (rows and columns that share a scale)";
// What transformers takes for a missing weight_block_size.
constexpr int64_t kUsualBlock = 128;

void ReadMxfp4(ConfigFields& settings, const ModelSpec& spec) {
  if (!spec.experts.fused_tensors) {
    settings.Fail(kMethod, StrCat("mxfp4 is supported for gpt_oss, and this is ", spec.family));
    return;
  }
  constexpr auto kBlock = static_cast<int64_t>(kMxfp4Block);
  if (spec.hidden % kBlock != 0 || spec.experts.intermediate % kBlock != 0) {
    settings.Fail(kMethod,
                  StrCat("mxfp4 needs a hidden_size and an intermediate_size that are "
                         "multiples of ",
                         kBlock, "; they are ", spec.hidden, " and ", spec.experts.intermediate));
  }
}

void ReadBlockSize(ConfigFields& settings, Quantization& quantization) {
  quantization.block_rows = kUsualBlock;
  quantization.block_columns = kUsualBlock;
  if (settings.Take(kBlockSize) == nullptr) return;
  if (!settings.Has(kBlockSize)) {
    settings.Refuse(kBlockSize, StrCat("only ", kTwoNumbers, " are"));
    return;
  }
  const std::vector<int64_t> sizes = settings.Integers(kBlockSize);
  if (!settings.ok()) return;
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > kMost || sizes[1] > kMost) {
    settings.Fail(kBlockSize, StrCat("must be ", kTwoNumbers));
    return;
  }
  quantization.block_rows = sizes[0];
  quantization.block_columns = sizes[1];
}

void ReadFp8(ConfigFields& settings, const ModelSpec& spec, Quantization& quantization) {
  if (spec.experts.fused_tensors) {
    settings.Fail(kMethod, StrCat("fp8 is not supported for ", spec.family, "; mxfp4 is"));
    return;
  }
  if (settings.Text("activation_scheme", "dynamic") != "dynamic" && settings.ok()) {
    settings.Refuse("activation_scheme", "only dynamic is: its weights need no activation scales");
  }
  if (settings.Text("fmt", "e4m3") != "e4m3" && settings.ok()) {
    settings.Refuse("fmt", "only e4m3 is");
  }
  if (settings.Has("scale_fmt") && settings.Text("scale_fmt", "float") != "float" &&
      settings.ok()) {
    settings.Refuse("scale_fmt", "only float is (scales as F32 or BF16)");
  }
  if (settings.Text("expert_dtype", "fp8") != "fp8" && settings.ok()) {
    settings.Refuse("expert_dtype", "only fp8 is");
  }
  ReadBlockSize(settings, quantization);
}

}  // namespace

std::string ToString(const Quantization& quantization) {
  switch (quantization.method) {
    case QuantMethod::kNone:
      return "none";
    case QuantMethod::kMxfp4:
      return "mxfp4";
    case QuantMethod::kFp8:
      return StrCat("fp8 in blocks of ", quantization.block_rows, " x ",
                    quantization.block_columns);
  }
  return "unknown";
}

absl::StatusOr<Quantization> ReadQuantization(const Document& document, ConfigFields& fields,
                                              const ModelSpec& spec) {
  const Value* value = fields.Take(kKey);
  if (value == nullptr || value->is_null()) return Quantization{};
  if (value->As<Value::Object>() == nullptr) {
    fields.Fail(kKey, StrCat("needs an object, found ", value->KindName()));
    return fields.status();
  }
  ConfigFields settings(document, *value, fields.PathOf(kKey));
  Quantization quantization;
  const std::string method = settings.Text(kMethod, "");
  if (method == "mxfp4") {
    quantization.method = QuantMethod::kMxfp4;
    ReadMxfp4(settings, spec);
  } else if (method == "fp8") {
    quantization.method = QuantMethod::kFp8;
    ReadFp8(settings, spec, quantization);
  } else if (settings.ok()) {
    settings.Refuse(kMethod, kSupported);
  }
  // What a loader should do, and which modules it has to change: the tensors themselves tell.
  for (const std::string_view key :
       {"dequantize", "ignored_layers", "modules_to_convert", "modules_to_not_convert"}) {
    settings.Ignore(key);
  }
  for (const std::string& key : settings.UnknownKeys()) {
    settings.Fail(key, "is not supported: it may change how the weights are dequantised");
  }
  RETURN_IF_ERROR(settings.status());
  return quantization;
}

}  // namespace horizon
