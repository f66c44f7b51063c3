#include "runtime/checkpoint/resume_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of a run that trains tensors a and b on the frozen base c and d.
Manifest Saved() {
  Manifest saved{.step = 12, .facts = SmallFacts(12)};
  saved.tensors = {{.name = "a"}, {.name = "b"}, {.name = "a", .part = StatePart::kLo}};
  saved.facts.frozen = {{.name = "c", .crc32c = 3}, {.name = "d", .crc32c = 4}};
  return saved;
}
const std::vector<std::string> kTrained = {"a", "b"};

AskedRun Asked(const Manifest& saved) {
  return {.job = saved.facts.job,
          .model_fingerprint = saved.facts.model_fingerprint,
          .data_fingerprint = saved.facts.data_fingerprint,
          .trained = kTrained};
}

std::vector<std::string> Differences(const Manifest& saved,
                                     const std::function<void(TrainingJob&)>& change) {
  TrainingJob job = saved.facts.job;
  change(job);
  return DescribeDifferences(saved, {.job = job,
                                     .model_fingerprint = saved.facts.model_fingerprint,
                                     .data_fingerprint = saved.facts.data_fingerprint,
                                     .trained = kTrained});
}

TEST(ResumeCheck, TheSameJobGoesOn) {
  const Manifest saved = Saved();
  EXPECT_THAT(Differences(saved, [](TrainingJob&) {}), IsEmpty());
  EXPECT_TRUE(CheckResumable("c", saved, Asked(saved)).ok());
}

// One at a time, and every field there is: a field added to the job is refused when changed unless
// somebody decides otherwise here.
TEST(ResumeCheck, EveryChangedFieldIsNamedUnlessItMayChange) {
  const std::pair<const char*, std::function<void(TrainingJob&)>> changes[] = {
      {"device", [](TrainingJob& j) { j.device = DeviceKind::kCuda; }},
      {"sequence", [](TrainingJob& j) { j.sequence += 1; }},
      {"micro_batch", [](TrainingJob& j) { j.micro_batch += 1; }},
      {"accumulation", [](TrainingJob& j) { j.accumulation += 1; }},
      {"learning_rate", [](TrainingJob& j) { j.learning_rate = 0.1 + 1e-17 + 1e-16; }},
      {"learning_rate_schedule",
       [](TrainingJob& j) { j.learning_rate_schedule = LearningRateSchedule::kCosine; }},
      {"warmup_steps", [](TrainingJob& j) { j.warmup_steps += 1; }},
      {"schedule_start", [](TrainingJob& j) { j.schedule_start = 3; }},
      {"beta1", [](TrainingJob& j) { j.beta1 = 0.8; }},
      {"beta2", [](TrainingJob& j) { j.beta2 = 0.8; }},
      {"epsilon", [](TrainingJob& j) { j.epsilon = 1e-9; }},
      {"weight_decay", [](TrainingJob& j) { j.weight_decay = 0; }},
      {"decay_all", [](TrainingJob& j) { j.decay_all = true; }},
      {"clip_norm", [](TrainingJob& j) { j.clip_norm = 0; }},
      {"compute_type", [](TrainingJob& j) { j.compute_type = NumberType::kFp32; }},
      {"activation_type", [](TrainingJob& j) { j.activation_type = NumberType::kBf16; }},
      {"gradient_type", [](TrainingJob& j) { j.gradient_type = NumberType::kFp32; }},
      {"state_format", [](TrainingJob& j) { j.state_format = StateFormat::kBf16Moments; }},
      {"optimizer_place", [](TrainingJob& j) { j.optimizer_place = OptimizerPlace::kAfterStep; }},
      {"seed", [](TrainingJob& j) { j.seed += 1; }},
  };
  const Manifest saved = Saved();
  for (const auto& [field, change] : changes) {
    const std::vector<std::string> lines = Differences(saved, change);
    ASSERT_EQ(lines.size(), 1u) << field;
    EXPECT_THAT(lines[0], AllOf(testing::StartsWith(std::string(field) + ": saved "),
                                HasSubstr(", asked "), HasSubstr("; ")));
  }
  // The files may lie elsewhere; what they hold is compared by fingerprint.
  EXPECT_THAT(Differences(saved, [](TrainingJob& j) { j.data = "/moved/stories.jsonl"; }),
              IsEmpty());
  EXPECT_THAT(Differences(saved, [](TrainingJob& j) { j.model = "/moved/model"; }), IsEmpty());
}

