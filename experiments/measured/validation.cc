#include "experiments/measured/validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "model/catalog.h"
#include "model/read_config.h"

namespace horizon {
namespace {

constexpr double kMostBelowShare = 0.03;
constexpr Bytes kMostBelowBytes = 64_MiB;

TrainingJob JobOf(int64_t sequence, int64_t micro_batch, int64_t accumulation = 1) {
  TrainingJob job;
  job.sequence = sequence;
  job.micro_batch = micro_batch;
  job.accumulation = accumulation;
  return job;
}

StreamPlan PlanOf(int64_t threads, int64_t depth, int64_t interval, bool recompute) {
  StreamPlan plan;
  plan.compute_threads = threads;
  plan.buffer_depth = depth;
  plan.anchor_interval = interval;
  plan.recompute = recompute;
  return plan;
}

// The shape of a model of the catalog.
ModelSpec SpecOf(std::string_view name) {
  const CatalogEntry* entry = FindCatalogName(name);
  CHECK(entry != nullptr);
  const absl::StatusOr<Document> document = ParseJson(std::string(name), entry->config);
  CHECK(document.ok());
  absl::StatusOr<ModelConfig> config = ReadConfig(*document, std::string(name));
  CHECK(config.ok());
  return std::move(config->spec);
}

std::string MemoryMiss(const MeasuredRun& run) {
  if (run.device_peak_bytes != run.arena_bytes) {
    return StrCat("the arena has ", run.arena_bytes.value(), " bytes, ",
                  run.device_peak_bytes.value(), " were used");
  }
  if (run.host_peak_bytes > run.predicted_host_bytes) {
    return StrCat("host memory reached ", ToString(run.host_peak_bytes), ", above the predicted ",
                  ToString(run.predicted_host_bytes));
  }
  const Bytes below = run.predicted_host_bytes - run.host_peak_bytes;
  const Bytes share(
      static_cast<uint64_t>(kMostBelowShare * static_cast<double>(run.predicted_host_bytes)));
  if (below <= share + kMostBelowBytes) return "";
  return StrCat("host memory stayed ", ToString(below), " below the prediction");
}

}  // namespace

std::vector<MeasuredCase> ValidationCases(ValidationSize size, int64_t threads) {
  std::vector<MeasuredCase> cases;
  const auto add = [&](std::string name, const ModelShape& shape, const TrainingJob& job,
                       const StreamPlan& plan, std::optional<BytesPerSecond> link = {}) {
    cases.push_back(
        {.name = std::move(name), .spec = ModelOf(shape), .job = job, .plan = plan, .link = link});
  };
  const ModelShape small{.layers = 6, .hidden = 256, .intermediate = 688, .vocab = 4096};
  const ModelShape wide{.layers = 3, .hidden = 768, .intermediate = 2048, .vocab = 4096};
  const ModelShape deep{.layers = 24, .hidden = 192, .intermediate = 512, .vocab = 2048};
  const auto slow = BytesPerSecond{0.2e9};
  add("small", small, JobOf(256, 4), PlanOf(threads, 2, 2, true));
  add("wide", wide, JobOf(256, 2), PlanOf(threads, 2, 1, true));
  add("deep", deep, JobOf(256, 2), PlanOf(threads, 2, 4, true));
  add("wide, slow link", wide, JobOf(256, 1), PlanOf(threads, 2, 1, true), slow);
  if (size == ValidationSize::kQuick) return cases;
  add("small, activations kept", small, JobOf(256, 4), PlanOf(threads, 2, 2, false));
  add("small, one slot", small, JobOf(256, 4), PlanOf(threads, 1, 2, true));
  add("small, long sequence", small, JobOf(1024, 1), PlanOf(threads, 2, 2, true));
  add("small, four micro-batches", small, JobOf(256, 1, 4), PlanOf(threads, 2, 2, true));
  add("wide, four slots", wide, JobOf(256, 2), PlanOf(threads, 4, 3, true));
  add("wide, activations kept", wide, JobOf(256, 2), PlanOf(threads, 2, 1, false));
  add("wide, long sequence", wide, JobOf(768, 1), PlanOf(threads, 2, 3, true));
  add("deep, K 1", deep, JobOf(256, 2), PlanOf(threads, 2, 1, true));
  add("deep, slow link", deep, JobOf(128, 1), PlanOf(threads, 3, 4, true), slow);
  StreamPlan anchors = PlanOf(threads, 2, 2, true);
  anchors.anchor_home = AnchorHome::kHost;
  add("deep, checkpoints on the host", deep, JobOf(256, 2), anchors);
  TrainingJob last_layer = JobOf(256, 2);
  last_layer.train = {"model.layers.2.*"};
  add("wide, last layer trained", wide, last_layer, PlanOf(threads, 2, 1, true));
  TrainingJob norms = JobOf(256, 2);
  norms.train = {"*norm*"};
  add("deep, norms trained", deep, norms, PlanOf(threads, 2, 4, true));
  TrainingJob small_moments = JobOf(256, 4);
  small_moments.state_format = StateFormat::k8BitMoments;
  add("small, 8-bit moments", small, small_moments, PlanOf(threads, 2, 2, true));
  const auto add_experts = [&](std::string name, const ExpertsSpec& experts, const TrainingJob& job,
                               const StreamPlan& plan) {
    ModelSpec spec = ModelOf({.layers = 4, .hidden = 256, .intermediate = 512, .vocab = 4096});
    spec.family = experts.fused_tensors ? "gpt_oss" : "qwen3_moe";
    spec.expert_bias = experts.fused_tensors;
    spec.swiglu_limit = experts.fused_tensors ? 7.0 : 0.0;
    spec.experts = experts;
    for (LayerSpec& layer : spec.layers) layer.has_experts = true;
    cases.push_back({.name = std::move(name), .spec = std::move(spec), .job = job, .plan = plan});
  };
  const ExpertsSpec large{.experts = 8, .experts_per_token = 2, .intermediate = 512};
  const ExpertsSpec many{.experts = 32, .experts_per_token = 4, .intermediate = 128};
  ExpertsSpec fused{.experts = 8, .experts_per_token = 4, .intermediate = 256};
  fused.fused_tensors = true;
  fused.normalise_top_k = true;
  add_experts("8 large experts", large, JobOf(256, 4), PlanOf(threads, 2, 2, true));
  add_experts("32 small experts", many, JobOf(256, 4), PlanOf(threads, 2, 2, true));
  add_experts("8 experts in one tensor", fused, JobOf(256, 2), PlanOf(threads, 2, 2, true));
  StreamPlan some_experts = PlanOf(threads, 3, 1, true);
  some_experts.chunk_bytes = 2_MiB;
  add_experts("32 small experts, in shards", many, JobOf(256, 4), some_experts);
  const auto add_published = [&](std::string_view name, const std::string& what,
                                 const StreamPlan& plan) {
    cases.push_back({.name = StrCat(std::string(name), ", ", what),
                     .spec = SpecOf(name),
                     .job = JobOf(512, 1),
                     .plan = plan,
                     .burst_steps = 2});
  };
  StreamPlan quarter = PlanOf(threads, 2, 5, true);
  quarter.chunk_bytes = 16_MiB;
  add_published("smollm2-135m", "256 MiB", quarter);
  StreamPlan one = PlanOf(threads, 2, 4, true);
  one.chunk_bytes = 64_MiB;
  add_published("qwen2.5-0.5b", "1 GiB", one);
  return cases;
}

absl::StatusOr<Validation> Validate(const std::vector<MeasuredCase>& cases,
                                    const MeasuredOptions& options,
                                    const std::function<void(const std::string&)>& on_case) {
  Validation validation;
  for (const MeasuredCase& wanted : cases) {
    if (on_case) on_case(wanted.name);
    absl::StatusOr<MeasuredRun> run = RunMeasured(wanted, options);
    if (absl::IsResourceExhausted(run.status())) {
      validation.left_out.push_back(StrCat(wanted.name, ": ", std::string(run.status().message())));
      continue;
    }
    if (!run.ok()) {
      return absl::Status(run.status().code(),
                          StrCat(wanted.name, ": ", std::string(run.status().message())));
    }
    validation.rows.push_back({.name = wanted.name, .run = *std::move(run)});
  }
  return validation;
}

StepErrors Validation::errors(double (MeasuredRun::*of)() const) const {
  std::vector<double> errors;
  for (const ValidationRow& row : rows) errors.push_back(std::abs((row.run.*of)()));
  if (errors.empty()) return {};
  return {.median = Median(errors), .worst = *std::max_element(errors.begin(), errors.end())};
}

std::vector<std::string> Validation::memory_misses() const {
  std::vector<std::string> misses;
  for (const ValidationRow& row : rows) {
    const std::string miss = MemoryMiss(row.run);
    if (!miss.empty()) misses.push_back(StrCat(row.name, ": ", miss));
  }
  return misses;
}

Validation::Order Validation::order(double apart) const {
  Order order;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      const double a = rows[i].run.predicted_seconds();
      const double b = rows[j].run.predicted_seconds();
      if (std::max(a, b) / std::min(a, b) - 1 <= apart) continue;
      ++order.pairs;
      const bool same = (a < b) == (rows[i].run.step_seconds() < rows[j].run.step_seconds());
      if (!same) ++order.wrong;
    }
  }
  return order;
}

