// `horizon plan` and `horizon simulate` as a person runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "tests/app/support/planning_answers.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kPlan = "\"$horizon\" plan --model tiny --machine rtx3090 ";
const std::string kSimulate = "\"$horizon\" simulate --plan plan.json ";

// With a model of 89 M parameters, so that a search takes no time.
class PlanCommand : public testing::Test {
 protected:
  void SetUp() override { WriteTinyModel(); }
};
using SimulateCommand = PlanCommand;

TEST_F(PlanCommand, AnswersInJsonAsDocumented) {
  const Document answer = Answer(kPlan + "--json --batch 1 --strategy horizon");
  EXPECT_TRUE(*At(answer, {"feasible"}).As<bool>());
  EXPECT_EQ(TextAt(answer, {"plan", "strategy"}), "horizon");
  EXPECT_GE(NumberAt(answer, {"plan", "buffer_depth"}), 1);
  for (const std::string_view key : {"step_seconds", "tokens_per_second", "model_tflops",
                                     "host_bytes", "pinned_bytes", "device_bytes"}) {
    EXPECT_GT(NumberAt(answer, {"prediction", key}), 0) << key;
  }
  const double step = NumberAt(answer, {"prediction", "step_seconds"});
  EXPECT_NEAR(NumberAt(answer, {"prediction", "tokens_per_second"}), 1024 / step, 1e-6 / step);
  EXPECT_GE(NumberAt(answer, {"prediction", "host_bytes"}),
            NumberAt(answer, {"prediction", "pinned_bytes"}));
  for (const auto& [lane, share] : *At(answer, {"prediction", "lanes"}).As<Value::Object>()) {
    const double busy = NumberAt(answer, {"prediction", "lanes", lane});
    EXPECT_GE(busy, 0) << lane;
    EXPECT_LE(busy, 1.000001) << lane;
  }
  EXPECT_GT(NumberAt(answer, {"prediction", "lanes", "compute"}), 0);
  const Value::Array& limits = *At(answer, {"prediction", "limits"}).As<Value::Array>();
  ASSERT_FALSE(limits.empty());
  double before = 1;
  for (const Value& limit : limits) {
    EXPECT_FALSE(limit.Find("what")->As<std::string>()->empty());
    const double gain = *limit.Find("gain")->As<double>();
    EXPECT_LE(gain, before) << "the largest gain first";
    EXPECT_GE(gain, 0.01);
    before = gain;
  }
  EXPECT_TRUE(At(answer, {"strategies"}).As<Value::Array>()->empty()) << "none was compared";
  EXPECT_TRUE(At(answer, {"proposals"}).As<Value::Array>()->empty());
  EXPECT_GT(NumberAt(answer, {"search", "fitting"}), NumberAt(answer, {"search", "simulated"}));
}

TEST_F(PlanCommand, TellsAPersonPlanSpeedLimitsAndMemory) {
  const ProcessResult result = RunShell(kPlan + "--batch 1 --strategy horizon");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out,
              AllOf(StartsWith("tiny on rtx3090"), HasSubstr("\nchunk-bytes "),
                    HasSubstr("tokens/s"), HasSubstr("\nlimit: "), HasSubstr("\ncompute "),
                    HasSubstr("of it pinned"), HasSubstr("searched ")));
  EXPECT_THAT(result.out, Not(HasSubstr("proposal")));
  EXPECT_THAT(result.out, Not(HasSubstr("_"))) << "words have '-' for people";
  ExpectEightyColumns(result.out);
}

