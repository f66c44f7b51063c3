#include "tests/report/made_run.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "common/text/str_cat.h"
#include "model/catalog.h"
#include "model/load_model_spec.h"
#include "planner/planned_job.h"
#include "tests/model/test_files.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

StepMetrics LineOf(int64_t step) {
  return {.step = step,
          .loss = 4.0 / static_cast<double>(step),
          .gradient_norm = 1.5,
          .learning_rate = 1e-3,
          .tokens = 64,
          .step_time = Seconds{0.25},
          .host_bytes = 100_MiB,
          .device_bytes = 20_MiB,
          .predicted_step_time = Seconds{0.2}};
}

}  // namespace

RunView MadeView(const std::string& model) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const ModelConfig config = *LoadModelSpec(*io, model);
  const HardwareProfile machine = TestProfile();
  TrainingJob job = JobFor(machine, Strategy::kHorizon);
  job.model = model;
  job.steps = 3;
  job.sequence = 64;
  StreamPlan plan = PlanFor(Strategy::kHorizon);
  NameModel(config.spec, plan);
  RunView view =
      *ViewOfPlan("plan.json", config.spec, job, plan, machine, {.process_bytes = 1000_B});
  StepTimelines& timelines = *view.timelines;
  timelines.step = 3;
  timelines.measured = timelines.predicted;
  for (int64_t& time : timelines.measured.start_ns) time *= 2;
  for (int64_t& time : timelines.measured.end_ns) time *= 2;
  for (size_t i = 0; i < timelines.predicted.start_ns.size(); ++i) {
    timelines.mean_ns.push_back(timelines.measured.end_ns[i] - timelines.measured.start_ns[i]);
  }
  return view;
}

std::string MadeOutcome(int64_t steps, bool interrupted) {
  const std::string figure = R"({"predicted": 0.2, "measured": 0.25, "error": 0.25})";
  return StrCat(R"({"steps": )", steps, R"(, "skipped": 1, "interrupted": )",
                interrupted ? "true" : "false", R"(, "first_loss": 4.0, "last_loss": null, )",
                R"("step_seconds": )", figure, R"(, "tokens_per_second": )", figure,
                R"(, "host_bytes": )", figure, R"(, "device_bytes": )", figure,
                R"(, "lanes": [{"lane": "compute", "operations": 7, "predicted": 1, )",
                R"("measured": 2, "error": 1}], "kinds": [{"kind": "forward", "lane": "compute", )",
                R"("operations": 3, "predicted": 0, "measured": 2, "error": null}], )",
                R"("missed_most": [{"operation": "forward x", "lane": "compute", )",
                R"("predicted": 1, "measured": 2, "error": 1}], "strategy": "horizon"})");
}

RoutingLine MadeRouting(int64_t first_step, int64_t step) {
  RoutingLine line{.step = step, .first_step = first_step, .experts = 128, .experts_per_token = 8};
  line.tokens = 4096 * (step - first_step + 1);
  const int64_t even = line.tokens / 16;
  for (int64_t layer = 0; layer < 48; ++layer) {
    line.layers.push_back(layer);
    std::vector<int64_t> counts(128, even);
    // What one expert has more, its neighbour has less.
    for (int64_t expert = 0; expert < 128; expert += 2) {
      const int64_t more = even * ((expert * 37 + layer * 11) % 64) / 80;
      counts[static_cast<size_t>(expert)] += more;
      counts[static_cast<size_t>(expert) + 1] -= more;
    }
    if (layer == 3) {
      for (int64_t& count : counts) count -= even / 16;
      counts[7] += 128 * (even / 16);
    }
    if (layer == 5) counts[8] += std::exchange(counts[9], 0);
    line.counts.insert(line.counts.end(), counts.begin(), counts.end());
  }
  return line;
}

std::string MadeRun(Io& io, int64_t steps, const std::string& model) {
  std::string folder = MakeTestFolder(io) + "/run";
  const RunView view = MadeView(model);
  const auto write = [&](std::string_view name, const std::string& text) {
    EXPECT_TRUE(WriteTextFile(io, JoinPath(folder, name), text).ok()) << name;
  };
  EXPECT_TRUE(io.MakeDirectory(folder).ok());
  EXPECT_TRUE(io.MakeDirectory(folder + "/base").ok());
  write("base/config.json", std::string(FindInCatalog(model)->config));
  write("job.json", WriteJob(view.job));
  write("plan.json", WritePlan(view.plan));
  write("machine.json", WriteProfile(view.machine));
  write("prediction.json", WriteRunPrediction(view.prediction));
  write("timelines.json", WriteTimelines(*view.timelines));
  std::string lines;
  const bool has_experts = model == kExpertsModel;
  for (int64_t step = 1; step <= steps; ++step) {
    StepMetrics line = LineOf(step);
    if (has_experts) {
      line.routing = {.aux_loss = 8 + 1.0 / static_cast<double>(step), .busiest = 0.5, .idlest = 0};
    }
    lines += MetricsLine(line) + "\n";
  }
  write("metrics.jsonl", lines);
  if (has_experts) {
    write("routing.jsonl", RoutingText(MadeRouting(1, steps - 1)) + "\n" +
                               RoutingText(MadeRouting(steps, steps)) + "\n");
  }
  write("eval.jsonl", "{\"step\": 2, \"loss\": 2.5, \"perplexity\": 12.2, \"tokens\": 40}\n");
  write("run.json", MadeOutcome(steps));
  return folder;
}

}  // namespace horizon