std::string Validation::Text() const {
  std::vector<std::string> titles = {"run",   "predicted", "measured", "error",      "at its speed",
                                     "drift", "host",      "peak",     "missed most"};
  if (!other.empty()) titles.insert(titles.begin() + 5, "the other's error");
  TextTable table(titles);
  for (const ValidationRow& row : rows) {
    const MeasuredRun& run = row.run;
    std::string missed = "-";
    if (!run.operations.kinds.empty()) {
      const KindComparison& kind = run.operations.kinds.front();
      missed = StrCat(std::string(ToString(kind.kind)), " ",
                      ShortPercentChange(kind.seconds.difference() / run.step_seconds()));
    }
    std::vector<std::string> cells = {row.name,
                                      StrCat(ShortNumber(run.predicted_seconds()), " s"),
                                      StrCat(ShortNumber(run.step_seconds()), " s"),
                                      ShortPercentChange(run.step_error()),
                                      ShortPercentChange(run.error_during()),
                                      ShortPercentChange(run.drift()),
                                      ToString(run.predicted_host_bytes),
                                      ToString(run.host_peak_bytes),
                                      missed};
    if (!other.empty()) cells.insert(cells.begin() + 5, ShortPercentChange(run.other_error()));
    table.AddRow(std::move(cells));
  }
  const Order pairs = order(0.15);
  const auto off = [&](double (MeasuredRun::*of)() const) {
    const StepErrors found = errors(of);
    return StrCat("off by ", ShortNumber(100 * found.median), " % (median), ",
                  ShortNumber(100 * found.worst), " % (worst)");
  };
  std::string text = StrCat(
      std::move(table).Finish(), "\nstep: ", off(&MeasuredRun::step_error), "; of ", pairs.pairs,
      " pairs predicted more than 15 % apart ", pairs.wrong, " were measured the other way round\n",
      "at the speed the machine had during the steps: ", off(&MeasuredRun::error_during), "\n");
  if (!other.empty()) text += StrCat(other, ": ", off(&MeasuredRun::other_error), "\n");
  text +=
      "missed most: the kind of operation whose time was furthest from the prediction, as a share "
      "of the step\n";
  const std::vector<std::string> misses = memory_misses();
  text +=
      misses.empty() ? "memory: every peak at or below the prediction, every arena exact\n" : "";
  for (const std::string& miss : misses) text += StrCat("memory: ", miss, "\n");
  for (const std::string& reason : left_out) text += StrCat("left out: ", reason, "\n");
  return text;
}

