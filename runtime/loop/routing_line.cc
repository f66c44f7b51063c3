#include "runtime/loop/routing_line.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"

namespace horizon {

void AddSteps(RoutingLine more, RoutingLine& sum) {
  if (sum.step == 0) {
    sum = std::move(more);
    return;
  }
  CHECK(more.counts.size() == sum.counts.size());
  sum.step = more.step;
  sum.tokens += more.tokens;
  for (size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += more.counts[i];
}

std::string RoutingText(const RoutingLine& line) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject().Key("step").Integer(line.step).Key("first_step").Integer(line.first_step);
  json.Key("experts").Integer(line.experts);
  json.Key("experts_per_token").Integer(line.experts_per_token);
  json.Key("layers").BeginArray();
  for (const int64_t layer : line.layers) json.Integer(layer);
  json.EndArray().Key("tokens").Integer(line.tokens).Key("counts").BeginArray();
  auto count = line.counts.begin();
  for (size_t layer = 0; layer < line.layers.size(); ++layer) {
    json.BeginArray();
    for (int64_t expert = 0; expert < line.experts; ++expert) json.Integer(*count++);
    json.EndArray();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

std::optional<RoutingExtremes> ExtremesOf(const RoutingLine& line) {
  if (line.tokens <= 0 || line.counts.empty()) return std::nullopt;
  const auto at = [&](std::vector<int64_t>::const_iterator count) {
    const int64_t place = count - line.counts.begin();
    return ExpertShare{.layer = line.layers[static_cast<size_t>(place / line.experts)],
                       .expert = place % line.experts,
                       .share = static_cast<double>(*count) / static_cast<double>(line.tokens)};
  };
  return RoutingExtremes{.busiest = at(std::max_element(line.counts.begin(), line.counts.end())),
                         .idlest = at(std::min_element(line.counts.begin(), line.counts.end()))};
}

}  // namespace horizon
