#include "experiments/fit.h"

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/least_squares.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/experiment.h"
#include "experiments/simulate_row.h"

namespace horizon {
namespace {

// What the paper's own process and a Python framework cost on the host, besides buffers: the
// constant of the memory formula that the depth series follows.
constexpr Bytes kFrameworkBytes = 5_GiB;
// Baselines keep weights and gradients in bf16 on the device while they run.
constexpr double kBaselineReserve = 4;
// Their logits exist in bf16 and fp32, and their gradient in fp32; the layout counts 4 bytes.
constexpr double kBaselineLogits = 6;
// DeepSpeed's CPUAdam against PyTorch's Adam on the same processor, 8e9 parameters: 0.769 s and
// 1.834 s (published with another system, not with this paper; not fitted here).
constexpr double kDeepSpeedAdam = 1.834 / 0.769;

// How far published figures of one and the same run are apart: 284 and 284.7 of the 7B model, 264
// and 266.3 of the 14B model, 281 of the 7B model by its step time.
constexpr double kPublicationNoise = 0.02;
// How far from the catalog's rates, in logarithms, a speed may be expected. It matters only where
// the rows say nothing of a speed.
constexpr double kExpected = 1.0;

// The machines of the published system. Those of one line stand in one computer.
const std::vector<std::vector<std::string>> kComputers = {
    {"gh200"}, {"a100-pcie"}, {"rtx3090", "a6000"}};

// Four digits say all that such a fit knows.
double Shortened(double number) {
  if (!(number > 0)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
  return std::round(number / unit) * unit;
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
        entry.software.adam_speed = Shortened(entry.software.adam_speed);
      }
    }
    for (const std::vector<std::string>& computer : kComputers) {
      RETURN_IF_ERROR(FitComputer(computer));
    }
    for (StrategyCalibration& entry : calibration_.strategies) {
      if (entry.strategy != Strategy::kReference) RETURN_IF_ERROR(FitLinkShare(entry));
    }
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

  // Log ratios of simulated to published figures, in units of the publication noise.
  absl::Status ResidualsOf(const Rows& rows, std::span<double> residuals) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSIGN_OR_RETURN(const std::optional<RowResult> result,
                       SimulateRow(io_, rows[i].second, calibration_));
      CHECK(result.has_value() && result->error.has_value());
      residuals[i] = std::log1p(*result->error) / kPublicationNoise;
    }
    return absl::OkStatus();
  }

  // The GEMM speed of each of its machines and, where there are more rows than machines, one speed
  // of packing and one of Adam, all at once.
  absl::Status FitComputer(const std::vector<std::string>& names) {
    Rows rows;
    const size_t first = calibration_.machines.size();
    for (const std::string& name : names) {
      MachineCalibration& entry = calibration_.machines.emplace_back();
      entry.machine = name;
      const Rows own = FittedRows("megatrain", name);
      rows.insert(rows.end(), own.begin(), own.end());
      entry.fitted_on = NamesOf(own);
      if (names.size() > 1) {
        entry.fitted_on.emplace_back("packing and Adam: with the other machines of this computer");
      }
    }
    const bool fits_host = rows.size() > names.size();
    const auto set = [&](std::span<const double> logs, const std::vector<double>& deviations) {
      const auto speed = [&](size_t i) {
        return FittedSpeed{.value = std::exp(logs[i]), .deviation = deviations[i]};
      };
      for (size_t m = 0; m < names.size(); ++m) {
        MachineCalibration& entry = calibration_.machines[first + m];
        entry.gemm = speed(m);
        if (!fits_host) continue;
        entry.pack = speed(names.size());
        entry.adam = speed(names.size() + 1);
      }
    };
    const size_t count = names.size() + (fits_host ? 2 : 0);
    const std::vector<double> unknown(count, 0);
    const auto residuals = [&](std::span<const double> logs, std::span<double> out) {
      set(logs, unknown);
      for (size_t i = 0; i < count; ++i) out[rows.size() + i] = logs[i] / kExpected;
      return ResidualsOf(rows, out.first(rows.size()));
    };
    ASSIGN_OR_RETURN(const LeastSquaresFit fit,
                     FitLeastSquares(residuals, rows.size() + count, unknown,
                                     {.known_spread = 1, .step = 1e-3}));
    std::vector<double> logs;
    std::vector<double> deviations;
    for (size_t i = 0; i < count; ++i) {
      logs.push_back(std::log(Shortened(std::exp(fit.values[i]))));
      deviations.push_back(std::round(fit.Deviation(i) * 1e3) / 1e3);
    }
    set(logs, deviations);
    for (size_t m = 0; m < names.size(); ++m) Shorten(calibration_.machines[first + m]);
    return absl::OkStatus();
  }

  static void Shorten(MachineCalibration& entry) {
    for (std::optional<FittedSpeed>* speed : {&entry.gemm, &entry.pack, &entry.adam}) {
      if (speed->has_value()) (*speed)->value = Shortened((*speed)->value);
    }
  }

  absl::Status FitLinkShare(StrategyCalibration& entry) {
    const Rows rows = FittedRows(std::string(ToString(entry.strategy)), "");
    entry.fitted_on = NamesOf(rows);
    const auto residuals = [&](std::span<const double> logs, std::span<double> out) {
      entry.software.link_share = std::exp(logs[0]);
      return ResidualsOf(rows, out);
    };
    ASSIGN_OR_RETURN(const LeastSquaresFit fit,
                     FitLeastSquares(residuals, rows.size(), {std::log(0.2)},
                                     {.known_spread = 1, .step = 1e-3}));
    entry.software.link_share = Shortened(std::exp(fit.values[0]));
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
};

}  // namespace

absl::StatusOr<Calibration> FitCalibration(Io& io) { return Fitter(io).Fit(); }

}  // namespace horizon
