#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/agreement.h"
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
  std::string error_text;              // "+5.0 %", "+1.0 points", "" for yes and no
  std::optional<Agreement> agreement;  // empty where the paper claims nothing
  bool is_fitted = false;              // all its rows were fitted, so it tests nothing
  std::string note;                    // which of its rows were fitted, by how much it fits, ...
};

// The verdict on a claim in words: "holds", "close, off by 1.6 points", "misses by 25.3 %";
// "fitted" if it tests nothing, "" if the paper claims nothing.
std::string VerdictOf(const Claim& claim);

// How many claims hold, are close and miss. Fitted claims, and rows for which the paper claims
// nothing, are not counted.
struct ClaimCounts {
  int64_t holding = 0;
  int64_t close = 0;
  int64_t missing = 0;
  int64_t fitted = 0;
  int64_t judged() const { return holding + close + missing; }
};
ClaimCounts CountClaims(std::span<const Claim> claims);

// Checks the claims for which all rows are among `runs`, the most important one first.
std::vector<Claim> CheckClaims(std::span<const ExperimentRun> runs);

}  // namespace horizon
