#include "experiments/claims.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/least_squares.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::string_view kOurs = "megatrain";  // the paper's own system

// "N times as fast as": throughput of the paper's system over another's in the same run.
struct SpeedClaim {
  std::string_view what;
  std::string_view experiment;
  std::string_view id;
  std::string_view other;
  double claimed;
};
// The first is in the paper's abstract, the others are printed beside its throughput charts and its
// depth figure; each agrees with the ratio of the published rows.
constexpr SpeedClaim kSpeedClaims[] = {
    {"speed over ZeRO-3 offload, 14B on A100", "throughput_a100", "qwen2.5-14b", "zero3_offload",
     12.2},
    {"speed over ZeRO-3 offload, 7B on A100", "throughput_a100", "qwen2.5-7b", "zero3_offload",
     3.56},
    {"speed over Gemini, 7B on A100", "throughput_a100", "qwen2.5-7b", "gemini", 2.42},
    {"speed over ZeRO-3 offload, 14B on GH200", "throughput_gh200", "qwen2.5-14b", "zero3_offload",
     1.84},
    {"speed over FSDP offload, 56 layers on GH200", "depth_scaling", "56 layers", "fsdp_offload",
     6.14}};

// A change of throughput from one row of the paper's system to another.
struct ChangeClaim {
  std::string_view what;
  std::string_view experiment;
  std::string_view from;
  std::string_view to;
  double claimed_percent;
};
// Of the ablation table and of the text on the depth figure.
constexpr ChangeClaim kChangeClaims[] = {
    {"throughput without double buffering", "ablation", "full", "no_double_buffering", -31.3},
    {"throughput without the gradient slab pool", "ablation", "full", "no_gradient_slab_pool",
     -3.3},
    {"throughput with checkpoints after every layer", "ablation", "full", "checkpoint_interval_1",
     -9.7},
    {"throughput at 180 layers against 28", "depth_scaling", "28 layers", "180 layers", -20.1}};

const ExperimentRun* FindRun(std::span<const ExperimentRun> runs, std::string_view name) {
  for (const ExperimentRun& run : runs) {
    if (run.experiment.name == name) return &run;
  }
  return nullptr;
}

const ComparedRow* FindRow(std::span<const ExperimentRun> runs, std::string_view experiment,
                           std::string_view id, std::string_view system, Metric metric) {
  const ExperimentRun* run = FindRun(runs, experiment);
  if (run == nullptr) return nullptr;
  for (const ComparedRow& compared : run->rows) {
    const PublishedRow& row = compared.result.row;
    if (row.id == id && row.system == system && row.metric == metric) return &compared;
  }
  return nullptr;
}

// Which rows of a claim were fitted, and whether all of them were: such a claim tests nothing.
struct Fitted {
  bool all = false;
  std::string note;
};

Fitted FittedOf(std::span<const ComparedRow* const> rows) {
  std::vector<std::string> fitted;
  for (const ComparedRow* compared : rows) {
    const PublishedRow& row = compared->result.row;
    if (row.use != RowUse::kFitted) continue;
    fitted.push_back(StrCat(RowTitle(row), ", ", SystemTitle(row.system)));
  }
  if (fitted.empty()) return {};
  if (fitted.size() == rows.size()) {
    return {.all = true, .note = "tests nothing: all its rows were fitted"};
  }
  return {.note = StrCat("partly fitted: ", absl::StrJoin(fitted, "; "))};
}

void AddSpeedClaim(std::span<const ExperimentRun> runs, const SpeedClaim& claim,
                   std::vector<Claim>& claims) {
  const ComparedRow* ours = FindRow(runs, claim.experiment, claim.id, kOurs, Metric::kTflops);
  const ComparedRow* other =
      FindRow(runs, claim.experiment, claim.id, claim.other, Metric::kTflops);
  if (ours == nullptr || other == nullptr || !ours->is_simulated || !other->is_simulated) return;
  const double simulated =
      ours->result.prediction.tokens_per_second / other->result.prediction.tokens_per_second;
  const double error = simulated / claim.claimed - 1;
  Fitted fitted = FittedOf(std::vector{ours, other});
  claims.push_back({.what = std::string(claim.what),
                    .source = StrCat(claim.experiment, ": ", claim.id),
                    .claimed = absl::StrFormat("%gx", claim.claimed),
                    .simulated = absl::StrFormat("%.2fx", simulated),
                    .error = error,
                    .error_text = SignedPercent(error),
                    .agreement = AgreementOf(error),
                    .is_fitted = fitted.all,
                    .note = std::move(fitted.note)});
}

