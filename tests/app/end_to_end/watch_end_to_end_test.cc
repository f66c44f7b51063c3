// `horizon watch` as a person runs it, beside a training that goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// A training that goes on until it is stopped; `training` is its process, and its first step is
// done when the next line runs.
std::string StartTraining() {
  return StrCat("coproc train { exec \"$horizon\" train --machine cpu-desktop --threads 1 ",
                "--model model --data batches.jsonl --output run --steps 1000000 --sequence 40 ",
                "--link 20MB/s 2>&1; }\n", "training=$train_PID\n",
                "while read -r line <&${train[0]}; do [[ $line == *'step 1/'* ]] && break; done\n",
                "cat <&${train[0]} >/dev/null &\n");
}

// A watch on any free port; `address`, `port` and `watching`, its process.
std::string StartWatching(const std::string& more = "run") {
  return StrCat("coproc watch { exec \"$horizon\" watch --port 0 ", more, " 2>watch.err; }\n",
                "watching=$watch_PID\n", "read -r -t 60 address <&${watch[0]}\n",
                "rest=${address#http://*:}; port=${rest%%/*}\n");
}

// What the server sends for a target, in lines, until it closes or `until` has come.
constexpr char kAsk[] = R"(
ask() {
  exec 9<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET %s HTTP/1.1\r\nHost: localhost:%s\r\n\r\n' "$1" "$port" >&9
  while read -r -t 60 line <&9 || [[ -n $line ]]; do
    printf '%s\n' "$line"
    [[ -n ${2-} && $line == *"$2"* ]] && break
  done
  exec 9<&-
}
)";

TEST(WatchCommand, FollowsATrainingToItsEnd) {
  PrepareGolden("llama");
  const ProcessResult result = RunShell(StrCat(kAsk, StartTraining(), StartWatching(), R"(
echo "address $address"
ask / | grep -c 'new EventSource'
# The stream: first all there is, then steps as they are done, then the end.
exec 8<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /events HTTP/1.1\r\nHost: localhost:%s\r\n\r\n' "$port" >&8
stopped=no
while read -r -t 120 line <&8; do
  [[ $line == 'data: {"problem": null,'*'"state": "running"'* ]] && echo 'all of a running one'
  if [[ $stopped == no && $line == 'data: ['*'["append", ["metrics", "loss"], ['* ]]; then
    echo 'a step'
    stopped=yes
    kill -INT "$training"
  fi
  [[ $line == *'["set", ["state"], "interrupted"]'* ]] && echo 'the end' && break
done
ask /data | grep -o '"state": "[a-z]*"'
kill -INT "$watching"
wait "$watching"
echo "watch ended with $?"
)"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, MatchesRegex("address http://127\\.0\\.0\\.1:[0-9]+/\n"
                                       "1\n"
                                       "all of a running one\n"
                                       "a step\n"
                                       "the end\n"
                                       "\"state\": \"interrupted\"\n"
                                       "watch ended with 0\n"))
      << result.err;
  EXPECT_THAT(RunShell("cat watch.err").out,
              AllOf(HasSubstr("serving run, which is running"), HasSubstr("stopped serving run")));
}

class WatchOfAFinishedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    PrepareGolden("llama");
    const ProcessResult result =
        RunShell(StrCat("\"$horizon\" train --machine cpu-desktop --threads 2 ", kGoldenRun));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
};

