// `horizon profile` as a person runs it, and who uses what it measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/documents/json.h"
#include "simulator/hardware_profile.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProfileCommand, IsMeasuredOnceAndUsedByPlansFromThenOn) {
  const ProcessResult measured = RunShell(
      "rm -rf cache && \"$horizon\" profile --quick --device host --folder . --output mine.json "
      "--json");
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_THAT(measured.err,
              AllOf(HasSubstr("measuring this machine for about "), HasSubstr("wrote mine.json"),
                    HasSubstr("kept in "), HasSubstr("/cache/horizon/profile-")));
  EXPECT_EQ(RunShell("cat mine.json").out, measured.out);
  const absl::StatusOr<Document> document = ParseJson("mine.json", measured.out);
  ASSERT_TRUE(document.ok()) << document.status();
  const absl::StatusOr<HardwareProfile> profile = ReadProfile(*document);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->device.kind, DeviceKind::kHost);
  EXPECT_EQ(profile->device.gemm_fp32.origin.kind, OriginKind::kMeasured);
  EXPECT_THAT(profile->device.gemm_fp32.origin.when, HasSubstr(" UTC"));
  ASSERT_EQ(profile->disks.size(), 1u);
  EXPECT_GT(profile->disks[0].write_bytes_per_second.value, 0);
  EXPECT_EQ(profile->disks[0].read_bytes_per_second.origin.kind, OriginKind::kMeasured);
  ASSERT_TRUE(profile->measured_on.has_value());
  EXPECT_TRUE(profile->measured_on->quick);
  EXPECT_EQ(profile->measured_on->hardware.device, "host");
  ASSERT_TRUE(profile->host.topology.has_value());
  EXPECT_GE(profile->host.topology->hardware_threads, profile->host.cores);
  ASSERT_TRUE(profile->host.allowance.has_value());
  // Five lanes beside each other where there are cores for two, and rates in runs where there is
  // memory for them.
  EXPECT_EQ(profile->contention.size(), profile->host.cores < 2 ? 0u : 20u);
  const std::optional<Figure>& compute = profile->in_runs[static_cast<size_t>(RateGroup::kCompute)];
  ASSERT_TRUE(compute.has_value());
  EXPECT_EQ(compute->origin.kind, OriginKind::kMeasured);
  // What is kept is the same file.
  EXPECT_EQ(RunShell("cat cache/horizon/profile-*").out, measured.out);
  // Whoever plans for this machine finds it, and measures nothing.
  for (const std::string command : {"plan --model qwen2.5-0.5b", "max-model --machine this"}) {
    const ProcessResult planned = RunShell("\"$horizon\" " + command);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_THAT(planned.err, AllOf(HasSubstr("profile of this machine: new, quick; `horizon "
                                             "profile` measures again"),
                                   Not(HasSubstr("measuring"))));
    EXPECT_THAT(planned.out, HasSubstr("this-machine"));
  }
  // It can be named, and changed, like any machine.
  const ProcessResult named =
      RunShell("\"$horizon\" plan --model qwen2.5-0.5b --machine mine.json --host-memory 64GiB");
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(named.err,
              AllOf(HasSubstr("info: --machine mine.json: measured on "),
                    HasSubstr(", device host; new, quick\n"), Not(HasSubstr("warning"))));
  const ProcessResult shown = RunShell("\"$horizon\" machines this");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("\nmeasured: "), HasSubstr("\nmemory: "), HasSubstr("\npages: "),
                    HasSubstr("measured figures"), HasSubstr("\nin_runs.compute ")));
  EXPECT_EQ(shown.out.find("beside optimizer\n") != std::string::npos, profile->host.cores >= 2);
  // A file that was torn is measured again, not stumbled over.
  const ProcessResult torn = RunShell(
      "for f in cache/horizon/profile-*; do echo '{' > \"$f\"; done; "
      "\"$horizon\" plan --model qwen2.5-0.5b");
  EXPECT_EQ(torn.exit_code, 0) << torn.err;
  EXPECT_THAT(torn.err, AllOf(HasSubstr("warning: the profile that was kept cannot be used: "),
                              HasSubstr("measuring this machine")));
  // Old, or of another program: said so.
  const ProcessResult old = RunShell(
      "sed -i 's/\"made\": [0-9]*/\"made\": 1000000000/' cache/horizon/profile-*; "
      "\"$horizon\" max-model --machine this");
  EXPECT_EQ(old.exit_code, 0) << old.err;
  EXPECT_THAT(old.err, HasSubstr("; older than 30 days: `horizon profile` measures again\n"));
  const ProcessResult other = RunShell(
      "sed -i 's/\"kernels\": \"[0-9]*/&1/' cache/horizon/profile-*; "
      "\"$horizon\" max-model --machine this");
  EXPECT_THAT(other.err, HasSubstr("; measured with other kernels than these: "));
}