void AddChangeClaim(std::span<const ExperimentRun> runs, const ChangeClaim& claim,
                    std::vector<Claim>& claims) {
  const ComparedRow* from = FindRow(runs, claim.experiment, claim.from, kOurs, Metric::kTflops);
  const ComparedRow* to = FindRow(runs, claim.experiment, claim.to, kOurs, Metric::kTflops);
  if (from == nullptr || to == nullptr) return;
  const double change =
      to->result.prediction.model_tflops / from->result.prediction.model_tflops - 1;
  const double points = change - claim.claimed_percent / 100;
  Fitted fitted = FittedOf(std::vector{from, to});
  if (IsOverOurMemory(*to))
    fitted.note += StrCat(fitted.note.empty() ? "" : "; ",
                          "timed although it does not fit by our memory model");
  claims.push_back({.what = std::string(claim.what),
                    .source = StrCat(claim.experiment, ": ", claim.to, " / ", claim.from),
                    .claimed = SignedPercent(claim.claimed_percent / 100),
                    .simulated = SignedPercent(change),
                    .error = points,
                    .error_text = SignedPoints(points),
                    .agreement = AgreementOfChange(claim.claimed_percent / 100, change),
                    .is_fitted = fitted.all,
                    .note = std::move(fitted.note)});
}

Claim YesNo(std::string what, std::string source, bool simulated) {
  return {.what = std::move(what),
          .source = std::move(source),
          .claimed = "yes",
          .simulated = simulated ? "yes" : "no",
          .agreement = simulated ? Agreement::kHolds : Agreement::kMisses};
}

std::string TitlesOf(const std::vector<std::string>& systems) {
  return absl::StrJoin(systems, ", ", [](std::string* out, const std::string& system) {
    out->append(SystemTitle(system));
  });
}

// "Stable to 5.0x width": the paper's system runs at every width of the series, the others run out
// on the way.
void AddWidthClaims(std::span<const ExperimentRun> runs, std::vector<Claim>& claims) {
  const ExperimentRun* run = FindRun(runs, "width_scaling");
  if (run == nullptr) return;
  bool ours_fit = true;
  std::string last_id;
  std::vector<std::string> failing;  // systems that do not fit somewhere
  std::vector<std::string> others;
  for (const ComparedRow& compared : run->rows) {
    const PublishedRow& row = compared.result.row;
    if (!compared.is_simulated) continue;
    if (row.system == kOurs) {
      ours_fit = ours_fit && compared.result.fits;
      last_id = row.id;
      continue;
    }
    std::vector<std::string>& list = compared.result.fits ? others : failing;
    if (std::find(list.begin(), list.end(), row.system) == list.end()) list.push_back(row.system);
  }
  if (last_id.empty()) return;
  claims.push_back(
      YesNo("trains at every width up to 5.0x", StrCat("width_scaling: to ", last_id), ours_fit));
  const bool all_fail = std::all_of(others.begin(), others.end(), [&](const std::string& system) {
    return std::find(failing.begin(), failing.end(), system) != failing.end();
  });
  claims.push_back(YesNo("the others run out of memory before 5.0x", "width_scaling: other systems",
                         all_fail && !failing.empty()));
  claims.back().note =
      StrCat("run out of memory here: ", failing.empty() ? "none" : TitlesOf(failing));
}

std::string RoomText(bool fits, const Prediction& prediction,
                     const std::vector<Shortage>& shortages, Bytes capacity) {
  if (fits) {
    return StrCat("leaves ", ToString(capacity - prediction.memory.host_bytes()),
                  " of host memory free");
  }
  std::vector<std::string> lacks;
  lacks.reserve(shortages.size());
  for (const Shortage& shortage : shortages) {
    lacks.push_back(StrCat(ToString(shortage.limit), " is short by ",
                           ToString(shortage.needed - shortage.available)));
  }
  return absl::StrJoin(lacks, "; ");
}