// A model of 89 M parameters fits on the device as a whole.
TEST_F(PlanCommand, ChoosesTheFasterStrategyAndTellsOfTheOther) {
  const Document answer = Answer(kPlan + "--json");
  EXPECT_EQ(TextAt(answer, {"plan", "strategy"}), "resident");
  const Value::Array& strategies = *At(answer, {"strategies"}).As<Value::Array>();
  ASSERT_EQ(strategies.size(), 2U);
  const double step = NumberAt(answer, {"prediction", "step_seconds"});
  EXPECT_EQ(*strategies[0].Find("strategy")->As<std::string>(), "horizon");
  EXPECT_GT(*strategies[0].Find("step_seconds")->As<double>(), step);
  EXPECT_EQ(*strategies[1].Find("step_seconds")->As<double>(), step);
  EXPECT_THAT(RunShell(kPlan).out, ContainsRegex("\nstrategy horizon would take .* x as long\n"));
  // What lacks for it where it does not fit.
  EXPECT_THAT(RunShell(kPlan + "--device-memory 1GiB").out,
              ContainsRegex("\nstrategy resident does not fit: short by .* of device memory\n"));
  // A plan of it is a plan like any other.
  EXPECT_EQ(RunShell(kPlan + "--output plan.json").exit_code, 0);
  EXPECT_EQ(
      NumberAt(Answer(kSimulate + "--machine rtx3090 --json"), {"prediction", "step_seconds"}),
      step);
}

TEST_F(PlanCommand, SamplesShorterThanTheSequenceAttendToLess) {
  const std::string plan = kPlan + "--batch 1 --strategy resident --sequence 2048 ";
  const auto step_of = [](const std::string& command) {
    return NumberAt(Answer(command + "--json"), {"prediction", "step_seconds"});
  };
  const double whole = step_of(plan);
  EXPECT_EQ(step_of(plan + "--sample-length 2048 "), whole);
  EXPECT_LT(step_of(plan + "--sample-length 64 "), whole);
  EXPECT_THAT(RunShell(plan + "--sample-length 64 --output plan.json").out,
              HasSubstr("1 x 2048 tokens a step in samples of 64 tokens, state "));
  // The job file beside the plan has the length, and simulate may be told another.
  const std::string simulate = kSimulate + "--machine rtx3090 ";
  EXPECT_LT(step_of(simulate), step_of(simulate + "--sample-length 2048 "));
  ExpectMisuse(plan + "--sample-length 0", "--sample-length");
}

TEST_F(PlanCommand, TokensAndAPriceGiveTimeAndMoney) {
  const std::string priced = kPlan + "--batch 1 --tokens 10M --price-per-hour 2.5 ";
  const Document answer = Answer(priced + "--json");
  const double speed = NumberAt(answer, {"prediction", "tokens_per_second"});
  EXPECT_DOUBLE_EQ(NumberAt(answer, {"run", "tokens"}), 1e7);
  EXPECT_NEAR(NumberAt(answer, {"run", "seconds"}), 1e7 / speed, 1e-6 / speed * 1e7);
  EXPECT_NEAR(NumberAt(answer, {"run", "price"}), 1e7 / speed / 3600 * 2.5, 1e-6);
  EXPECT_THAT(RunShell(priced).out, ContainsRegex(" for 10M tokens, [0-9.]+ at 2.5 an hour\n"));
  EXPECT_EQ(Answer(kPlan + "--json").root.Find("run"), nullptr);
  ExpectMisuse(kPlan + "--tokens many", "--tokens needs a number of tokens such as 10M");
  ExpectMisuse(kPlan + "--price-per-hour -1", "--price-per-hour");
}

// A strategy of another system can be simulated, not trained.
TEST_F(PlanCommand, WhatCannotRunSaysSoInItsFirstLine) {
  const std::string line = "planned only: strategy gemini is for comparison only";
  EXPECT_THAT(RunShell("\"$horizon\" max-model --machine t4 --strategy gemini").out,
              StartsWith(line));
  const std::string model = " --model mixtral-8x7b --machine h200 --state 8bit-moments ";
  const ProcessResult plan = RunShell("\"$horizon\" plan --output plan.json" + model);
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, StartsWith("mixtral-8x7b on h200"));
  ExpectHundredColumns(plan.out);
  const Document answer = Answer("\"$horizon\" compare --json" + model);
  const Value& first = At(answer, {"machines"}).As<Value::Array>()->front();
  EXPECT_TRUE(*first.Find("runnable")->As<bool>());
  EXPECT_EQ(first.Find("planned_only"), nullptr);
}

