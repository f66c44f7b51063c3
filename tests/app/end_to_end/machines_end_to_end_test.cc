// `horizon machines` as a process: the list, one machine, and a file made from one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "common/documents/json.h"
#include "planner/machines/machine_catalog.h"
#include "simulator/hardware_profile.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectMisuse(const std::string& command, const std::string& message) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 2) << command;
  EXPECT_EQ(result.out, "") << command;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
}

void ExpectHundredColumns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Machines, AreListedWithTheirMainFigures) {
  const ProcessResult result = RunShell("\"$horizon\" machines");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  for (const std::string& name : MachineNames()) EXPECT_THAT(result.out, HasSubstr(name));
  EXPECT_THAT(result.out, HasSubstr("96 GB"));
  EXPECT_THAT(result.out, HasSubstr("251 GiB"));
  ExpectHundredColumns(result.out);
}

TEST(Machines, AreListedInJson) {
  const ProcessResult result = RunShell("\"$horizon\" machines --json");
  EXPECT_EQ(result.exit_code, 0);
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Value* list = answer->root.Find("machines");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->As<Value::Array>()->size(), MachineNames().size());
  const Value& first = list->As<Value::Array>()->front();
  EXPECT_EQ(*first.Find("name")->As<std::string>(), "gh200");
  EXPECT_EQ(*first.Find("device_memory_bytes")->As<int64_t>(), 96'000'000'000);
  EXPECT_EQ(*first.Find("cores")->As<int64_t>(), 72);
}

// A figure the text forgets would be one the user cannot know of.
TEST(Machines, OneIsShownWithEveryFieldOfTheFormat) {
  const ProcessResult result = RunShell("\"$horizon\" machines GH200");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("gh200: "));
  std::istringstream table(ProfileFieldTable());
  int figures = 0;
  for (std::string row; std::getline(table, row);) {
    const size_t begin = row.find('`');
    if (begin == row.npos || row.find("| figure |") == row.npos) {
      if (row.find("| curve |") == row.npos) continue;
    }
    const std::string field = row.substr(begin + 1, row.find('`', begin + 1) - begin - 1);
    // A catalog's machine has other disks, and nobody measured its lanes beside each other.
    if (field.starts_with("disks") || field.starts_with("contention")) continue;
    EXPECT_THAT(result.out, HasSubstr("\n" + field + " ")) << row;
    ++figures;
  }
  EXPECT_GT(figures, 20);
  EXPECT_THAT(result.out, HasSubstr("\ndisk / read "));
  EXPECT_THAT(result.out, HasSubstr("\nhost.adam.8bit-moments at 1 thread "));
  EXPECT_THAT(result.out, HasSubstr("[1] vendor data sheet"));
  for (const std::string& name : MachineNames()) {
    ExpectHundredColumns(RunShell("\"$horizon\" machines " + name).out);
  }
}

TEST(Machines, AFileMadeFromOneIsAMachine) {
  const ProcessResult made = RunShell(
      "set -e; \"$horizon\" machines t4 --json >mine.json\n"
      "sed -i 's/\"name\": \"t4\"/\"name\": \"mine\"/; s/\"cores\": 8/\"cores\": 6/' mine.json\n"
      "\"$horizon\" machines mine.json --json >again.json; \"$horizon\" machines mine.json >1.txt\n"
      "\"$horizon\" machines again.json | cmp - 1.txt; cat 1.txt");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("mine: T4"));
  EXPECT_THAT(made.out, HasSubstr("\ncores: 6 on 1 NUMA node\n"));
}