// "120B in 1.5 TB".
void AddLargeModelClaims(std::span<const ExperimentRun> runs, std::vector<Claim>& claims) {
  const std::string id = "gpt-oss-120b on h200";
  const ComparedRow* row = FindRow(runs, "host_memory", id, kOurs, Metric::kStatus);
  if (row == nullptr || !row->is_simulated) return;
  const RowResult& result = row->result;
  Claim claim =
      YesNo("120B trains in 1.5 TB, as published", StrCat("host_memory: ", id), result.fits);
  claim.note =
      RoomText(result.fits, result.prediction, result.prediction.shortages, row->host_capacity);
  claims.push_back(std::move(claim));
  for (const HorizonRun& run : row->horizon) {
    claims.push_back(
        {.what =
             StrCat("120B in 1.5 TB with horizon, optimizer state ", ToString(run.state_format)),
         .source = StrCat("host_memory: ", id),
         .claimed = "",
         .simulated = run.fits ? "yes" : "no",
         .note = RoomText(run.fits, run.prediction, run.shortages, row->host_capacity)});
  }
}

// Host memory grows linearly with the model: a line through the depth series.
void AddLinearClaims(std::span<const ExperimentRun> runs, std::vector<Claim>& claims) {
  const ExperimentRun* run = FindRun(runs, "depth_scaling");
  if (run == nullptr) return;
  std::vector<std::pair<double, double>> published;
  std::vector<std::pair<double, double>> simulated;
  for (const ComparedRow& compared : run->rows) {
    const RowResult& result = compared.result;
    if (result.row.system != kOurs || result.row.metric != Metric::kHostGib) continue;
    const auto parameters = static_cast<double>(compared.parameters);
    published.emplace_back(parameters, result.row.published.value_or(0) * kGib);
    simulated.emplace_back(parameters, result.simulated.value_or(0) * kGib);
  }
  const std::optional<LineFit> theirs = FitLine(published);
  const std::optional<LineFit> ours = FitLine(simulated);
  if (!theirs.has_value() || !ours.has_value()) return;
  const std::string source = "depth_scaling: host_gib of all depths";
  const double error = ours->r_squared - 1;
  claims.push_back({.what = "host memory is linear in the parameters (R^2 of a line)",
                    .source = source,
                    .claimed = "1",
                    .simulated = absl::StrFormat("%.6f", ours->r_squared),
                    .error = error,
                    .error_text = SignedPercent(error),
                    .agreement = AgreementOf(error),
                    .note = absl::StrFormat("the published figures have %.6f", theirs->r_squared)});
  const double slope = ours->slope / theirs->slope - 1;
  claims.push_back({.what = "host bytes per parameter, after gradients are freed",
                    .source = source,
                    .claimed = absl::StrFormat("%.2f", theirs->slope),
                    .simulated = absl::StrFormat("%.2f", ours->slope),
                    .error = slope,
                    .error_text = SignedPercent(slope),
                    .agreement = AgreementOf(slope),
                    .note = "claimed: the slope of the published figures"});
}

}  // namespace

std::string VerdictOf(const Claim& claim) {
  if (!claim.agreement.has_value()) return "";
  if (claim.is_fitted) return "fitted";
  std::string_view distance = claim.error_text;
  // "misses by 25.3 %": the sign stands in the column beside it.
  if (distance.starts_with('+') || distance.starts_with('-')) distance.remove_prefix(1);
  return VerdictText(*claim.agreement, distance);
}

ClaimCounts CountClaims(std::span<const Claim> claims) {
  ClaimCounts counts;
  for (const Claim& claim : claims) {
    if (!claim.agreement.has_value()) continue;
    int64_t& count = claim.is_fitted                         ? counts.fitted
                     : *claim.agreement == Agreement::kHolds ? counts.holding
                     : *claim.agreement == Agreement::kClose ? counts.close
                                                             : counts.missing;
    ++count;
  }
  return counts;
}

std::vector<Claim> CheckClaims(std::span<const ExperimentRun> runs) {
  std::vector<Claim> claims;
  for (const SpeedClaim& claim : kSpeedClaims) AddSpeedClaim(runs, claim, claims);
  AddWidthClaims(runs, claims);
  AddLargeModelClaims(runs, claims);
  AddLinearClaims(runs, claims);
  for (const ChangeClaim& claim : kChangeClaims) AddChangeClaim(runs, claim, claims);
  return claims;
}

}  // namespace horizon