TEST_F(PlanCommand, TheDefaultsOfEveryStrategyThatRunsCanRun) {
  for (const char* strategy :
       {"--json --strategy horizon", "--json --strategy reference", "--json --strategy resident"}) {
    const Document answer = Answer(kPlan + strategy);
    EXPECT_TRUE(*At(answer, {"runnable"}).As<bool>()) << strategy;
    EXPECT_EQ(answer.root.Find("planned_only"), nullptr) << strategy;
  }
}

// A plan in plan.json, for tests of simulate.
Document WrittenPlan() {
  return Answer(kPlan + "--strategy horizon --batch 2 --json --output plan.json");
}

TEST_F(PlanCommand, WritesAPlanThatSimulatesAsPredicted) {
  const Document planned = WrittenPlan();
  const ProcessResult again = RunShell(kPlan + "--strategy horizon --batch 2 --output plan.json");
  EXPECT_THAT(again.err, HasSubstr("wrote plan.json and plan.job.json"));
  const Document simulated = Answer(kSimulate + "--machine rtx3090 --json");
  EXPECT_TRUE(*At(simulated, {"feasible"}).As<bool>());
  for (const std::string_view key : {"step_seconds", "tokens_per_second", "model_tflops",
                                     "host_bytes", "pinned_bytes", "device_bytes"}) {
    EXPECT_EQ(NumberAt(simulated, {"prediction", key}), NumberAt(planned, {"prediction", key}));
  }
  // The plan in the file is the one in the answer.
  const Document file = Answer("cat plan.json");
  EXPECT_EQ(NumberAt(file, {"buffer_depth"}), NumberAt(planned, {"plan", "buffer_depth"}));
  EXPECT_EQ(NumberAt(file, {"chunk_bytes"}), NumberAt(planned, {"plan", "chunk_bytes"}));
  EXPECT_EQ(NumberAt(Answer("cat plan.job.json"), {"micro_batch"}), 2);
}

TEST_F(PlanCommand, WhatIsSetIsFixed) {
  const Document answer =
      Answer(kPlan +
             "--json --strategy horizon --set K=4 --set depth=1 --set recompute=true "
             "--set host_threads=3");
  EXPECT_EQ(NumberAt(answer, {"plan", "anchor_interval"}), 4);
  EXPECT_EQ(NumberAt(answer, {"plan", "buffer_depth"}), 1);
  EXPECT_EQ(NumberAt(answer, {"plan", "host_threads"}), 3);
  EXPECT_TRUE(*At(answer, {"plan", "recompute"}).As<bool>());
}

TEST_F(PlanCommand, OverridesChangeTheAnswer) {
  const std::string streamed = kPlan + "--json --strategy horizon --batch 1 ";
  const Document plain = Answer(streamed);
  const Document slow = Answer(streamed + "--link 100MB/s");
  EXPECT_GT(NumberAt(slow, {"prediction", "step_seconds"}),
            1.5 * NumberAt(plain, {"prediction", "step_seconds"}));
  const Value& limit = At(slow, {"prediction", "limits"}).As<Value::Array>()->front();
  EXPECT_EQ(*limit.Find("what")->As<std::string>(), "link");
  const Document small = Answer(streamed + "--device-memory 2GiB --cores 4");
  EXPECT_LE(NumberAt(small, {"prediction", "device_bytes"}), 0.95 * 2 * (1 << 30));
  EXPECT_LE(NumberAt(small, {"plan", "optimizer_threads"}), 4);
  // A margin is kept free.
  const Document free = Answer(streamed + "--device-memory 2GiB --margin 30");
  EXPECT_LE(NumberAt(free, {"prediction", "device_bytes"}), 0.7 * 2 * (1 << 30));
}

