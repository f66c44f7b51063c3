#include "tests/runtime/support/expert_goldens.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/files/safetensors_reader.h"
#include "tests/runtime/support/golden_json.h"

namespace horizon {
namespace {

constexpr size_t kGradientSamples = 1024;

std::map<std::string, double> NumbersByName(const Value& object) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : *object.As<Value::Object>()) numbers[name] = Number(value);
  return numbers;
}

std::vector<int64_t> Integers(const Value& array) {
  std::vector<int64_t> integers;
  for (const Value& value : *array.As<Value::Array>()) integers.push_back(*value.As<int64_t>());
  return integers;
}

// All tensors of a file of fp32 values.
std::map<std::string, std::vector<float>> ReadFloats(const std::string& path) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io, path);
  CHECK(reader.ok());
  std::map<std::string, std::vector<float>> tensors;
  for (const TensorEntry& entry : reader->header().tensors()) {
    CHECK(entry.dtype == Dtype::kF32);
    std::vector<float>& values = tensors[entry.name];
    values.resize((entry.end - entry.begin) / sizeof(float));
    CHECK(reader->ReadTensor(entry.name, std::as_writable_bytes(std::span(values))).ok());
  }
  return tensors;
}

}  // namespace

Bf16Golden LoadBf16Golden(const std::string& family) {
  const Document document = ReadGoldenJson(family + "/bf16.json");
  const Value& root = document.root;
  return {.first_loss = Number(Member(root, "first_loss")),
          .gradient_norm = Number(Member(root, "gradient_norm")),
          .gradient_norms = NumbersByName(Member(root, "gradient_norms")),
          .gradient_samples =
              ReadFloats(StrCat("tests/goldens/", family, "/bf16_gradients.safetensors")),
          .least_router_gap = Number(Member(root, "least_router_gap"))};
}

std::vector<float> SampleGradient(const std::vector<float>& gradient) {
  const size_t count = std::min(gradient.size(), kGradientSamples);
  if (count == gradient.size()) return gradient;
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i) samples[i] = gradient[(gradient.size() - 1) * i / (count - 1)];
  return samples;
}

std::vector<RouterLossCase> LoadRouterLossCases(const std::string& family) {
  const Document document = ReadGoldenJson(family + "/router_loss.json");
  const double coefficient = Number(Member(document.root, "coefficient"));
  std::vector<RouterLossCase> cases;
  for (const Value& value : *Member(document.root, "cases").As<Value::Array>()) {
    RouterLossCase one = {
        .name = *Member(value, "name").As<std::string>(),
        .coefficient = coefficient,
        .row_tokens = Integers(Member(value, "row_tokens")),
        .mean_probabilities = Numbers(Member(value, "mean_probabilities")),
        .losses = Numbers(Member(value, "losses")),
        .router_losses = Numbers(Member(value, "router_losses")),
        .gradient_norms_of_steps = Numbers(Member(value, "gradient_norm_per_step")),
        .gradient_norms = NumbersByName(Member(value, "gradient_norms"))};
    for (const Value& layer : *Member(value, "counts").As<Value::Array>()) {
      one.counts.push_back(Integers(layer));
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<TokenRecord> PadRows(std::vector<TokenRecord> records,
                                 const std::vector<int64_t>& row_tokens, int32_t padding_label) {
  CHECK(records.size() % row_tokens.size() == 0);
  const size_t sequence = records.size() / row_tokens.size();
  for (size_t row = 0; row < row_tokens.size(); ++row) {
    const auto kept = static_cast<size_t>(row_tokens[row]);
    CHECK(0 < kept && kept <= sequence);
    TokenRecord* const begin = &records[row * sequence];
    for (size_t t = kept; t < sequence; ++t) begin[t].label = padding_label;
    begin[kept - 1].label = -100;
  }
  return records;
}

}  // namespace horizon
