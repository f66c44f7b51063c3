#include "model/files/mismatch_hints.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/dtype.h"

namespace horizon {
namespace {

// A part of a name that only models which we do not compute have.
struct Foreign {
  std::string_view part;
  std::string_view what;
};
constexpr Foreign kForeign[] = {
    {".shared_expert", "shared experts"},
    {".e_score_correction_bias", "a router with a bias for its choice"},
    {".kv_a_proj", "multi-head latent attention"},
};

// The number in "PREFIX12.w1.weight".
std::optional<int64_t> NumberAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int64_t number = 0;
  size_t digits = 0;
  for (; digits < name.size() && digits < 9 && '0' <= name[digits] && name[digits] <= '9';
       ++digits) {
    number = number * 10 + (name[digits] - '0');
  }
  if (digits == 0 || digits == name.size() || name[digits] != '.') return std::nullopt;
  return number;
}

// How many experts the files have in the layer of `tensor`, one of its first expert. Nothing if
// they are not 0, 1, 2 and so on: then single experts are missing.
std::optional<int64_t> SeparateExperts(const DiskTensor& tensor, const ModelFiles& files) {
  constexpr std::string_view kExperts = ".experts.";
  const size_t at = tensor.name.find(kExperts);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view prefix = std::string_view(tensor.name).substr(0, at + kExperts.size());
  std::set<int64_t> numbers;
  for (const ModelFiles::Location& location : files.tensors()) {
    const std::optional<int64_t> number = NumberAfter(prefix, location.tensor->name);
    if (number.has_value()) numbers.insert(*number);
  }
  const auto count = static_cast<int64_t>(numbers.size());
  if (count == 0 || *numbers.rbegin() != count - 1) return std::nullopt;
  return count;
}

// The same where one tensor holds all experts of a layer.
std::optional<int64_t> FusedExperts(const DiskTensor& tensor, const ModelFiles& files) {
  for (const std::string_view end : {"", "_blocks"}) {
    const ModelFiles::Location* location = files.Find(StrCat(tensor.name, end));
    if (location == nullptr || location->tensor->shape.size() < 3) continue;
    return location->tensor->shape[0];
  }
  return std::nullopt;
}

// Of the first layer in which the number is another than the config's.
std::string ExpertHint(const ModelSpec& spec, const std::vector<DiskTensor>& tensors,
                       const ModelFiles& files) {
  for (const DiskTensor& tensor : tensors) {
    const TensorSpec& part = *tensor.parts.front().tensor;
    const bool fused = tensor.shape.size() == 3;
    const bool is_down = part.role == TensorRole::kExpertsDown ||
                         (part.role == TensorRole::kDown && part.expert == 0);
    if (!is_down) continue;
    const std::optional<int64_t> found =
        fused ? FusedExperts(tensor, files) : SeparateExperts(tensor, files);
    if (!found.has_value() || *found == spec.experts.experts) continue;
    return StrCat(" The files have ", *found, " experts in the layer of ", Quoted(tensor.name),
                  ", and the config.json has ", spec.experts.experts,
                  " (num_local_experts or num_experts).");
  }
  return "";
}

std::string ForeignHint(const ModelFiles& files) {
  for (const Foreign& foreign : kForeign) {
    for (const ModelFiles::Location& location : files.tensors()) {
      if (location.tensor->name.find(foreign.part) == std::string::npos) continue;
      return StrCat(" ", Quoted(location.tensor->name), " belongs to a model with ", foreign.what,
                    ", which is not supported.");
    }
  }
  return "";
}

std::string QuantizationHint(const Quantization& quantization, const ModelFiles& files) {
  if (quantization.method != QuantMethod::kNone) return "";
  for (const ModelFiles::Location& location : files.tensors()) {
    const bool is_mxfp4 = location.tensor->name.ends_with("_proj_blocks");
    if (!is_mxfp4 && location.tensor->dtype != Dtype::kF8E4M3) continue;
    return StrCat(" ", Quoted(location.tensor->name),
                  " is quantised, and the config.json has no quantization_config that says how; "
                  "quant_method mxfp4 and fp8 can be read.");
  }
  return "";
}

}  // namespace

std::string MismatchHints(const ModelSpec& spec, const std::vector<DiskTensor>& tensors,
                          const Quantization& quantization, const ModelFiles& files) {
  return ExpertHint(spec, tensors, files) + ForeignHint(files) +
         QuantizationHint(quantization, files);
}

}  // namespace horizon