TEST_F(PlanCommand, ExplainsEveryChoice) {
  const ProcessResult result =
      RunShell(kPlan + "--explain --strategy horizon --batch 1 --set recompute=true");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("one field changed at a time"), ContainsRegex("\nbuffer-depth +1 "),
                    HasSubstr("chosen"), ContainsRegex("[+-][0-9.]+ %")));
  ExpectHundredColumns(result.out);
  const Document answer = Answer(kPlan + "--explain --strategy horizon --batch 1 --json");
  EXPECT_GT(At(answer, {"alternatives"}).As<Value::Array>()->size(), 10U);
}

TEST_F(PlanCommand, ExplainsWhatOtherJobsAndMachinesWouldGain) {
  const std::string slow = kPlan + "--strategy horizon --batch 1 --dram 10GB/s --explain ";
  const ProcessResult result = RunShell(slow);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(ContainsRegex("\nfree changes +step +tokens/s +gain\n"),
                                ContainsRegex("\n8-bit moments .* \\+[0-9]+ %\n"),
                                HasSubstr("\n    --state 8bit-moments\n"),
                                ContainsRegex("\nwhat to buy +step +tokens/s +gain\n"),
                                ContainsRegex("\ncores and DRAM channels x2 ")));
  ExpectEightyColumns(result.out.substr(result.out.find("free changes")));
  const Document answer = Answer(slow + "--json");
  for (const char* const key : {"free_changes", "purchases"}) {
    const Value::Array& gains = *At(answer, {key}).As<Value::Array>();
    ASSERT_FALSE(gains.empty()) << key;
    for (const Value& gain : gains) EXPECT_GE(*gain.Find("gain")->As<double>(), 0.03) << key;
  }
  EXPECT_EQ(Answer(kPlan + "--json").root.Find("free_changes"), nullptr) << "not asked for";
}

TEST_F(PlanCommand, ProposalsAreMarked) {
  const Document answer = Answer(kPlan + "--strategy horizon --state auto --json --link 500MB/s");
  const Value::Array& proposals = *At(answer, {"proposals"}).As<Value::Array>();
  ASSERT_EQ(proposals.size(), 2U);
  EXPECT_EQ(*proposals[0].Find("field")->As<std::string>(), "state_format");
  EXPECT_EQ(*proposals[1].Find("field")->As<std::string>(), "micro_batch");
  EXPECT_EQ(*proposals[1].Find("value")->As<std::string>(),
            std::to_string(static_cast<int>(NumberAt(answer, {"job", "micro_batch"}))));
  EXPECT_GT(NumberAt(answer, {"job", "micro_batch"}), 1);
}

TEST_F(PlanCommand, ASweepIsATableAndAPage) {
  const std::string sweep = kPlan + "--sweep batch=1,4 ";
  const ProcessResult result = RunShell(sweep + "--output sweep.html");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("tiny on rtx3090"), ContainsRegex("\nbatch +step "),
                                ContainsRegex("\n1 "), ContainsRegex("\n4 ")));
  ExpectEightyColumns(result.out);
  EXPECT_THAT(RunShell("cat sweep.html").out, AllOf(HasSubstr("<svg"), HasSubstr("tokens/s")));
  const Document answer = Answer(sweep + "--json");
  const Value::Array& values = *At(answer, {"values"}).As<Value::Array>();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(*values[1].Find("job")->Find("micro_batch")->As<int64_t>(), 4);
  ExpectMisuse(kPlan + "--sweep state", "--sweep needs batch, sequence");
  ExpectMisuse(sweep + "--tokens 10M", "--sweep shows tokens/s only");
}

TEST_F(PlanCommand, TheStrategyIsNoFieldToSet) {
  ExpectMisuse(kPlan + "--set strategy=resident",
               "the strategy is chosen with --strategy resident");
}

