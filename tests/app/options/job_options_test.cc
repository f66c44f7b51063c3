#include "app/options/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/options/command_line.h"
#include "app/options/config_file.h"
#include "app/options/explain_options.h"
#include "tests/model/test_files.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ModelSpec Spec() {
  ModelSpec spec;
  spec.hidden = 128;
  spec.intermediate = 256;
  spec.heads = spec.kv_heads = 2;
  spec.head_dim = 64;
  spec.vocab = 512;
  spec.max_positions = 600;
  spec.layers.resize(2);
  return spec;
}

absl::StatusOr<TrainingJob> TrainJob(const std::vector<std::string>& words) {
  TrainJobOptions options;
  OptionList list;
  options.AddTo(list);
  const absl::Status read = ParseArguments(list, words);
  if (!read.ok()) return read;
  return options.ToJob(Spec(), DeviceKind::kHost);
}

const Option& Find(const OptionList& list, const std::string& name) {
  const auto found = std::find_if(list.options.begin(), list.options.end(),
                                  [&](const Option& one) { return one.name == name; });
  EXPECT_NE(found, list.options.end()) << name;
  return *found;
}

TEST(TrainJobOptions, WithoutAnyTheJobIsTheDefaultOne) {
  TrainingJob wanted;
  wanted.steps = 100;
  wanted.sequence = 600;  // the model's limit
  const absl::StatusOr<TrainingJob> job = TrainJob({});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(*job, wanted);
}

TEST(TrainJobOptions, EveryOptionSetsItsField) {
  TrainingJob wanted;
  wanted.steps = 7;
  wanted.sequence = 32;
  wanted.micro_batch = 2;
  wanted.accumulation = 3;
  wanted.learning_rate = 0.5;
  wanted.learning_rate_schedule = LearningRateSchedule::kCosine;
  wanted.warmup_steps = 4;
  wanted.beta1 = 0.5;
  wanted.beta2 = 0.75;
  wanted.epsilon = 0.25;
  wanted.weight_decay = 0.125;
  wanted.decay_all = true;
  wanted.clip_norm = 2;
  wanted.router_aux_loss = 0.25;
  wanted.state_format = StateFormat::k8BitMoments;
  wanted.optimizer_place = OptimizerPlace::kAfterStep;
  wanted.seed = 9;
  wanted.compute_type = NumberType::kFp32;
  wanted.gradient_type = NumberType::kFp32;
  wanted.train = {"model.layers.*", "model.norm.weight"};
  wanted.freeze = {"*norm*"};
  const std::vector<std::string> words = {"--steps=7",
                                          "--sequence=32",
                                          "--micro-batch=2",
                                          "--accumulate=3",
                                          "--learning-rate=0.5",
                                          "--lr-schedule=cosine",
                                          "--warmup=4",
                                          "--beta1=0.5",
                                          "--beta2=0.75",
                                          "--epsilon=0.25",
                                          "--weight-decay=0.125",
                                          "--decay-all",
                                          "--clip-norm=2",
                                          "--router-aux-loss=0.25",
                                          "--state=8bit-moments",
                                          "--optimizer-place=after_step",
                                          "--seed=9",
                                          "--compute=fp32",
                                          "--gradients=fp32",
                                          "--freeze=*norm*",
                                          "--train=model.layers.*",
                                          "--train=model.norm.weight"};
  const absl::StatusOr<TrainingJob> job = TrainJob(words);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(*job, wanted);
  // None but --epochs is left out above; one was given twice.
  TrainJobOptions all;
  OptionList list;
  all.AddTo(list);
  EXPECT_EQ(words.size(), list.options.size());
}

TEST(TrainJobOptions, ARunIsAsLongAsItsStepsOrAsItsEpochs) {
  absl::StatusOr<TrainingJob> job = TrainJob({});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->steps, 100);
  EXPECT_EQ(job->epochs, 0);
  // How many steps that is depends on the data, so no warm-up is too long yet.
  job = TrainJob({"--epochs=3", "--warmup=5000"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->epochs, 3);
  EXPECT_THAT(std::string(TrainJob({"--epochs=3", "--steps=7"}).status().message()),
              AllOf(HasSubstr("--steps 7"), HasSubstr("--epochs 3"), HasSubstr("one of them")));
  EXPECT_FALSE(TrainJob({"--epochs=0"}).ok());
  EXPECT_FALSE(TrainJob({"--epochs=1.5"}).ok());
}

