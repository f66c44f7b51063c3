#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/run_experiments.h"

namespace horizon {

// A statement of the paper beside the result of the simulated rows. Everything except the claimed
// figure is computed from rows.
struct Claim {
  std::string what;       // "speed over ZeRO-3 offload, 14B on A100"
  std::string source;     // the rows it is about: "throughput_a100: qwen2.5-14b"
  std::string claimed;    // "12.2x", "-31.3 %", "yes"
  std::string simulated;  // in the same form
  // How far the simulated figure is off: relative for ratios (0.05: 5 % more), in percentage points
  // for changes in percent (0.01: one point). Empty for yes and no.
  std::optional<double> error;
  std::string error_text;      // "+5.0 %", "+1.0 points", "agrees", "differs", "" (nothing claimed)
  std::optional<bool> agrees;  // for yes and no only
  std::string note;            // which of its rows were fitted, by how many bytes it fits, ...
};

// Checks the claims for which all rows are among `runs`, the most important one first.
std::vector<Claim> CheckClaims(std::span<const ExperimentRun> runs);

}  // namespace horizon