TEST_F(PlanCommand, EveryStrategyIsPlanned) {
  for (const std::string strategy :
       {"horizon", "reference", "resident", "zero3_offload", "fsdp_offload", "gemini"}) {
    std::string command = kPlan;
    command.append("--json --sequence 256 --strategy ").append(strategy);
    const Document answer = Answer(command);
    EXPECT_EQ(TextAt(answer, {"plan", "strategy"}), strategy);
    EXPECT_GT(NumberAt(answer, {"prediction", "step_seconds"}), 0) << strategy;
  }
}

TEST_F(PlanCommand, TheHeaderShowsWhatWasChangedAboutTheMachine) {
  const ProcessResult result = RunShell(
      kPlan + "--host-memory 768GiB --device-memory 12GiB --link 10GB/s --cores 3 | head -3");
  EXPECT_THAT(result.out,
              HasSubstr(")\n  as if with 768 GiB of host memory, 12 GiB of device memory, "
                        "a link of 10 GB/s, 3 cores\n"));
  EXPECT_THAT(RunShell(kPlan).out, Not(HasSubstr("as if")));
}

TEST_F(PlanCommand, ASuggestionIsSomethingTheCommandTakes) {
  WriteFile("backward.yaml",
            "device: cuda\nactivation_type: bf16\noptimizer-place: in-backward\n"
            "learning_rate: 0.01\n");
  const std::string command = kPlan + "--job backward.yaml ";
  const ProcessResult refused = RunShell(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("set --clip-norm 0, or use behind-forward"));
  const ProcessResult planned = RunShell(command + "--clip-norm 0");
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(RunShell(command + "--optimizer-place behind-forward").exit_code, 0);
}

TEST_F(PlanCommand, WordsHaveDashesAndUnderscoresAreTakenForThem) {
  EXPECT_EQ(RunShell(kPlan + "--set anchor-home=host --set recompute=true").exit_code, 0);
  EXPECT_EQ(RunShell(kPlan + "--set anchor_home=host --set recompute=true").exit_code, 0);
  EXPECT_EQ(RunShell(kPlan + "--strategy zero3-offload --sequence 256").exit_code, 0);
  EXPECT_THAT(
      RunShell(kPlan + "--strategy zero").err,
      HasSubstr("is none of auto, horizon, reference, resident, zero3-offload, fsdp-offload"));
}

TEST_F(PlanCommand, AModelThatDoesNotFitIsCodeThreeWithWhatWouldHelp) {
  const std::string command = "\"$horizon\" plan --model qwen2.5-32b --machine rtx3090 ";
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 3);
  // An error is told once: what lacks is in the answer.
  EXPECT_EQ(
      result.err,
      "error: qwen2.5-32b does not fit on rtx3090; the answer lists what lacks and what would "
      "make it fit\n");
  EXPECT_THAT(result.out, AllOf(ContainsRegex("\n  short by [0-9.]+ GiB of host memory \\(needs "),
                                HasSubstr("each of these alone would make it fit:"),
                                ContainsRegex("\n  host memory [0-9]+ GiB\n")));
  ExpectHundredColumns(result.out);
  const Document answer = Answer(command + "--json --output never.json", 3);
  EXPECT_FALSE(*At(answer, {"feasible"}).As<bool>());
  const Value::Array& shortages = *At(answer, {"shortages"}).As<Value::Array>();
  ASSERT_EQ(shortages.size(), 1U);
  EXPECT_EQ(*shortages[0].Find("memory")->As<std::string>(), "host memory");
  EXPECT_GT(*shortages[0].Find("needed_bytes")->As<int64_t>(),
            *shortages[0].Find("available_bytes")->As<int64_t>());
  EXPECT_FALSE(At(answer, {"remedies"}).As<Value::Array>()->empty());
  EXPECT_EQ(answer.root.Find("plan"), nullptr);
  EXPECT_NE(RunShell("test -e never.json").exit_code, 0) << "no plan, no file";
}