TEST(TrainJobOptions, TheFormerNameOfTheLearningRateScheduleIsStillRead) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--schedule=cosine"}, {"--schedule", "cosine"}, {"--lr-schedule", "cosine"}}) {
    const absl::StatusOr<TrainingJob> job = TrainJob(words);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->learning_rate_schedule, LearningRateSchedule::kCosine);
  }
  EXPECT_EQ(TrainJob({"--schedule=cosine", "--lr-schedule=linear"}).status(),
            absl::InvalidArgumentError("--lr-schedule is given more than once"));
  EXPECT_THAT(TrainJob({"--schedule=cosin"}).status().message(),
              HasSubstr("--lr-schedule: 'cosin' is none of"));
}

TEST(TrainJobOptions, OnlyTheNameOfTheLearningRateScheduleIsShown) {
  TrainJobOptions options;
  OptionList list;
  options.AddTo(list);
  EXPECT_THAT(ExplainOptions(list, 80),
              AllOf(HasSubstr("--lr-schedule KIND"), Not(HasSubstr("--schedule"))));
  EXPECT_THAT(TrainJob({"--scheduled=cosine"}).status().message(),
              AllOf(HasSubstr("unknown option '--scheduled"), Not(HasSubstr("'--schedule'"))));
}

TEST(TrainJobOptions, AFileWithTheFormerNameOfTheLearningRateScheduleIsStillRead) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = JoinPath(MakeTestFolder(*io), "train.yaml");
  const auto read = [&](const std::string& text) -> absl::StatusOr<TrainingJob> {
    WriteBytes(*io, path, text);
    TrainJobOptions options;
    OptionList list;
    options.AddTo(list);
    const absl::Status status = ReadConfigFile(*io, path, list.options);
    if (!status.ok()) return status;
    // What is written again has the new name.
    EXPECT_THAT(ConfigFileText(list.options), HasSubstr("\nlr-schedule: \"cosine\"\n"));
    EXPECT_THAT(ConfigFileText(list.options), Not(HasSubstr("\nschedule:")));
    return options.ToJob(Spec(), DeviceKind::kHost);
  };
  for (const std::string key : {"schedule", "lr-schedule", "lr_schedule"}) {
    SCOPED_TRACE(key);
    const absl::StatusOr<TrainingJob> job = read("steps: 3\n" + key + ": cosine\nwarmup: 1\n");
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->learning_rate_schedule, LearningRateSchedule::kCosine);
    EXPECT_EQ(job->warmup_steps, 1);
  }
  for (const std::string key : {"lr-schedule", "lr_schedule"}) {
    for (const std::string& both :
         {"schedule: cosine\n" + key + ": linear\n", key + ": linear\nschedule: cosine\n"}) {
      EXPECT_THAT(read(both).status().message(),
                  HasSubstr("\"" + key + "\" is given twice, once with another spelling"));
    }
  }
  EXPECT_THAT(read("schedule: cosin\n").status().message(),
              HasSubstr("train.yaml:1: lr-schedule: 'cosin' is none of"));
  EXPECT_THAT(read("schedule: cosine\nscheduled: linear\n").status().message(),
              AllOf(HasSubstr("unknown key \"scheduled\""), Not(HasSubstr("'schedule'"))));
}

TEST(TrainJobOptions, GradientsAreAsComputeWhereNothingIsSaid) {
  EXPECT_EQ(TrainJob({"--compute=fp32"})->gradient_type, NumberType::kFp32);
  EXPECT_EQ(TrainJob({"--compute=bf16"})->gradient_type, NumberType::kBf16);
}

TEST(TrainJobOptions, ValuesThatWereSetInCodeHoldWithAndWithoutDeclaring) {
  TrainJobOptions options;
  options.values.learning_rate_schedule = LearningRateSchedule::kCosine;
  EXPECT_EQ(options.ToJob(Spec(), DeviceKind::kHost)->learning_rate_schedule,
            LearningRateSchedule::kCosine);
  OptionList list;
  options.AddTo(list);
  EXPECT_THAT(ConfigFileText(list.options), HasSubstr("\nlr-schedule: \"cosine\"\n"));
  EXPECT_EQ(options.ToJob(Spec(), DeviceKind::kHost)->learning_rate_schedule,
            LearningRateSchedule::kCosine);
}

