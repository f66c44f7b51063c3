#include "experiments/fit.h"

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/experiment.h"
#include "experiments/simulate_row.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"

namespace horizon {
namespace {

// What the paper's own process and a Python framework cost on the host, besides buffers: the
// constant of the memory formula that the depth series follows.
constexpr Bytes kFrameworkBytes = 5_GiB;
// Baselines keep weights and gradients in bf16 on the device while they run.
constexpr double kBaselineReserve = 4;
// Their logits exist in bf16 and fp32, and their gradient in fp32; the layout counts 4 bytes.
constexpr double kBaselineLogits = 6;
// Moved by Adam for each parameter with the smallest state a published run can have had: weights,
// gradient and moments in bf16.
constexpr double kLeastAdamBytes = 14;
// DeepSpeed's CPUAdam against PyTorch's Adam on the same processor, 8e9 parameters: 0.769 s and
// 1.834 s (published with another system, not with this paper; not fitted here).
constexpr double kDeepSpeedAdam = 1.834 / 0.769;

using Loss = std::function<double()>;

// Least loss over one number between two bounds, by golden sections in its logarithm.
void FitOne(double& number, double low, double high, const Loss& loss) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = std::log(low);
  double b = std::log(high);
  const auto at = [&](double x) {
    number = std::exp(x);
    return loss();
  };
  double c = b - golden * (b - a);
  double d = a + golden * (b - a);
  double loss_c = at(c);
  double loss_d = at(d);
  while (b - a > 1e-4) {
    if (loss_c <= loss_d) {
      b = d;
      d = c;
      loss_d = loss_c;
      c = b - golden * (b - a);
      loss_c = at(c);
    } else {
      a = c;
      c = d;
      loss_c = loss_d;
      d = a + golden * (b - a);
      loss_d = at(d);
    }
  }
  number = std::exp((a + b) / 2);
}

// Several numbers, one after another, until a round changes nothing.
struct Unknown {
  double* number;
  double low;
  double high;
};
void FitAll(const std::vector<Unknown>& unknowns, const Loss& loss) {
  const int rounds = unknowns.size() > 1 ? 25 : 1;
  for (int round = 0; round < rounds; ++round) {
    for (const Unknown& unknown : unknowns) {
      // Later rounds look near what the last one found, which is where the valley is.
      const double near = *unknown.number;
      const double reach = round == 0 ? 0 : 1.25;
      FitOne(*unknown.number, reach == 0 ? unknown.low : std::max(unknown.low, near / reach),
             reach == 0 ? unknown.high : std::min(unknown.high, near * reach), loss);
    }
  }
}

// Four digits say all that such a fit knows.
void Shorten(double& number) {
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
  number = std::round(number / unit) * unit;
}

class Fitter {
 public:
  explicit Fitter(Io& io) : io_(io) {}

  absl::StatusOr<Calibration> Fit() {
    ASSIGN_OR_RETURN(experiments_, LoadExperiments());
    RETURN_IF_ERROR(FitBatchShare());
    for (const Strategy baseline :
         {Strategy::kZero3Offload, Strategy::kFsdpOffload, Strategy::kGemini}) {
      StrategyCalibration& entry = calibration_.strategies.emplace_back();
      entry.strategy = baseline;
      entry.software.process_bytes = kFrameworkBytes;
      entry.batch_share = calibration_.strategies.front().batch_share;
      entry.batch_reserve_bytes = kBaselineReserve;
      entry.batch_logit_bytes = kBaselineLogits;
      if (baseline == Strategy::kZero3Offload) {
        entry.software.adam_speed = kDeepSpeedAdam;
        Shorten(entry.software.adam_speed);
      }
    }
    for (const char* machine : {"gh200", "a100-pcie", "rtx3090", "a6000"}) {
      RETURN_IF_ERROR(FitMachine(machine));
    }
    for (StrategyCalibration& entry : calibration_.strategies) {
      if (entry.strategy == Strategy::kReference) continue;
      const Rows rows = FittedRows(std::string(ToString(entry.strategy)), "");
      entry.fitted_on = NamesOf(rows);
      FitAll({{&entry.software.link_share, 0.005, 1}}, LossOf(rows));
      Shorten(entry.software.link_share);
    }
    RETURN_IF_ERROR(status_);
    return std::move(calibration_);
  }