TEST_F(PlanCommand, TheRamItAsksForIsEnough) {
  const std::string streamed =
      "\"$horizon\" plan --model tiny --machine t4 --strategy horizon --batch 1 ";
  const Document refused = Answer(streamed + "--host-memory 1500MB --json", 3);
  const std::string remedy =
      *At(refused, {"remedies"}).As<Value::Array>()->front().As<std::string>();
  ASSERT_THAT(remedy, StartsWith("host memory "));
  const ProcessResult result = RunShell(streamed + "--host-memory '" + remedy.substr(12) + "'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(PlanCommand, AJobFileIsPlannedAsItSays) {
  WriteFile(
      "job.yaml",
      "device: cuda\nactivation_type: bf16\nsequence: 256\nmicro_batch: 4\naccumulation: 2\n");
  const Document file = Answer(kPlan + "--json --job job.yaml");
  EXPECT_EQ(NumberAt(file, {"job", "micro_batch"}), 4);
  EXPECT_EQ(NumberAt(file, {"job", "sequence"}), 256);
  EXPECT_EQ(NumberAt(file, {"job", "accumulation"}), 2);
  const Document changed = Answer(kPlan + "--json --job job.yaml --batch 1 --sequence 128");
  EXPECT_EQ(NumberAt(changed, {"job", "micro_batch"}), 1);
  EXPECT_EQ(NumberAt(changed, {"job", "sequence"}), 128);
  WriteFile("host.yaml", "sequence: 256\n");
  ExpectMisuse(kPlan + "--job host.yaml",
               "the job is for device host, but rtx3090 computes on cuda: set device to cuda");
}

TEST_F(PlanCommand, MisuseIsNamed) {
  ExpectMisuse("\"$horizon\" plan --model qwen2.5-0.5b --machine rtx309",
               "did you mean 'rtx3090'?");
  ExpectMisuse("\"$horizon\" plan --model qwen2.5-05b --machine t4",
               "did you mean 'qwen2.5-0.5b'?");
  ExpectMisuse(kPlan + "--sequence 40000",
               "sequence 40000 is longer than the 2048 positions of tiny");
  ExpectMisuse(kPlan + "--sequence 40000", "or stretch the positions with --rope-scaling yarn:20");
  ExpectMisuse(kPlan + "--rope-scaling linear:4", "needs yarn:FACTOR, for example yarn:4");
  ExpectMisuse(kPlan + "--sequence 0", "--sequence");
  ExpectMisuse(kPlan + "--batch 0",
               "--batch needs a number of sequences from 1 to 1048576, or auto");
  ExpectMisuse(kPlan + "--batch many", "found 'many'");
  ExpectMisuse(kPlan + "--batch 99999999999999999999", "--batch needs");
  ExpectMisuse(kPlan + "--state fp16", "or auto");
  ExpectMisuse(kPlan + "--strategy horizont", "did you mean 'horizon'?");
  ExpectMisuse(kPlan + "--margin 100", "--margin: '100' is not a number from 0 to 99.9");
  ExpectMisuse(kPlan + "--margin -1", "--margin");
  ExpectMisuse(kPlan + "--link 0GB/s", "--link");
  ExpectMisuse(kPlan + "--host-memory 0", "--host-memory");
  ExpectMisuse(kPlan + "--cores 0", "--cores");
  ExpectMisuse(kPlan + "--set K", "--set needs field=value");
  ExpectMisuse(kPlan + "--set K=0", "anchor_interval");
  ExpectMisuse(kPlan + "--set K=2 --set anchor_interval=4", "is set twice");
  ExpectMisuse(kPlan + "--set deep=2", "the plan has no field");
  ExpectMisuse(kPlan + "--set loss_chunk_tokens=100", "must be a multiple of 128");
  ExpectMisuse(kPlan + "--strategy reference --set resident_chunks=3", "set resident_chunks 0");
}

TEST_F(PlanCommand, ABadMachineFileIsNamed) {
  const std::string plan = "\"$horizon\" plan --model tiny --machine bad.json";
  const auto edited = [](const std::string& sed) {
    return RunShell("\"$horizon\" machines t4 --json | sed '" + sed + "' >bad.json").exit_code;
  };
  ASSERT_EQ(edited("s/\"pack\"/\"pac\"/"), 0);
  ExpectMisuse(plan, "pac");
  ASSERT_EQ(
      edited("/\"both_ways_bytes_per_second\"/,/\"value\"/s/\"value\": [0-9.e+]*/\"value\": 0/"),
      0);
  ExpectMisuse(plan, "both_ways_bytes_per_second");
  WriteFile("bad.json", "{");
  ExpectMisuse(plan, "bad.json:1");
}

TEST_F(SimulateCommand, WritesATraceThatOpens) {
  WrittenPlan();
  const ProcessResult result = RunShell(kSimulate + "--machine rtx3090 --trace trace.json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("wrote the trace to trace.json"));
  EXPECT_THAT(result.out, AllOf(StartsWith("tiny on rtx3090"), HasSubstr("\nlimit: ")));
  ExpectHundredColumns(result.out);
  const Document trace = Answer("cat trace.json");
  EXPECT_GT(At(trace, {"traceEvents"}).As<Value::Array>()->size(), 100U);
  EXPECT_EQ(RunShell(kSimulate + "--machine rtx3090 --trace no/such/folder/t.json").exit_code, 2);
}

TEST_F(SimulateCommand, APlanThatDoesNotFitIsSimulatedAndCodeThree) {
  WrittenPlan();
  const Document answer = Answer(kSimulate + "--machine rtx3090 --json --host-memory 1GiB", 3);
  EXPECT_FALSE(*At(answer, {"feasible"}).As<bool>());
  EXPECT_GT(NumberAt(answer, {"prediction", "step_seconds"}), 0);
  const ProcessResult result = RunShell(kSimulate + "--machine rtx3090 --host-memory 1GiB");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(StartsWith("error: the plan does not fit on rtx3090: short by "),
                                HasSubstr("'horizon plan' finds one that does")));
}

TEST_F(SimulateCommand, OtherMachinesGiveOtherAnswers) {
  const Document planned = WrittenPlan();
  const Document slower = Answer(kSimulate + "--machine rtx3090 --json --link 100MB/s");
  EXPECT_GT(NumberAt(slower, {"prediction", "step_seconds"}),
            NumberAt(planned, {"prediction", "step_seconds"}));
}

TEST_F(SimulateCommand, MisuseIsNamed) {
  WrittenPlan();
  ExpectMisuse(kSimulate + "--machine rtx3090 --model qwen2.5-0.5b",
               "the plan is for model 'tiny'");
  ExpectMisuse(kSimulate + "--machine nothing", "no machine \"nothing\"");
  ExpectMisuse("\"$horizon\" simulate --plan none.json --machine t4", "none.json");
  ExpectMisuse("cp plan.json alone.json; \"$horizon\" simulate --plan alone.json --machine t4",
               "'horizon plan --output' writes the job beside the plan");
  ExpectMisuse(kSimulate + "--machine t4 --job none.json", "none.json");
  WriteFile("host.json", "{\"sequence\": 256}");
  ExpectMisuse(kSimulate + "--machine t4 --job host.json", "the job is for device host");
  WriteFile("nameless.json", "{}");
  ExpectMisuse(
      "cp plan.job.json nameless.job.json; "
      "\"$horizon\" simulate --plan nameless.json --machine t4",
      "nameless.json names no model");
  WriteFile("bad.json", "{\"buffer_depth\": 0}");
  ExpectMisuse("\"$horizon\" simulate --plan bad.json --machine t4", "bad.json:1: buffer_depth");
}

}  // namespace
}  // namespace horizon