TEST(ResumeCheck, PatternsMayChangeWhereTheyTrainTheSameTensors) {
  const Manifest saved = Saved();
  EXPECT_THAT(Differences(saved, [](TrainingJob& j) { j.train = {"[ab]"}; }), IsEmpty());
  EXPECT_THAT(Differences(saved, [](TrainingJob& j) { j.freeze = {"c", "d"}; }), IsEmpty());
}

TEST(ResumeCheck, AChangedSetOfTrainedTensorsIsNamed) {
  const Manifest saved = Saved();
  const auto lines = [&](const std::vector<std::string>& trained) {
    return DescribeDifferences(saved, {.job = saved.facts.job,
                                       .model_fingerprint = saved.facts.model_fingerprint,
                                       .data_fingerprint = saved.facts.data_fingerprint,
                                       .trained = trained});
  };
  EXPECT_THAT(lines({"a", "b", "c"}),
              ElementsAre(AllOf(HasSubstr("trained tensors: saved 2, asked 3; c was frozen; "),
                                HasSubstr("--train"))));
  EXPECT_THAT(lines({"b"}), ElementsAre(HasSubstr("saved 2, asked 1; a was trained; ")));
  EXPECT_THAT(lines({"b", "d"}), ElementsAre(HasSubstr("d was frozen; a was trained; ")));
}

TEST(ResumeCheck, AnotherFrozenBaseIsRefusedByTensor) {
  const Manifest saved = Saved();
  std::vector<FrozenTensor> found = saved.facts.frozen;
  EXPECT_TRUE(CheckFrozenBase("c", saved.facts.frozen, found).ok());
  found[1].crc32c = 5;
  const absl::Status changed = CheckFrozenBase("run/c", saved.facts.frozen, found);
  EXPECT_TRUE(absl::IsInvalidArgument(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()),
              AllOf(HasSubstr("'run/c'"), HasSubstr("d has CRC-32C 00000005"),
                    HasSubstr("had 00000004"), HasSubstr("give the model as it was")));
  found.pop_back();
  EXPECT_THAT(std::string(CheckFrozenBase("c", saved.facts.frozen, found).message()),
              HasSubstr("2 frozen tensors, the model given has 1"));
}

TEST(ResumeCheck, StepsMayGrowWhereTheLearningRateDoesNotDependOnThem) {
  Manifest saved = Saved();
  const auto set_steps = [](int64_t steps) {
    return [steps](TrainingJob& job) { job.steps = steps; };
  };
  EXPECT_THAT(Differences(saved, set_steps(4000)), IsEmpty());
  EXPECT_THAT(Differences(saved, set_steps(12)), IsEmpty());
  EXPECT_THAT(Differences(saved, set_steps(11)),
              ElementsAre(AllOf(HasSubstr("steps: saved 40, asked 11"), HasSubstr("step 12"))));
  for (const auto schedule : {LearningRateSchedule::kLinear, LearningRateSchedule::kCosine}) {
    saved.facts.job.learning_rate_schedule = schedule;
    EXPECT_THAT(Differences(saved, set_steps(4000)),
                ElementsAre(AllOf(HasSubstr("steps: saved 40, asked 4000"),
                                  HasSubstr("--restart-schedule"))));
  }
}

