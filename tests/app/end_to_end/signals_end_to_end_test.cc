// Signals to real processes, at the moments that their messages tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/measured_profile.h"
#include "tests/app/support/run_program.h"
#include "tests/app/support/watched_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProcessResult Watch(const std::string& commands) {
  return RunShell(StrCat(WatchedRunFunctions(), commands));
}

TEST(Signals, AClosedTerminalIsFollowedByASaveThoughItSendsSeveral) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start --save-every 0; await 'step 1/'
kill -HUP $pid; kill -HUP $pid; kill -HUP $pid
finish; echo "code $code"; tail -1 err; "$horizon" checkpoint verify run >/dev/null; echo "verify $?")sh");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("code 75\n"), HasSubstr("holds its state"), HasSubstr("verify 0\n")))
      << result.err;
}

TEST(Signals, UnderNohupAClosedTerminalIsIgnored) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
trap '' HUP  # as nohup does it
start --save-every 10; await 'step 1/'
kill -HUP $pid; await 'saved step '; await 'saved step '
kill -TERM $pid; finish; echo "code $code")sh");
  EXPECT_THAT(result.out, HasSubstr("code 75\n")) << result.err;
}

// `horizon train 2>&1 | head -1`, or a tee that died.
TEST(Signals, MessagesAndAnswersThatNobodyReadsDoNotEndARun) {
  PrepareWatchedRun();
  const ProcessResult result = RunShell(R"sh(
{ "$horizon" train --config job.yaml --steps 40 2>&1; echo "code $?" >code; } | head -1
cat code; ls run/model
{ "$horizon" machines --json; echo "code $?" >code; } | true
cat code)sh");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\ncode 0\n"), HasSubstr("config.json"), Not(HasSubstr("code 141"))));
  EXPECT_EQ(result.err, "");
}

// Nothing is lost at these moments, so nothing is saved: the process ends, says so, and leaves no
// folder that the same command would refuse.
TEST(Signals, BeforeTheFirstStepEndWithOurCodeAndTheSameCommandBeginsAgain) {
  struct Moment {
    std::string signal;
    std::string after;    // this message the signal is sent
    std::string prepare;  // makes the work long that follows it
  };
  const std::string much_data =
      "for i in 1 2 3 4 5 6 7 8 9 10 11; do cat qa.jsonl qa.jsonl >more; mv more qa.jsonl; done";
  for (const Moment& moment :
       {Moment{"TERM", "device host", much_data},  // is tokenised
        Moment{"HUP", "device host", much_data},
        Moment{"INT", "measuring this machine", "sed -i /^machine/d job.yaml"},
        Moment{"USR1", "limits:", ""}}) {  // memory is taken
    SCOPED_TRACE(moment.signal);
    PrepareWatchedRun();
    const ProcessResult result = Watch(
        StrCat("set -m  # or SIGINT is ignored in the background\n", moment.prepare,
               "\nstart; await '", moment.after, "'; kill -", moment.signal,
               " $pid; finish; echo \"code $code\"; tail -1 err\n"
               "\"$horizon\" train --config job.yaml --machine cpu-desktop --steps 2 >/dev/null "
               "2>err || cat err; ls run/model"));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("code 75\n"));
    // That work is short: the steps may have begun.
    if (moment.signal == "USR1") continue;
    EXPECT_THAT(
        result.out,
        AllOf(HasSubstr(StrCat("error: stopped by SIG", moment.signal, " before the first step")),
              HasSubstr("\nconfig.json\n")));
  }
}

// Whatever a start has written when it is stopped or killed.
TEST(Signals, AStartThatIsKilledInItsFolderCanBeMadeAgain) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start; await 'a checkpoint takes'; kill -KILL $pid; finish; echo "code $code"
rm -f run/metrics.jsonl; rm -rf run/checkpoints  # as if it had been before its first step
"$horizon" train --config job.yaml --steps 2 >/dev/null 2>err || cat err; ls run/model)sh");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 137\n"), HasSubstr("config.json")));
}

TEST(Signals, ADemoThatWasStoppedBeforeItsFirstStepCanBeStartedAgain) {
  PrepareWatchedRun();
  UseMeasuredProfile();
  const ProcessResult result = Watch(R"sh(
mkfifo messages; "$horizon" demo --output demo --steps 2 2>messages >/dev/null & pid=$!
exec 3<messages; : >err; await 'wrote'; kill -TERM $pid; finish; echo "code $code"
"$horizon" demo --output demo --steps 2 >/dev/null 2>err || cat err
"$horizon" demo --output demo --steps 2 2>err; echo "again $?")sh");
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 75\n"), HasSubstr("again 2\n"))) << result.err;
}

}  // namespace
}  // namespace horizon