std::string Validation::Json() const {
  JsonWriter json;
  json.BeginObject();
  const auto write = [&](const std::string& prefix, double (MeasuredRun::*of)() const) {
    const StepErrors found = errors(of);
    json.Key(prefix + "median_error").Number(found.median);
    json.Key(prefix + "worst_error").Number(found.worst);
  };
  write("", &MeasuredRun::step_error);
  write("during_", &MeasuredRun::error_during);
  if (!other.empty()) {
    json.Key("other").String(other);
    write("other_", &MeasuredRun::other_error);
  }
  const Order pairs = order(0.15);
  json.Key("pairs").Integer(pairs.pairs).Key("pairs_in_the_wrong_order").Integer(pairs.wrong);
  json.Key("memory_misses").BeginArray();
  for (const std::string& miss : memory_misses()) json.String(miss);
  json.EndArray().Key("left_out").BeginArray();
  for (const std::string& reason : left_out) json.String(reason);
  json.EndArray().Key("runs").BeginArray();
  for (const ValidationRow& row : rows) {
    const MeasuredRun& run = row.run;
    json.BeginObject().Key("name").String(row.name);
    json.Key("predicted_step_seconds").Number(run.predicted_seconds());
    json.Key("step_seconds").Number(run.step_seconds()).Key("error").Number(run.step_error());
    json.Key("error_during").Number(run.error_during()).Key("drift").Number(run.drift());
    if (!other.empty()) json.Key("other_error").Number(run.other_error());
    json.Key("bursts").BeginArray();
    for (const MeasuredBurst& burst : run.bursts) {
      json.BeginObject().Key("predicted").Number(burst.predicted);
      json.Key("predicted_during").Number(burst.predicted_during);
      if (!other.empty()) json.Key("predicted_by_other").Number(burst.predicted_by_other);
      json.Key("measured").Number(burst.measured);
      json.Key("speed_before").Number(burst.before.gemm);
      json.Key("memory_speed_before").Number(burst.before.memory);
      json.Key("speed_after").Number(burst.after.gemm);
      json.Key("memory_speed_after").Number(burst.after.memory).EndObject();
    }
    json.EndArray();
    json.Key("predicted_host_bytes").Unsigned(run.predicted_host_bytes);
    json.Key("host_peak_bytes").Unsigned(run.host_peak_bytes);
    json.Key("arena_bytes").Unsigned(run.arena_bytes);
    json.Key("device_peak_bytes").Unsigned(run.device_peak_bytes);
    json.Key("kinds").BeginArray();
    for (const KindComparison& kind : run.operations.kinds) {
      json.BeginObject().Key("kind").String(ToString(kind.kind));
      json.Key("lane").String(ToString(kind.lane)).Key("operations").Integer(kind.operations);
      json.Key("predicted").Number(kind.seconds.predicted);
      json.Key("measured").Number(kind.seconds.measured).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
