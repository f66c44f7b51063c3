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

// A published row beside what is simulated for it: the published system, and what strategy
// `horizon` would give in its place.

// Strategy `horizon` with the model, machine, sequence and batch of a row, its plan searched.
struct HorizonRun {
  StateFormat state_format = StateFormat::kBf16Weights;
  bool fits = false;
  Prediction prediction;            // where it fits
  std::vector<Shortage> shortages;  // where not: what the nearest plan lacks
};

struct ComparedRow {
  bool is_simulated = false;  // false: nothing stands for this system; only result.row is filled
  RowResult result;
  uint64_t parameters = 0;  // of the model
  Bytes host_capacity;      // of the machine's RAM that a process may use
  // For rows of the published system: first with its own state format (bf16-weights), which is
  // what compares; for statements of feasibility the other formats follow.
  std::vector<HorizonRun> horizon;
};

// Compares rows; runs of `horizon` that several rows ask for are made once. One thread.
class RowComparer {
 public:
  // Both outlive it.
  RowComparer(Io& io, const Calibration& calibration) : io_(io), calibration_(calibration) {}

  // NotFound where the catalogs do not have the row's model or machine.
  absl::StatusOr<ComparedRow> Compare(const PublishedRow& row);

 private:
  absl::StatusOr<HorizonRun> RunHorizon(const RowResult& result, const ModelSpec& spec,
                                        const HardwareProfile& profile, StateFormat format);

  Io& io_;
  const Calibration& calibration_;
  std::map<std::string, HorizonRun> runs_;
};

// The simulated error that counts: none at all where "more than" was published and more came out.
std::optional<double> ErrorOf(const RowResult& result);

// The row's metric of what horizon would give; host memory is its peak. Nothing where it does not
// fit or was not asked.
std::optional<double> HorizonValue(const ComparedRow& compared);

// It ran in print and does not fit by our memory; timed all the same.
bool IsOverOurMemory(const ComparedRow& compared);

// Ran where it ran out in print, or the other way round. A run of the published system that is over
// our memory is not one: that is a remark on the paper's figures, not on a baseline's behaviour.
bool HasWrongStatus(const ComparedRow& compared);

// "qwen2.5-7b, megatrain".
std::string NameOf(const PublishedRow& row);

}  // namespace horizon