TEST(TrainJobOptions, WordsThatWereReadAreInACopysConfigFile) {
  TrainJobOptions options;
  OptionList list;
  options.AddTo(list);
  const std::vector<std::string> words = {"--state=bf16-moments", "--steps=5"};
  ASSERT_TRUE(ParseArguments(list, words).ok());
  TrainJobOptions copy = options;
  OptionList copied;
  copy.AddTo(copied);
  const std::string text = ConfigFileText(copied.options);
  EXPECT_THAT(text, HasSubstr("state: \"bf16-moments\"\n"));
  EXPECT_THAT(text, HasSubstr("steps: 5\n"));
}

TEST(TrainJobOptions, WhatContradictsIsRefused) {
  EXPECT_EQ(TrainJob({"--optimizer-place=in_backward"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TrainJob({"--sequence=601"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(TrainJob({"--state=fp16"}).status().message()),
              HasSubstr("is none of fp32"));
}

// What a job takes is written once, where its fields are declared.
TEST(TrainJobOptions, ARangeErrorNamesTheRangeOfTheField) {
  const auto error = [](const std::string& word) {
    return std::string(TrainJob({word}).status().message());
  };
  EXPECT_EQ(error("--learning-rate=1e30"),
            "--learning-rate: '1e30' is not a number from 0 to 1000");
  EXPECT_EQ(error("--learning-rate=-1"), "--learning-rate: '-1' is not a number from 0 to 1000");
  EXPECT_EQ(error("--beta1=1"), "--beta1: '1' is not a number from 0 to 0.999999999");
  EXPECT_EQ(error("--epsilon=2"), "--epsilon: '2' is not a number from 0 to 1");
  EXPECT_EQ(error("--clip-norm=1e31"), "--clip-norm: '1e31' is not a number from 0 to 1e+30");
  EXPECT_EQ(error("--accumulate=65537"),
            "--accumulate: '65537' is not a whole number of micro-batches from 1 to 65536");
  EXPECT_EQ(error("--seed=-1"), "--seed: '-1' is not a whole number from 0 to 9e+18");
  // Every number has both bounds, and what they let through the job takes.
  TrainJobOptions options;
  OptionList list;
  options.AddTo(list);
  for (const Option& option : list.options) {
    const bool number = std::holds_alternative<double*>(option.value) ||
                        std::holds_alternative<int64_t*>(option.value) ||
                        std::holds_alternative<std::optional<int64_t>*>(option.value);
    EXPECT_EQ(std::isfinite(option.minimum) && std::isfinite(option.maximum), number)
        << option.name;
  }
}

TEST(TrainJobOptions, ErrorsUseTheWordsOfTheCommandLine) {
  EXPECT_EQ(std::string(TrainJob({"--optimizer-place=in-backward"}).status().message()),
            "--optimizer-place in-backward updates a chunk before the global norm is known: set "
            "--clip-norm 0, or use behind-forward, which clips exactly");
  EXPECT_EQ(std::string(TrainJob({"--warmup=101"}).status().message()),
            "--warmup 101 is more than steps 100: give it 0 to 100");
  EXPECT_TRUE(TrainJob({"--optimizer-place=in-backward", "--clip-norm=0"}).ok());
}

// What an error about the job tells to change, the command can be told.
TEST(PlanJobOptions, TakesWhatItsErrorsSuggest) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string file = MakeTestFolder(*io) + "/job.yaml";
  WriteBytes(*io, file, "optimizer-place: in-backward\n");
  const ModelSpec spec = Spec();
  const auto read = [&](const std::vector<std::string>& words) {
    PlanJobOptions options;
    options.job_file = file;
    OptionList list;
    options.AddTo(list);
    EXPECT_EQ(ParseArguments(list, words), absl::OkStatus());
    return options.Read(*io, "tiny", &spec, HostTestProfile());
  };
  EXPECT_THAT(std::string(read({"--sequence=8"}).status().message()),
              HasSubstr("set --clip-norm 0, or use behind-forward"));
  EXPECT_EQ(read({"--sequence=8", "--clip-norm=0"})->clip_norm, 0);
  EXPECT_EQ(read({"--sequence=8", "--optimizer-place=behind-forward"})->optimizer_place,
            OptimizerPlace::kBehindForward);
  const absl::StatusOr<TrainingJob> all =
      read({"--sequence=8", "--optimizer-place=after-step", "--accumulate=3", "--compute=fp32"});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->accumulation, 3);
  EXPECT_EQ(all->compute_type, NumberType::kFp32);
  EXPECT_EQ(all->gradient_type, NumberType::kFp32);
}

TEST(PlanJobOptions, SampleLengthReplacesTheLengthsOfTheJobFile) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string file = MakeTestFolder(*io) + "/job.yaml";
  WriteBytes(*io, file, "sequence: 8\nsample-lengths: [{length: 2, samples: 5}]\n");
  const ModelSpec spec = Spec();
  const auto read = [&](const std::vector<std::string>& words) {
    PlanJobOptions options;
    options.job_file = file;
    OptionList list;
    options.AddTo(list);
    EXPECT_EQ(ParseArguments(list, words), absl::OkStatus());
    return options.Read(*io, "tiny", &spec, HostTestProfile())->sample_lengths;
  };
  EXPECT_EQ(read({}), (std::vector<SampleLength>{{2, 5}}));
  EXPECT_EQ(read({"--sample-length=3"}), (std::vector<SampleLength>{{3, 1}}));
  PlanJobOptions options;
  OptionList list;
  options.AddTo(list);
  for (const char* bad : {"--sample-length=0", "--sample-length=-4", "--sample-length=16777217"}) {
    const std::vector<std::string> words = {bad};
    EXPECT_EQ(ParseArguments(list, words).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

// The commands that plan read the same declarations.
TEST(PlanJobOptions, DeclaresWhatTrainDeclares) {
  TrainJobOptions train;
  OptionList trained;
  train.AddTo(trained);
  PlanJobOptions plan;
  OptionList planned;
  plan.AddTo(planned);
  for (const auto& [ours, theirs] :
       {std::pair("sequence", "sequence"), {"batch", "micro-batch"}, {"state", "state"}}) {
    const Option& option = Find(planned, ours);
    const Option& declared = Find(trained, theirs);
    const std::string help = declared.help.substr(0, declared.help.find(" (default "));
    EXPECT_EQ(option.help.rfind(help, 0), 0u) << option.help;
    EXPECT_EQ(option.minimum, declared.minimum);
    EXPECT_EQ(option.maximum, declared.maximum);
  }
}

TEST(PlanJobOptions, OptionsChangeTheJobOfAFile) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string file = MakeTestFolder(*io) + "/job.json";
  TrainingJob written;
  written.sequence = 256;
  written.micro_batch = 4;
  written.seed = 11;
  WriteBytes(*io, file, WriteJob(written));
  PlanJobOptions options;
  options.job_file = file;
  options.batch = "8";
  options.state = "bf16-moments";
  const absl::StatusOr<TrainingJob> job = options.Read(*io, "tiny", nullptr, HostTestProfile());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->model, "tiny");
  EXPECT_EQ(job->sequence, 256);
  EXPECT_EQ(job->micro_batch, 8);
  EXPECT_EQ(job->state_format, StateFormat::kBf16Moments);
  EXPECT_EQ(job->seed, 11);
}

TEST(PlanJobOptions, WhatIsNoValueSaysThatAutoIsOne) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const auto message = [&](const PlanJobOptions& options) {
    return std::string(options.Read(*io, "", nullptr, HostTestProfile()).status().message());
  };
  PlanJobOptions batch;
  batch.batch = "0";
  EXPECT_THAT(message(batch),
              HasSubstr("--batch needs a number of sequences from 1 to 1048576, or auto"));
  batch.batch = "1048577";
  EXPECT_THAT(message(batch), HasSubstr("from 1 to 1048576"));
  PlanJobOptions state;
  state.state = "fp16";
  EXPECT_THAT(message(state), HasSubstr(", or auto"));
}

}  // namespace
}  // namespace horizon
