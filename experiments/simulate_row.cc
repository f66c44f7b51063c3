#include "experiments/simulate_row.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "planner/machines/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/planned_job.h"
#include "schedule/build/build_schedule.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
// The published system takes the loss over this many positions of every sequence at a time.
constexpr int64_t kLossPositions = 128;

StreamPlan PlanOf(const PublishedRow& row, Strategy strategy, int64_t batch, int64_t cores) {
  StreamPlan plan = PlanFor(strategy);
  // The frameworks below all of them spread passes over tensors over the cores.
  plan.optimizer_threads = cores;
  if (strategy != Strategy::kReference) plan.host_threads = cores;
  plan.loss_chunk_tokens = row.sequence * batch;  // frameworks make all logits at once
  if (strategy == Strategy::kReference) {
    plan.anchor_interval = row.anchor_interval;
    plan.gradient_slabs = row.gradient_slabs;
    plan.buffer_depth = row.buffer_depth;
    plan.loss_chunk_tokens = std::min(row.sequence, kLossPositions) * batch;
  } else if (strategy != Strategy::kResident) {
    plan.recompute = row.recompute;
  }
  return plan;
}

// Of other streaming systems only what they were run with is known: the plan is the best one found,
// and the state the most exact one that fits.
absl::StatusOr<Prediction> PredictSearched(const ModelSpec& spec, const TrainingJob& job,
                                           const Setting& setting) {
  ASSIGN_OR_RETURN(PlanAnswer answer, MakePlan({.spec = spec,
                                                .job = job,
                                                .fixed = PlanFor(Strategy::kHorizon),
                                                .fixed_fields = {},
                                                .setting = setting,
                                                .propose_state = true,
                                                .effort = SearchEffort::kQuick}));
  if (answer.feasible) return std::move(answer.search.prediction);
  return Predict(spec, answer.job, answer.search.nearest, setting);
}

double ValueOf(Metric metric, const RowResult& result) {
  switch (metric) {
    case Metric::kTflops:
      return result.prediction.model_tflops;
    case Metric::kTokensPerSecond:
      return result.prediction.tokens_per_second;
    case Metric::kStepSeconds:
      return result.prediction.step_seconds;
    case Metric::kHostGib:
      return result.sampled_host_gib;
    case Metric::kStatus:
      break;
  }
  return 0;
}

void Compare(RowResult& result) {
  const PublishedRow& row = result.row;
  if (row.status == RunStatus::kOutOfMemory) {
    result.status_agrees = !result.fits;
    if (row.metric != Metric::kHostGib) return;
  } else if (row.status == RunStatus::kOk) {
    result.status_agrees = result.fits;
  }
  if (row.metric == Metric::kStatus) return;
  result.simulated = ValueOf(row.metric, result);
  if (row.published.has_value()) result.error = *result.simulated / *row.published - 1;
}

}  // namespace

absl::StatusOr<ModelSpec> SpecOf(Io& io, const PublishedRow& row) {
  ASSIGN_OR_RETURN(ModelConfig config, LoadModelSpec(io, row.model));
  ModelSpec spec = std::move(config.spec);
  if (row.layers.has_value()) spec.layers.resize(*row.layers, spec.layers.front());
  if (row.hidden.has_value()) {
    // A wider model has more heads of the same size.
    spec.kv_heads = spec.kv_heads * *row.hidden / spec.hidden;
    spec.hidden = *row.hidden;
    spec.heads = spec.hidden / spec.head_dim;
  }
  if (row.ffn.has_value()) spec.intermediate = *row.ffn;
  spec.max_positions = std::max(spec.max_positions, row.sequence);
  if (row.layers.has_value() || row.hidden.has_value()) spec.name = StrCat(row.model, ", ", row.id);
  return spec;
}

int64_t LargestBatch(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                     const HardwareProfile& profile, const StrategyCalibration& calibration) {
  const double parameters = static_cast<double>(CountParameters(ListStages(spec)).total);
  const double reserve = calibration.batch_reserve_bytes * parameters;
  const double room = calibration.batch_share * (profile.usable_device_bytes() - reserve);
  const auto buffers = [&](int64_t batch) {
    TrainingJob with = job;
    with.micro_batch = batch;
    StreamPlan scaled = plan;
    scaled.loss_chunk_tokens = plan.loss_chunk_tokens * batch;
    const absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, with, scaled);
    const double logits = static_cast<double>(batch * job.sequence * spec.vocab);
    return layout.ok() ? static_cast<double>(layout->totals[static_cast<size_t>(Memory::kDevice)]) +
                             calibration.batch_logit_bytes * logits
                       : std::numeric_limits<double>::infinity();
  };
  // What does not grow with the batch is in the reserve, where there is one.
  const double constant = reserve > 0 ? 2 * buffers(1) - buffers(2) : 0;
  const auto fits = [&](int64_t batch) { return buffers(batch) - constant <= room; };
  int64_t good = 1;
  int64_t bad = 2;
  while (bad < 65536 && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  while (bad - good > 1) {
    const int64_t middle = (good + bad) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

absl::StatusOr<std::optional<RowResult>> SimulateRow(Io& io, const PublishedRow& row,
                                                     const Calibration& calibration) {
  const std::optional<Strategy> strategy = StrategyOf(row.system);
  if (!strategy.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecOf(io, row));
  ASSIGN_OR_RETURN(const HardwareProfile profile, LoadMachine(io, row.machine));
  TrainingJob job = JobFor(profile, *strategy);
  if (*strategy == Strategy::kReference) job = AsPublished(job);
  if (*strategy != Strategy::kHorizon) job.piece_tokens = kAllTokens;
  job.sequence = row.sequence;
  RowResult result{.row = row};
  const StrategyCalibration none;
  const StrategyCalibration* fitted = calibration.Find(*strategy);
  result.batch = row.batch.has_value()
                     ? *row.batch
                     : LargestBatch(spec, job, PlanOf(row, *strategy, 1, profile.host.cores),
                                    profile, fitted == nullptr ? none : *fitted);
  job.micro_batch = result.batch;
  job.accumulation = row.accumulation;
  const Setting setting{.profile = profile, .software = calibration.SoftwareOf(*strategy, profile)};
  ASSIGN_OR_RETURN(
      result.prediction,
      *strategy == Strategy::kHorizon
          ? PredictSearched(spec, job, setting)
          : Predict(spec, job, PlanOf(row, *strategy, result.batch, profile.host.cores), setting));
  result.fits = result.prediction.fits();
  const MemoryEstimate& memory = result.prediction.memory;
  // The paper sampled its own system when gradients were freed; of others it states the demand.
  const Bytes freed =
      *strategy == Strategy::kReference ? memory.BytesOf(BufferKind::kKeptGradient) : 0_B;
  result.sampled_host_gib = static_cast<double>(memory.host_bytes() - freed) / kGib;
  Compare(result);
  return result;
}

}  // namespace horizon