// The rates of a warm-up are the same whatever follows, and so is the first one behind it.
TEST(ResumeCheck, StepsMayGrowInTheWarmUpOfAnySchedule) {
  Manifest saved = Saved();
  saved.facts.job.learning_rate_schedule = LearningRateSchedule::kCosine;
  const auto more = [](TrainingJob& job) { job.steps = 4000; };
  for (const int64_t warmup : {0, 10, 11, 12, 30}) {
    saved.facts.job.warmup_steps = warmup;
    EXPECT_EQ(Differences(saved, more).empty(), warmup >= 11) << warmup;  // it is at step 12
  }
  saved.facts.job.schedule_start = 5;
  for (const int64_t warmup : {5, 6}) {
    saved.facts.job.warmup_steps = warmup;
    EXPECT_EQ(Differences(saved, more).empty(), warmup == 6) << warmup;
  }
}

TEST(ResumeCheck, ANewScheduleMayBeginAtTheCheckpoint) {
  Manifest saved = Saved();
  saved.facts.job.learning_rate_schedule = LearningRateSchedule::kCosine;
  const auto restart = [](int64_t at) {
    return [at](TrainingJob& job) {
      job.steps = 100;
      job.learning_rate *= 0.5;
      job.learning_rate_schedule = LearningRateSchedule::kLinear;
      job.warmup_steps = 7;
      job.schedule_start = at;
    };
  };
  EXPECT_THAT(Differences(saved, restart(12)), IsEmpty());
  EXPECT_EQ(Differences(saved, restart(0)).size(), 4u);
  EXPECT_EQ(Differences(saved, restart(11)).size(), 5u);
  // Everything else is as it was.
  EXPECT_THAT(Differences(saved,
                          [&](TrainingJob& job) {
                            restart(12)(job);
                            job.beta2 = 0.5;
                          }),
              ElementsAre(HasSubstr("beta2")));
  // From there on the schedule is the run's.
  saved.facts.job.schedule_start = 12;
  saved.facts.job.steps = 100;
  saved.step = 40;
  EXPECT_THAT(Differences(saved, [](TrainingJob& job) { job.steps = 200; }),
              ElementsAre(HasSubstr("steps: ")));
}

TEST(ResumeCheck, EpochsMayDifferAsTheStepsTheyComeTo) {
  const Manifest saved = Saved();
  EXPECT_THAT(Differences(saved, [](TrainingJob& j) { j.epochs = 7; }), IsEmpty());
}

// They describe the data to predictions, and no number of the run depends on them.
TEST(ResumeCheck, LengthsOfSamplesMayDiffer) {
  Manifest saved = Saved();
  const auto give = [](TrainingJob& job) { job.sample_lengths = {{.length = 7, .samples = 2}}; };
  EXPECT_THAT(Differences(saved, give), IsEmpty());
  give(saved.facts.job);
  EXPECT_THAT(Differences(saved, [](TrainingJob& job) { job.sample_lengths.clear(); }), IsEmpty());
  EXPECT_THAT(Differences(saved, [](TrainingJob& job) { job.sample_lengths[0].length = 9; }),
              IsEmpty());
}

TEST(ResumeCheck, OtherDataOrAnotherModelIsNamed) {
  const Manifest saved = Saved();
  const absl::Status status =
      CheckResumable("run/c", saved, {saved.facts.job, "other", "data", kTrained});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("run/c"),
                    HasSubstr("\n  model_fingerprint: saved 0123456789abcdef, "
                              "asked other"),
                    HasSubstr("\n  data_fingerprint: saved fedcba9876543210, asked data")));
}

TEST(ResumeCheck, WeightsAloneCannotBeResumed) {
  Manifest saved = Saved();
  saved.mode = SaveMode::kWeights;
  const absl::Status status = CheckResumable("c", saved, Asked(saved));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("horizon export c --output FOLDER"));
}

}  // namespace
}  // namespace horizon