TEST_F(WatchOfAFinishedRun, ShowsTheFinalReport) {
  const ProcessResult result = RunShell(StrCat(kAsk, StartWatching(), R"(
ask /data | grep -o '"state": "[a-z]*", "steps_done": [0-9]*'
kill -TERM "$watching"; wait "$watching"; echo "ended with $?")"));
  EXPECT_EQ(result.out, "\"state\": \"complete\", \"steps_done\": 8\nended with 0\n") << result.err;
}

TEST_F(WatchOfAFinishedRun, TellsItsAddressInJsonToo) {
  const ProcessResult result = RunShell(R"(
coproc watch { exec "$horizon" watch run --port 0 --json 2>watch.err; }
watching=$watch_PID
while read -r -t 60 line <&${watch[0]}; do echo "$line"; [[ $line == '}' ]] && break; done
kill -TERM "$watching"; wait "$watching")");
  EXPECT_THAT(result.out, MatchesRegex("\\{\n\"url\": \"http://127\\.0\\.0\\.1:[0-9]+/\",\n"
                                       "\"port\": [0-9]+\n\\}\n"))
      << result.err;
}

TEST_F(WatchOfAFinishedRun, APortInUseIsOneClearLine) {
  const ProcessResult result = RunShell(StrCat(StartWatching(), R"(
"$horizon" watch run --port "$port"; echo "second: $?"
kill -INT "$watching"; wait "$watching")"));
  EXPECT_EQ(result.out, "second: 6\n");
  EXPECT_THAT(result.err, MatchesRegex("error: cannot listen on 127\\.0\\.0\\.1 port [0-9]+: it is "
                                       "in use; take another with --port, or any free one with "
                                       "--port 0\n"));
}

TEST_F(WatchOfAFinishedRun, BeyondLoopbackATokenIsMadeAndAskedFor) {
  const ProcessResult result = RunShell(StrCat(kAsk, StartWatching("run --bind 0.0.0.0"), R"(
echo "$address"
ask /data | head -1
ask "/data?${address#*\?}" | head -1
kill -INT "$watching"; wait "$watching")"));
  EXPECT_THAT(result.out, MatchesRegex("http://0\\.0\\.0\\.0:[0-9]+/\\?token=[0-9a-f]+\n"
                                       "HTTP/1.1 401 Unauthorized\r\n"
                                       "HTTP/1.1 200 OK\r\n"))
      << result.err;
}

// They hold every place there is, and their sockets take what they are sent for a while.
TEST_F(WatchOfAFinishedRun, AHundredFollowersThatNeverReadKeepNobodyOut) {
  const ProcessResult result = RunShell(StrCat(kAsk, StartWatching(), R"(
for ((i = 0; i < 100; ++i)); do
  exec {follower}<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET /events HTTP/1.1\r\nHost: localhost:%s\r\n\r\n' "$port" >&$follower
done
ask / | head -1
ask /data | grep -o '"state": "[a-z]*"'
ask /events 'data: {' | grep -o '^event: view'
kill -TERM "$watching"; wait "$watching"; echo "ended with $?")"));
  EXPECT_EQ(result.out, "HTTP/1.1 200 OK\r\n\"state\": \"complete\"\nevent: view\nended with 0\n")
      << result.err;
}

// A run of weeks: what is kept of it does not grow with its steps.
TEST_F(WatchOfAFinishedRun, TakesNoMoreMemoryForALongRunThanForAShortOne) {
  const ProcessResult made = RunShell(R"(
rm -rf long && cp -r run long && rm long/run.json
sed -i 's/"steps": 8/"steps": 200000/' long/job.json
tail -1 run/metrics.jsonl | awk '{ rest = $0; sub(/^{"step": [0-9]+/, "", rest)
  for (i = 9; i <= 150000; ++i) print "{\"step\": " i rest }' >>long/metrics.jsonl
wc -l <long/metrics.jsonl)");
  ASSERT_EQ(made.out, "150000\n") << made.err;
  const auto peak_of = [&](const std::string& folder, const std::string& steps) {
    const ProcessResult result = RunShell(StrCat(kAsk, StartWatching(folder), R"(
ask /data | grep -o '"steps_done": [0-9]*'
awk '/VmHWM/ { print $2 }' "/proc/$watching/status"
kill -TERM "$watching"; wait "$watching")"));
    const std::string head = StrCat("\"steps_done\": ", steps, "\n");
    EXPECT_EQ(result.out.substr(0, head.size()), head) << result.err;
    return std::atol(result.out.c_str() + std::min(result.out.size(), head.size()));  // KiB
  };
  const long short_run = peak_of("run", "8");
  const long long_run = peak_of("long", "150000");
  EXPECT_GT(short_run, 1000);
  EXPECT_LT(long_run, short_run + 16 * 1024);
  EXPECT_LT(std::atol(RunShell(StrCat(kAsk, StartWatching("long"), R"(
ask /data | wc -c
kill -TERM "$watching"; wait "$watching")"))
                          .out.c_str()),
            2'000'000);
}

TEST_F(WatchOfAFinishedRun, ATornFolderIsToldAndShownWhenItIsMended) {
  const ProcessResult result = RunShell(StrCat(
      kAsk,
      "rm -rf torn && cp -r run torn && head -c 100 run/timelines.json >torn/timelines.json\n",
      StartWatching("torn"), R"(
ask /data | grep -o '"problem": "the run folder torn is torn'
exec 8<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /events HTTP/1.1\r\nHost: localhost:%s\r\n\r\n' "$port" >&8
while read -r -t 60 line <&8; do [[ $line == 'data: {"problem"'* ]] && break; done
cp run/timelines.json torn/
while read -r -t 60 line <&8; do [[ $line == *'"steps_done"'* ]] && echo mended && break; done
rm -r torn
while read -r -t 60 line <&8; do [[ $line == *'["problem"], "cannot'* ]] && echo gone && break; done
kill -INT "$watching"; wait "$watching"; echo "ended with $?")"));
  EXPECT_EQ(result.out, "\"problem\": \"the run folder torn is torn\nmended\ngone\nended with 0\n")
      << result.err << RunShell("cat watch.err").out;
}

TEST_F(WatchOfAFinishedRun, WhatCannotBeServedIsRefusedInWords) {
  const ProcessResult nothing = RunShell("\"$horizon\" watch nothing --port 0");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("nothing"));
  const ProcessResult model = RunShell("\"$horizon\" watch model --port 0");
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("is no run folder"));
  const ProcessResult bind = RunShell("\"$horizon\" watch run --bind example.org");
  EXPECT_EQ(bind.exit_code, 2);
  EXPECT_THAT(bind.err, HasSubstr("'example.org' is no address"));
  const ProcessResult token = RunShell("\"$horizon\" watch run --token 'a b'");
  EXPECT_EQ(token.exit_code, 2);
  EXPECT_THAT(token.err, AllOf(HasSubstr("a token needs"), Not(HasSubstr("a b"))));
}

}  // namespace
}  // namespace horizon
