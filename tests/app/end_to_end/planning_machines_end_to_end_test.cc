// `horizon compare` and `horizon max-model` as a person runs them, and the help of all planning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/documents/json.h"
#include "tests/app/support/planning_answers.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CompareCommand : public testing::Test {
 protected:
  void SetUp() override { WriteTinyModel(); }
};

// A width that bf16 rows on a GPU cannot have runs on the host device.
TEST_F(CompareCommand, SaysOnWhichMachinesAModelIsPlannedOnly) {
  WriteFile("odd/config.json", R"({"model_type": "llama", "hidden_size": 64,
      "intermediate_size": 100, "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 4, "vocab_size": 512, "max_position_embeddings": 2048})");
  const std::string compare = "\"$horizon\" compare --model odd --machine ";
  EXPECT_THAT(RunShell(compare + "t4 --machine cpu-desktop").out,
              StartsWith("planned only on t4: odd has intermediate size 100; device cuda needs"));
  EXPECT_THAT(RunShell(compare + "t4 --machine a6000").out, StartsWith("planned only: odd has"));
  EXPECT_THAT(RunShell(compare + "cpu-desktop").out, StartsWith("odd, "));
}

TEST_F(CompareCommand, MachinesStandInATableInTheirOrder) {
  const std::string command = "\"$horizon\" compare --model tiny --machine t4 --machine a6000 ";
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("tokens a sequence, state fp32"),
                                ContainsRegex("\nt4 (.|\n)*\na6000 ")));
  ExpectEightyColumns(result.out);
  const Document answer = Answer(command + "--json");
  const Value::Array& machines = *At(answer, {"machines"}).As<Value::Array>();
  ASSERT_EQ(machines.size(), 2U);
  double before = 1e9;
  for (const Value& machine : machines) {
    EXPECT_TRUE(*machine.Find("feasible")->As<bool>());
    const double step = *machine.Find("prediction")->Find("step_seconds")->As<double>();
    const double batch =
        static_cast<double>(*machine.Find("job")->Find("micro_batch")->As<int64_t>());
    EXPECT_LT(step / batch, before);
    before = step / batch;
  }
  // As `plan` finds by itself.
  const Document alone = Answer("\"$horizon\" plan --model tiny --machine a6000 --json");
  EXPECT_EQ(
      NumberAt(alone, {"prediction", "step_seconds"}) / NumberAt(alone, {"job", "micro_batch"}),
      before);
}

TEST_F(CompareCommand, AMachineThatIsTooSmallSaysWhatLacks) {
  const std::string command =
      "\"$horizon\" compare --model qwen2.5-72b --machine t4 --machine rtx3090 --state "
      "8bit-moments ";
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(ContainsRegex("\nt4 .*does not fit"),
                                ContainsRegex("\nt4: short by .* of host memory"),
                                ContainsRegex("\nrtx3090: short by .* of host memory")));
  ExpectHundredColumns(result.out);
}

TEST_F(CompareCommand, MisuseIsNamed) {
  ExpectMisuse("\"$horizon\" compare --model tiny", "--machine");
  ExpectMisuse("\"$horizon\" compare --model tiny --machine t4 --machine t5", "no machine \"t5\"");
  ExpectMisuse("\"$horizon\" compare --model tiny --machine t4 --sequence 99999",
               "longer than the");
}

TEST(MaxModelCommand, AnswersInJsonAsDocumented) {
  const Document answer = Answer("\"$horizon\" max-model --machine t4 --host-memory 9GiB --json");
  EXPECT_GT(NumberAt(answer, {"largest", "layers"}), 1);
  EXPECT_GT(NumberAt(answer, {"largest", "parameters"}), 5e8);
  EXPECT_GT(NumberAt(answer, {"largest", "tokens_per_second"}), 0);
  EXPECT_GT(NumberAt(answer, {"largest", "days_per_billion_tokens"}), 0);
  EXPECT_EQ(TextAt(answer, {"largest_size", "model"}), "qwen2.5-0.5b");
  EXPECT_EQ(TextAt(answer, {"limit"}), "host memory");
  EXPECT_EQ(TextAt(answer, {"state"}), "fp32");
  EXPECT_EQ(At(answer, {"states"}).As<Value::Array>()->size(), 1U);
  const Value::Array& free_changes = *At(answer, {"free_changes"}).As<Value::Array>();
  ASSERT_FALSE(free_changes.empty());
  for (const Value& change : free_changes) {
    EXPECT_THAT(*change.Find("options")->As<std::string>(), StartsWith("--"));
    EXPECT_FALSE(change.Find("cost")->As<std::string>()->empty());
  }
  const Value::Array& purchases = *At(answer, {"purchases"}).As<Value::Array>();
  ASSERT_FALSE(purchases.empty());
  const auto number = [](const Value* value) {
    const int64_t* integer = value->As<int64_t>();
    return integer != nullptr ? static_cast<double>(*integer) : *value->As<double>();
  };
  double before = 1e9;
  for (const Value& purchase : purchases) {
    EXPECT_FALSE(purchase.Find("what")->As<std::string>()->empty());
    EXPECT_GE(number(purchase.Find("parameters")), NumberAt(answer, {"largest", "parameters"}));
    EXPECT_GT(number(purchase.Find("tokens_per_second")), 0);
    const double gain =
        std::max(number(purchase.Find("size_gain")), number(purchase.Find("speed_gain")));
    EXPECT_LE(gain, before);
    before = gain;
  }
}

