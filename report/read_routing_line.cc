#include "report/read_routing_line.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "common/checked.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace horizon {
namespace {

// A number for each expert of each layer.
constexpr DocumentLimits kLimits{.text = 4_MiB, .depth = 4, .values = 1'000'000};

bool Ascend(const std::vector<int64_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
         numbers.end();
}

// Everything but the counts.
void ReadFigures(ObjectReader& reader, RoutingLine& line) {
  reader.Required("step", &line.step);
  reader.Required("first_step", &line.first_step);
  reader.Required("experts", &line.experts);
  reader.Required("experts_per_token", &line.experts_per_token);
  reader.Required("layers", &line.layers);
  reader.Required("tokens", &line.tokens);
  const auto check = [&](bool holds, std::string_view key, std::string_view message) {
    if (reader.ok() && !holds) reader.Fail(key, message);
  };
  check(line.step >= 1, "step", "needs a step of one or more");
  check(line.first_step >= 1 && line.first_step <= line.step, "first_step",
        "needs a step from 1 to that of the line");
  check(line.experts >= 1, "experts", "needs one or more");
  check(line.experts_per_token >= 1 && line.experts_per_token <= line.experts, "experts_per_token",
        "needs one or more, and no more than there are experts");
  check(!line.layers.empty() && line.layers.front() >= 0 && Ascend(line.layers), "layers",
        "needs numbers of layers in ascending order");
  check(line.tokens >= 0, "tokens", "needs zero or more");
}

// Reads the counts of one layer. Returns what is wrong with them, or "".
std::string ReadLayer(const Value& value, RoutingLine& line) {
  const auto* counts = value.As<Value::Array>();
  if (counts == nullptr || std::ssize(*counts) != line.experts) {
    return "needs a number for each expert of each layer";
  }
  CheckedU64 pairs;
  for (const Value& one : *counts) {
    const auto* count = one.As<int64_t>();
    // A token chooses an expert once or not at all.
    if (count == nullptr || *count < 0 || *count > line.tokens) {
      return "needs whole numbers from zero to the number of tokens";
    }
    pairs += CheckedU64::FromSigned(*count);
    line.counts.push_back(*count);
  }
  const bool adds_up = pairs.ok() && pairs == CheckedU64::FromSigned(line.tokens) *
                                                  CheckedU64::FromSigned(line.experts_per_token);
  return adds_up ? "" : "of a layer need to add up to tokens x experts_per_token";
}

void ReadCounts(ObjectReader& reader, RoutingLine& line) {
  const Value* value = reader.Take("counts");
  if (!reader.ok()) return;
  if (value == nullptr) return reader.Fail("counts", "required and missing");
  const auto* layers = value->As<Value::Array>();
  if (layers == nullptr || layers->size() != line.layers.size()) {
    return reader.Fail("counts", "needs an array for each of the layers");
  }
  for (const Value& layer : *layers) {
    const std::string problem = ReadLayer(layer, line);
    if (!problem.empty()) return reader.Fail("counts", problem);
  }
}

}  // namespace

absl::StatusOr<RoutingLine> ReadRoutingLine(const std::string& place, std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(place, text, kLimits));
  ObjectReader reader(document, document.root);
  RoutingLine line;
  ReadFigures(reader, line);
  ReadCounts(reader, line);
  RETURN_IF_ERROR(reader.Finish());
  return line;
}

}  // namespace horizon
