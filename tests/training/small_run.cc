#include "tests/training/small_run.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "planner/machines/machine_catalog.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

constexpr char kConfig[] = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
  "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 128,
  "max_position_embeddings": 64})";

// Rows of 32 token ids.
std::string Rows(int count) {
  std::string lines;
  for (int row = 0; row < count; ++row) {
    lines += "{\"input_ids\": [";
    for (int i = 0; i < 32; ++i) lines += StrCat(i == 0 ? "" : ",", (row * 7 + i * 3) % 128);
    lines += "]}\n";
  }
  return lines;
}

}  // namespace

SmallRun::SmallRun() : SmallRun(kConfig) {}

SmallRun::SmallRun(std::string_view config)
    : folder_(MakeTestFolder(*io_)),
      log_file_(std::tmpfile()),
      log_(log_file_, LogLevel::kInfo, LogStyle::kPlain) {
  WriteBytes(*io_, Path("config.json"), config);
  WriteBytes(*io_, Path("data.jsonl"), Rows(12));
  absl::StatusOr<LoadedModel> model = LoadModel(*io_, Path("config.json"));
  CHECK(model.ok());
  model_ = *std::move(model);
  TrainingJob& job = settings.job;
  job.model = Path("config.json");
  job.data = Path("data.jsonl");
  job.sequence = 32;
  job.steps = 3;
  settings.initial_weights = RandomWeights{.seed = 1};
  settings.data.cache_folder = Path("tokens");
  settings.plan.cores = 2;
  settings.folder = Path("run");
  settings.options_text = "steps: 3\n";
}

SmallRun::~SmallRun() { std::fclose(log_file_); }

TrainingContext SmallRun::Context(Io& io) {
  return {.io = io, .clock = clock_, .log = log_, .machine = [this] {
            ++machine_requests;
            return LoadMachine(*io_, "cpu-desktop");
          }};
}

std::string SmallRun::LogText() {
  std::rewind(log_file_);
  std::string text;
  for (int c = std::fgetc(log_file_); c != EOF; c = std::fgetc(log_file_)) {
    text += static_cast<char>(c);
  }
  return text;
}

PreparedTraining SmallRun::Prepare() {
  absl::StatusOr<PreparedTraining> prepared = PrepareTraining(Context(), settings, model_);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  CHECK(prepared.ok());
  return *std::move(prepared);
}

BegunTraining SmallRun::Begin() {
  absl::StatusOr<BegunTraining> begun = BeginTraining(Context(), settings, model_, Prepare());
  EXPECT_TRUE(begun.ok()) << begun.status();
  CHECK(begun.ok());
  return *std::move(begun);
}

FinishedTraining SmallRun::Train(const std::function<bool()>& stop_requested) {
  return Train(*io_, stop_requested);
}

FinishedTraining SmallRun::Train(Io& io, const std::function<bool()>& stop_requested) {
  const TrainingContext context = Context(io);
  BegunTraining begun = Begin();
  const absl::StatusOr<TrainedSteps> trained = TrainSteps(context, settings, begun, stop_requested);
  EXPECT_TRUE(trained.ok()) << trained.status();
  CHECK(trained.ok());
  return FinishTraining(context, settings, model_, begun, *trained);
}

}  // namespace horizon