// The run happens here, so that a profile of elsewhere is worth a warning; a question is not.
TEST(ProfileCommand, AProfileOfAnotherMachineIsWarnedOfWithWhatDiffers) {
  const ProcessResult made = RunShell(
      "set -e; \"$horizon\" machines cpu-desktop --json >desktop.json\n"
      "sed '$ d' desktop.json >other.json\n"
      "cat >>other.json <<END\n"
      ",\"measured_on\": {\"processor\": \"Elsewhere 9000\", \"cores\": 777,"
      " \"hardware_threads\": 778, \"memory_bytes\": 1073741824, \"numa_nodes\": 1,"
      " \"device\": \"host\", \"made\": 1000000000, \"quick\": false, \"kernels\": \"1\"}}\n"
      "END\n"
      "\"$horizon\" plan --model qwen2.5-0.5b --machine other.json >/dev/null");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err,
              AllOf(HasSubstr("info: --machine other.json: measured on Elsewhere 9000, 777 "
                              "cores, 1 GiB, device host; "),
                    HasSubstr(" days old; measured with other kernels than these"),
                    Not(HasSubstr("warning"))));
  const auto warned =
      AllOf(HasSubstr("warning: --machine other.json was measured on another machine (processor: "),
            HasSubstr(" instead of Elsewhere 9000, cores: "),
            HasSubstr("and the run happens here: predictions may be far off"));
  const ProcessResult train = RunShell(
      "for i in $(seq 2000); do echo \"line $i of a text\"; done >text.txt; "
      "\"$horizon\" train --machine other.json --device host --model qwen2.5-0.5b --init random "
      "--data text.txt --tokenizer byte --output run --steps 1 --device-memory 1MiB");
  EXPECT_EQ(train.exit_code, 3) << train.err;
  EXPECT_THAT(train.err, warned);
  // Refused for its GPU, but not before it is said whose it is.
  const ProcessResult validate = RunShell(
      "sed 's/\"kind\": \"host\"/\"kind\": \"cuda\"/' other.json >gpu.json; mv gpu.json "
      "other.json; "
      "\"$horizon\" validate --quick --machine other.json");
  EXPECT_EQ(validate.exit_code, 2) << validate.err;
  EXPECT_THAT(validate.err, warned);
}

TEST(ProfileCommand, ACacheOrADiskThatCannotBeWrittenIsAWarning) {
  const ProcessResult result = RunShell(
      "export XDG_CACHE_HOME=\"$PWD/blocked\"; touch blocked; "
      "mkdir -p closed && cd closed && mkdir .disk-probe && "
      "\"$horizon\" profile --quick --device host");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("warning: the profile is not kept for later: "),
                                HasSubstr("warning: the disk is not measured: "),
                                HasSubstr("--folder names another place")));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("device.gemm_fp32 at dimension 768"),
                    HasSubstr("Where the figures come from"), Not(HasSubstr("\ndisk: "))));
}

TEST(ProfileCommand, MisuseIsNamed) {
  const ProcessResult folder =
      RunShell("\"$horizon\" profile --quick --device host --folder none/where");
  EXPECT_EQ(folder.exit_code, 2) << folder.err;
  EXPECT_THAT(folder.err, HasSubstr("none/where"));
}

}  // namespace
}  // namespace horizon