 private:
  using Rows = std::vector<std::pair<std::string, PublishedRow>>;  // experiment, row

  Rows FittedRows(const std::string& system, const std::string& machine) const {
    Rows rows;
    for (const Experiment& experiment : experiments_) {
      for (const PublishedRow& row : experiment.rows) {
        if (row.use == RowUse::kFitted && row.system == system &&
            (machine.empty() || row.machine == machine)) {
          rows.emplace_back(experiment.name, row);
        }
      }
    }
    return rows;
  }

  static std::vector<std::string> NamesOf(const Rows& rows) {
    std::vector<std::string> names;
    for (const auto& [experiment, row] : rows) {
      names.push_back(StrCat(experiment, ": ", row.id, ", ", row.system));
    }
    return names;
  }

  Loss LossOf(const Rows& rows) {
    return [this, rows] {
      double sum = 0;
      for (const auto& [experiment, row] : rows) {
        absl::StatusOr<std::optional<RowResult>> result = SimulateRow(io_, row, calibration_);
        if (!result.ok()) {
          status_ = result.status();
          return 0.0;
        }
        CHECK(result->has_value() && (*result)->error.has_value());
        const double ratio = std::log1p(*(*result)->error);
        sum += ratio * ratio;
      }
      return sum;
    };
  }

  absl::Status FitMachine(const std::string& name) {
    ASSIGN_OR_RETURN(const HardwareProfile profile, LoadMachine(io_, name));
    const Rows rows = FittedRows("megatrain", name);
    std::vector<std::string> names = NamesOf(rows);
    MachineCalibration& entry = calibration_.machines.emplace_back();
    entry.machine = name;
    entry.gemm_bf16_flops_per_second = profile.device.gemm_bf16.Highest();
    const double top = *entry.gemm_bf16_flops_per_second;
    std::vector<Unknown> unknowns = {{&*entry.gemm_bf16_flops_per_second, top / 4, top / 0.6}};
    if (rows.size() > 1) {
      entry.pack_bytes_per_second = profile.host.pack.Highest();
      entry.adam_parameters_per_second =
          profile.host.adam[static_cast<size_t>(StateFormat::kBf16Weights)].Highest();
      unknowns.push_back({&*entry.pack_bytes_per_second, 1e9, 1e11});
      unknowns.push_back(
          {&*entry.adam_parameters_per_second, 2e8, profile.host.dram.Highest() / kLeastAdamBytes});
    } else if (name == "a6000") {
      const MachineCalibration* neighbour = calibration_.Find("rtx3090");
      entry.pack_bytes_per_second = neighbour->pack_bytes_per_second;
      entry.adam_parameters_per_second = neighbour->adam_parameters_per_second;
      names.emplace_back("packing and Adam: as rtx3090, which is in the same workstation");
    }
    FitAll(unknowns, LossOf(rows));
    for (const Unknown& unknown : unknowns) Shorten(*unknown.number);
    entry.fitted_on = std::move(names);
    return absl::OkStatus();
  }

  // The share of the device at which the published batch of the 7B model is the largest that fits.
  absl::Status FitBatchShare() {
    StrategyCalibration& entry = calibration_.strategies.emplace_back();
    entry.strategy = Strategy::kReference;
    entry.software.process_bytes = kFrameworkBytes;
    for (const auto& [experiment, row] : FittedRows("megatrain", "gh200")) {
      if (experiment != "throughput_gh200") continue;
      CHECK(row.batch.has_value());
      PublishedRow largest = row;
      largest.batch.reset();
      double low = 0.3;
      double high = 1;
      while (high - low > 1e-4) {
        entry.batch_share = (low + high) / 2;
        ASSIGN_OR_RETURN(const std::optional<RowResult> result,
                         SimulateRow(io_, largest, calibration_));
        (result->batch < *row.batch ? low : high) = entry.batch_share;
      }
      entry.batch_share = high;
      entry.fitted_on = {StrCat(experiment, ": ", row.id, ", ", row.system, ", its batch")};
    }
    // Upwards, so that the batch itself still fits.
    entry.batch_share = std::ceil(entry.batch_share * 1e3) / 1e3;
    return absl::OkStatus();
  }

  Io& io_;
  std::vector<Experiment> experiments_;
  Calibration calibration_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Calibration> FitCalibration(Io& io) { return Fitter(io).Fit(); }

}  // namespace horizon
