#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "experiments/published_row.h"
#include "experiments/simulate_row.h"
#include "planner/profile/calibration.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// Compares a published row with two simulations: of the published system, and of strategy `horizon`
// in its place.

// A simulated run of strategy `horizon` with the model, machine, sequence and batch of a row, with
// the plan that the search finds.
struct HorizonRun {
  StateFormat state_format = StateFormat::kBf16Weights;
  bool fits = false;
  Prediction prediction;            // if it fits
  std::vector<Shortage> shortages;  // if not: the memory that the nearest plan is short of
};

// A published row with its simulations.
struct ComparedRow {
  bool is_simulated = false;  // false: no strategy simulates this system; only result.row is set
  RowResult result;
  uint64_t parameters = 0;  // of the model
  Bytes host_capacity;      // the part of the machine's RAM that a process may use
  // For rows of the published system only. The first run has the system's own state format
  // (bf16-weights), which is the one to compare with. For rows about feasibility, runs with the
  // other formats follow.
  std::vector<HorizonRun> horizon;
};

// Compares rows. A run of `horizon` that several rows need is simulated once. One thread.
class RowComparer {
 public:
  // Both outlive it.
  RowComparer(Io& io, const Calibration& calibration) : io_(io), calibration_(calibration) {}

  // NotFound if the catalogs do not have the row's model or machine.
  absl::StatusOr<ComparedRow> Compare(const PublishedRow& row);

 private:
  absl::StatusOr<HorizonRun> RunHorizon(const RowResult& result, const ModelSpec& spec,
                                        const HardwareProfile& profile, StateFormat format);

  Io& io_;
  const Calibration& calibration_;
  std::map<std::string, HorizonRun> runs_;
};

// The error of a simulated row. It is 0 if "more than" was published and the simulated figure is
// larger.
std::optional<double> ErrorOf(const RowResult& result);

// The row's metric for strategy `horizon`; host memory is the peak. Empty if the run does not fit
// or was not simulated.
std::optional<double> HorizonValue(const ComparedRow& compared);

// Whether a run that the paper reports as successful does not fit by our memory model. Such a run
// is timed all the same.
bool IsOverOurMemory(const ComparedRow& compared);

// Whether the simulated run fits where the published one ran out of memory, or the other way round.
// A run of the published system that is over our memory does not count: that concerns the paper's
// figures, not the behaviour of a baseline.
bool HasWrongStatus(const ComparedRow& compared);

// "qwen2.5-7b, megatrain".
std::string NameOf(const PublishedRow& row);

}  // namespace horizon
