// Signals to real processes, at the moments that their messages tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/str_cat.h"
#include "tests/app/run_program.h"
#include "tests/app/watched_run.h"

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
  const ProcessResult result = Watch(R"(
start --save-every 0; await 'step 1/'
kill -HUP $pid; kill -HUP $pid; kill -HUP $pid
finish; echo "code $code"; tail -1 err; "$horizon" checkpoint verify run >/dev/null; echo "verify $?")");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("code 75\n"), HasSubstr("holds its state"), HasSubstr("verify 0\n")))
      << result.err;
}

TEST(Signals, UnderNohupAClosedTerminalIsIgnored) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"(
trap '' HUP  # as nohup does it
start --save-every 10; await 'step 1/'
kill -HUP $pid; await 'saved step '; await 'saved step '
kill -TERM $pid; finish; echo "code $code")");
  EXPECT_THAT(result.out, HasSubstr("code 75\n")) << result.err;
}

// `horizon train 2>&1 | head -1`, or a tee that died.
TEST(Signals, MessagesAndAnswersThatNobodyReadsDoNotEndARun) {
  PrepareWatchedRun();
  const ProcessResult result = RunShell(R"(
{ "$horizon" train --config job.yaml --steps 40 2>&1; echo "code $?" >code; } | head -1
cat code; ls run/model
{ "$horizon" machines --json; echo "code $?" >code; } | true
cat code)");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\ncode 0\n"), HasSubstr("config.json"), Not(HasSubstr("code 141"))));
  EXPECT_EQ(result.err, "");
}

// Nothing is lost at these moments, so nothing is saved: the process ends, says so, and leaves no
// folder that the same command would refuse.
TEST(Signals, BeforeTheFirstStepEndWithOurCodeAndTheSameCommandBeginsAgain) {
  PrepareWatchedRun();
  ASSERT_EQ(RunShell("for i in $(seq 400); do cat qa.jsonl; done >big.jsonl").exit_code, 0);
  struct Moment {
    std::string signal;
    std::string after;      // this message the signal is sent
    std::string arguments;  // that make the work that follows it long
  };
  for (const Moment& moment : {
           Moment{"TERM", "device host", "--data big.jsonl"},  // tokenises
           Moment{"INT", "measuring this machine", "--machine ''"},
           Moment{"USR1", "limits:", ""},  // opens the trainer
           Moment{"HUP", "device host", ""},
       }) {
    SCOPED_TRACE(moment.signal);
    const std::string machine =
        moment.arguments.find("--machine") == std::string::npos
            ? ""
            : "sed -i /^machine/d job.yaml; export XDG_CACHE_HOME=$PWD/empty; rm -rf empty\n";
    const std::string arguments = machine.empty() ? moment.arguments : "";
    const ProcessResult result = Watch(
        StrCat("set -m  # SIGINT is not ignored in the background then\nrm -rf run\n", machine,
               "start ", arguments, "; await '", moment.after, "'; kill -", moment.signal,
               " $pid; finish; echo \"code $code\"; tail -1 err\n"
               "\"$horizon\" train --config job.yaml --machine cpu-desktop --steps 2 >/dev/null "
               "2>err || cat err; ls run/model"));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("code 75\n"), HasSubstr("config.json")));
    // The trainer may be open before the signal is there.
    if (moment.signal != "USR1") {
      EXPECT_THAT(result.out, HasSubstr(StrCat("error: stopped by SIG", moment.signal,
                                               " before the first step")));
    }
    PrepareWatchedRun();
    ASSERT_EQ(RunShell("for i in $(seq 400); do cat qa.jsonl; done >big.jsonl").exit_code, 0);
  }
}

TEST(Signals, ADemoThatWasStoppedBeforeItsFirstStepCanBeStartedAgain) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"(
mkfifo messages; "$horizon" demo --output demo --steps 2 2>messages >/dev/null & pid=$!
exec 3<messages; : >err; await 'wrote'; kill -TERM $pid; finish; echo "code $code"
"$horizon" demo --output demo --steps 2 >/dev/null 2>err || cat err
"$horizon" demo --output demo --steps 2 2>err; echo "again $?")");
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 75\n"), HasSubstr("again 2\n"))) << result.err;
}

}  // namespace
}  // namespace horizon