TEST(Machines, OneOfYourOwnIsMadeFromAnother) {
  const ProcessResult made = RunShell(
      "set -e; \"$horizon\" machines --from rtx4090 --host-memory 256GiB --dram 300GB/s --link "
      "20GB/s "
      "--cores 24 --name my-box --output box.json\n"
      "\"$horizon\" machines box.json");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("wrote box.json; use it as --machine box.json"));
  EXPECT_THAT(
      made.out,
      StartsWith("my-box: from rtx4090: RTX 4090 with 24 GB GDDR6X in a desktop with 128 GiB; with "
                 "256 GiB of host memory, DRAM of 300 GB/s, a link of 20 GB/s, 24 cores\n"));
  EXPECT_THAT(made.out, HasSubstr("given to 'horizon machines --from rtx4090'"));
  const Document box = *ParseJson("box.json", RunShell("cat box.json").out);
  const Value* host = box.root.Find("host");
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(*host->Find("cores")->As<int64_t>(), 24);
  for (const char* changed : {"memory_bytes", "dram", "pack"}) {
    EXPECT_THAT(*host->Find(changed)->Find("source")->As<std::string>(),
                StartsWith("given to 'horizon machines --from rtx4090'"))
        << changed;
  }
  EXPECT_THAT(*box.root.Find("device")->Find("memory_bytes")->Find("source")->As<std::string>(),
              HasSubstr("data sheet"))
      << "what was not changed keeps its origin";
  const std::string plan = "\"$horizon\" plan --model qwen2.5-7b --json --machine ";
  EXPECT_EQ(
      RunShell(plan + "box.json | grep -v machine").out,
      RunShell(plan + "rtx4090 --host-memory 256GiB --dram 300GB/s --link 20GB/s --cores 24 | "
                      "grep -v machine")
          .out);
}

TEST(Machines, OneOfYourOwnIsNamedByItsFileOrRefused) {
  EXPECT_THAT(RunShell("\"$horizon\" machines --from t4 --output 'My Box.json'").out,
              StartsWith("my-box: from t4: T4 "));
  EXPECT_THAT(RunShell("\"$horizon\" machines --from t4 --json").out,
              HasSubstr("\"name\": \"own\""));
  ExpectMisuse("\"$horizon\" machines t4 --cores 3", "need --from MACHINE");
  ExpectMisuse("\"$horizon\" machines --output x.json", "need --from MACHINE");
  ExpectMisuse("\"$horizon\" machines l40s --from t4", "name two machines");
  ExpectMisuse("\"$horizon\" machines --from t4 --name 'My Box'", "small letters");
  ExpectMisuse("\"$horizon\" machines --from t4 --output t4.json", "is a machine of the catalog");
  ExpectMisuse("\"$horizon\" machines --from h100", "h100-sxm");
  ExpectMisuse("\"$horizon\" machines --from t4 --host-memory 64", "64GiB");
}

TEST(Machines, OptionalAndMeasuredFiguresAreShown) {
  const ProcessResult result = RunShell(
      "set -e; \"$horizon\" machines t4 --json >t4.json\n"
      "sed 's/^    \"numa_nodes\": 1,/    \"cgroup_bytes\": {\"value\": 32000000000, "
      "\"origin\": \"measured\", \"source\": \"cgroup file\", \"when\": \"2026-02-03\", "
      "\"repeats\": 7, \"spread\": 0.05},\\n&/' t4.json >limited.json\n"
      "\"$horizon\" machines limited.json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("\nhost.cgroup_bytes +32 GB +7 +5\\.0 % +measured"));
  EXPECT_THAT(result.out, HasSubstr("cgroup file (2026-02-03)\n"));
}

TEST(Machines, UnknownOnesAndBadFilesAreMisuse) {
  ExpectMisuse("\"$horizon\" machines gh20", "did you mean 'gh200'?");
  ExpectMisuse("\"$horizon\" machines ''", "no machine \"\"");
  ExpectMisuse("\"$horizon\" machines t4 l40s", "one argument too many: 'l40s'");
  WriteFile("bad.json", "{\"version\": 1,\n \"name\": 3}");
  ExpectMisuse("\"$horizon\" machines bad.json", "bad.json:2: name");
  ExpectMisuse("\"$horizon\" machines .", "is a directory");
  EXPECT_EQ(RunShell("\"$horizon\" machines t4 >/dev/full").exit_code, 6);
}

}  // namespace
}  // namespace horizon
