// `horizon profile` as a person runs it, and who uses what it measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/json.h"
#include "simulator/hardware_profile.h"
#include "tests/app/run_program.h"

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
  // A file that was torn is measured again, not stumbled over.
  const ProcessResult torn = RunShell(
      "for f in cache/horizon/profile-*; do echo '{' > \"$f\"; done; "
      "\"$horizon\" plan --model qwen2.5-0.5b");
  EXPECT_EQ(torn.exit_code, 0) << torn.err;
  EXPECT_THAT(torn.err, HasSubstr("measuring this machine"));
}

TEST(ProfileCommand, ACacheThatCannotBeWrittenIsAWarning) {
  const ProcessResult result = RunShell(
      "export XDG_CACHE_HOME=\"$PWD/blocked\"; touch blocked; "
      "\"$horizon\" profile --quick --device host");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("warning: the profile is not kept for later: "));
  EXPECT_THAT(result.out, AllOf(HasSubstr("device.gemm_fp32 at dimension 512"),
                                HasSubstr("Where the figures come from:")));
}

TEST(ProfileCommand, MisuseIsNamed) {
  const ProcessResult folder =
      RunShell("\"$horizon\" profile --quick --device host --folder none/where");
  EXPECT_EQ(folder.exit_code, 2) << folder.err;
  EXPECT_THAT(folder.err, HasSubstr("none/where"));
}

}  // namespace
}  // namespace horizon
