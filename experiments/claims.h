#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/run_experiments.h"

namespace horizon {

// A statement of the paper beside what the simulated rows say about it. Everything but the claimed
// figure is computed from rows.
struct Claim {
  std::string what;       // "speed over ZeRO-3 offload, 14B on A100"
  std::string source;     // the rows it is about: "throughput_a100: qwen2.5-14b"
  std::string claimed;    // "12.2x", "-31.3 %", "yes"
  std::string simulated;  // in the same form
  // The distance: relative for ratios (0.05: 5 % more), in points for changes in percent (0.01: one
  // point). Nothing for yes and no.
  std::optional<double> error;
  std::string error_text;      // "+5.0 %", "+1.0 points", "agrees", "differs", "" (nothing claimed)
  std::optional<bool> agrees;  // of yes and no
  std::string note;            // which of its rows were fitted, by how many bytes it fits, ...
};

// The claims whose rows are all among `runs`, in the paper's order of weight.
std::vector<Claim> CheckClaims(std::span<const ExperimentRun> runs);

}  // namespace horizon
