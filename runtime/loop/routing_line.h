#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace horizon {

// Which experts the tokens of a mixture of experts chose: the lines of routing.jsonl.

// How many steps a line covers at most. A line is also written at every step that is saved, so that
// a run which goes on from there adds up what the run before it would have added up.
inline constexpr int64_t kStepsPerRoutingLine = 50;

// The sums over the steps first_step .. step.
struct RoutingLine {
  int64_t step = 0;  // 0: no step
  int64_t first_step = 0;
  int64_t experts = 0;  // of each layer that has experts
  int64_t experts_per_token = 0;
  std::vector<int64_t> layers;  // the numbers, from 0, of the model's layers that have experts
  int64_t tokens = 0;           // that were routed: all but padding
  // [layer, expert]: how many tokens chose the expert. Those of a layer add up to tokens x
  // experts_per_token.
  std::vector<int64_t> counts;

  friend bool operator==(const RoutingLine&, const RoutingLine&) = default;
};

// Adds the steps of `more`, which follow those of `sum`. A sum without steps becomes `more`.
void AddSteps(RoutingLine more, RoutingLine& sum);

// Formats {"step": 50, "first_step": 1, ...} on one line, without a newline.
std::string RoutingText(const RoutingLine& line);

// The share of the tokens that chose an expert of a layer.
struct ExpertShare {
  int64_t layer = 0;   // number of the model's layer
  int64_t expert = 0;  // from 0
  double share = 0;    // of the tokens: 1 if all chose it, beside others
};
// The experts with the largest and the smallest share, the first ones if several have it.
struct RoutingExtremes {
  ExpertShare busiest;
  ExpertShare idlest;
};
// Empty if no token was routed.
std::optional<RoutingExtremes> ExtremesOf(const RoutingLine& line);

}  // namespace horizon