TEST(MaxModelCommand, TellsAPersonWhatToBuy) {
  const ProcessResult result = RunShell(
      "\"$horizon\" max-model --machine t4 --host-memory 8GiB --state 8bit-moments --family qwen3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("largest model on t4"), HasSubstr(" by depth "),
                                HasSubstr("qwen3-0.6b with "), HasSubstr("\nlimit: host memory\n"),
                                HasSubstr("\nupdated in backward "),
                                HasSubstr("\n    --optimizer-place in-backward --clip-norm 0\n"),
                                HasSubstr("host memory x2 (16 GiB)")));
  EXPECT_LT(result.out.find("free changes"), result.out.find("what to buy"));
  ExpectEightyColumns(result.out);
}

TEST(MaxModelCommand, StateAutoShowsTheLargestOfEachFormat) {
  const ProcessResult result =
      RunShell("\"$horizon\" max-model --machine t4 --host-memory 8GiB --state auto");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nfp32 "), HasSubstr("\nbf16-moments "),
                                HasSubstr("\n8bit-moments "),
                                HasSubstr("the most exact state that fits is fp32")));
  ExpectEightyColumns(result.out);
}

TEST(MaxModelCommand, WhereNothingFitsItIsCodeThree) {
  const ProcessResult result = RunShell("\"$horizon\" max-model --machine t4 --host-memory 1GiB");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("not even one layer of the smallest model fits on t4: host"));
  const Document answer =
      Answer("\"$horizon\" max-model --machine t4 --host-memory 1GiB --json", 3);
  EXPECT_TRUE(At(answer, {"largest"}).is_null());
  EXPECT_EQ(TextAt(answer, {"limit"}), "host memory");
}

TEST(MaxModelCommand, MisuseIsNamed) {
  ExpectMisuse("\"$horizon\" max-model --machine t4 --family llama4", "llama3");
  ExpectMisuse("\"$horizon\" max-model --machine t4 --batch 3", "--batch");
}

TEST(PlanningHelp, OffersTheSameOverridesEverywhere) {
  for (const std::string command :
       {"plan", "simulate", "compare", "max-model", "machines", "report"}) {
    const ProcessResult result = RunShell("\"$horizon\" " + command + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    for (const char* option : {"--host-memory BYTES", "--device-memory BYTES", "--dram BYTES/S",
                               "--link BYTES/S", "--cores CORES"}) {
      EXPECT_THAT(result.out, HasSubstr(option)) << command;
    }
    ExpectHundredColumns(result.out);
  }
}

// One line of its own below the heading, in every answer.
TEST(Overrides, AreShownAboveEveryAnswer) {
  const std::string given =
      " --host-memory 64GiB --device-memory 20GiB --dram 100GB/s --link 9GB/s --cores 12";
  const std::string line =
      "\n  as if with 64 GiB of host memory, 20 GiB of device memory, DRAM of 100 GB/s, a link of "
      "9 GB/s, 12 cores\n";
  for (const std::string command :
       {"plan --model qwen2.5-0.5b --machine rtx4090 --output plan.json",
        "simulate --plan plan.json --machine rtx3090",
        "compare --model qwen2.5-0.5b --machine rtx4090 --machine rtx3090",
        "max-model --machine rtx4090"}) {
    const ProcessResult result = RunShell("\"$horizon\" " + command + given);
    EXPECT_EQ(result.exit_code, 0) << command << result.err;
    EXPECT_THAT(result.out, HasSubstr(line)) << command;
  }
  ExpectMisuse("\"$horizon\" compare --model qwen2.5-0.5b --machine rtx4090 --host-memory 64",
               "\"64\" is a number without a unit; write 64GiB");
  ExpectMisuse("\"$horizon\" plan --model qwen2.5-0.5b --machine h100", "h100-pcie");
}

// More of anything is never slower.
TEST(Overrides, ChangeThePrediction) {
  const std::string plan =
      "\"$horizon\" plan --model qwen2.5-7b --machine 'RTX 4090' --optimizer-place after-step "
      "--json";
  const auto step = [&](const std::string& more) {
    return NumberAt(Answer(plan + more), {"prediction", "step_seconds"});
  };
  const double usual = step("");
  EXPECT_GT(step(" --dram 30GB/s"), usual);
  EXPECT_LT(step(" --dram 300GB/s"), usual);
}

}  // namespace
}  // namespace horizon
