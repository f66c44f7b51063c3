#include "common/signal_flag.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace horizon {
namespace {

std::atomic<int> calls_of_old_handler{0};
void OldHandler(int) { ++calls_of_old_handler; }

// What the process does with a signal; put back at the end.
class WithAction {
 public:
  WithAction(int number, void (*handler)(int)) : number_(number) {
    struct sigaction action = {};
    action.sa_handler = handler;
    EXPECT_EQ(sigaction(number, &action, &before_), 0);
  }
  ~WithAction() { sigaction(number_, &before_, nullptr); }

 private:
  int number_;
  struct sigaction before_ = {};
};

auto HandlerOf(int number) {
  struct sigaction action = {};
  EXPECT_EQ(sigaction(number, nullptr, &action), 0);
  return action.sa_handler;
}

// The wait status of a child that does `work` and then exits with 0.
int StatusOfChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(StopSignals, NothingIsRequestedAtFirst) {
  const StopSignals stop;
  EXPECT_FALSE(stop.requested());
  EXPECT_EQ(stop.name(), "");
}

TEST(StopSignals, TheFirstSignalIsOnlyNotedWithItsName) {
  for (const auto& [number, name] : std::vector<std::pair<int, std::string>>{
           {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}}) {
    const StopSignals stop;
    ASSERT_EQ(raise(number), 0);
    EXPECT_TRUE(stop.requested());
    EXPECT_EQ(stop.name(), name);
  }
}

TEST(StopSignals, ASignalFromOutsideIsSeenByEveryThread) {
  const StopSignals stop;
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  bool seen = false;
  std::thread other([&] { seen = stop.requested() && stop.name() == "SIGTERM"; });
  other.join();
  EXPECT_TRUE(seen);
}

TEST(StopSignals, ASignalThatArrivesInAnotherThreadIsSeen) {
  const StopSignals stop;
  std::thread other([] { raise(SIGINT); });
  other.join();
  EXPECT_TRUE(stop.requested());
}

TEST(StopSignals, ANewOneStartsUnrequested) {
  std::optional<StopSignals> stop(std::in_place);
  raise(SIGINT);
  stop.reset();
  stop.emplace();
  EXPECT_FALSE(stop->requested());
  EXPECT_EQ(stop->name(), "");
  raise(SIGTERM);  // were the first still counted, this would end the test
  EXPECT_EQ(stop->name(), "SIGTERM");
}

TEST(StopSignals, TheOldHandlersComeBack) {
  const WithAction interrupt(SIGINT, OldHandler);
  const WithAction terminate(SIGTERM, SIG_DFL);
  calls_of_old_handler = 0;
  {
    const StopSignals stop;
    EXPECT_NE(HandlerOf(SIGTERM), SIG_DFL);
    raise(SIGINT);
    EXPECT_EQ(calls_of_old_handler, 0);
  }
  EXPECT_EQ(HandlerOf(SIGINT), OldHandler);
  EXPECT_EQ(HandlerOf(SIGTERM), SIG_DFL);
  raise(SIGINT);
  EXPECT_EQ(calls_of_old_handler, 1);
}

TEST(StopSignals, AnIgnoredSignalStaysIgnored) {
  const WithAction ignored(SIGINT, SIG_IGN);
  {
    const StopSignals stop;
    raise(SIGINT);
    EXPECT_FALSE(stop.requested());
    raise(SIGTERM);
    EXPECT_EQ(stop.name(), "SIGTERM");
    raise(SIGINT);  // not a second one
  }
  EXPECT_EQ(HandlerOf(SIGINT), SIG_IGN);
}

TEST(StopSignals, TheSecondSignalEndsTheProgramWhicheverItIs) {
  for (const int first : {SIGINT, SIGTERM}) {
    for (const int second : {SIGINT, SIGTERM}) {
      const int status = StatusOfChild([&] {
        const StopSignals stop;
        raise(first);
        if (!stop.requested()) _exit(3);
        raise(second);
      });
      EXPECT_TRUE(WIFSIGNALED(status)) << first << " then " << second << ": " << status;
      EXPECT_EQ(WTERMSIG(status), second);
    }
  }
}

TEST(StopSignals, TheSecondSignalEndsAProgramWhoseThreadsAreBusy) {
  const int status = StatusOfChild([] {
    const StopSignals stop;
    // The main thread waits and takes no signal; the other one works and takes both.
    std::thread busy([&] {
      while (!stop.requested()) {
      }
      kill(getpid(), SIGINT);
      _exit(3);
    });
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, nullptr);
    kill(getpid(), SIGTERM);
    busy.join();
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(StopSignals, TheSecondSignalEndsTheProgramThoughAnotherHandlerWasThereBefore) {
  const WithAction old(SIGINT, OldHandler);
  const int status = StatusOfChild([] {
    const StopSignals stop;
    raise(SIGINT);
    raise(SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
}

TEST(StopSignals, SystemCallsThatWaitAreNotCutShort) {
  const StopSignals stop;
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    ASSERT_EQ(sigaction(number, nullptr, &action), 0);
    EXPECT_NE(action.sa_flags & SA_RESTART, 0);
  }
}

// The kernel sends one to the foreground and the shell another.
TEST(StopSignals, AClosedTerminalThatSendsSeveralSignalsStopsNothingAtOnce) {
  const StopSignals stop;
  for (int i = 0; i < 3; ++i) raise(SIGHUP);
  EXPECT_EQ(stop.name(), "SIGHUP");
}

TEST(StopSignals, AHangUpThatWasIgnoredStaysIgnored) {
  const WithAction ignored(SIGHUP, SIG_IGN);
  const StopSignals stop;
  raise(SIGHUP);
  EXPECT_FALSE(stop.requested());
}

// What the child writes to standard error, and how it ends.
struct Ended {
  int status = -1;
  std::string errors;
};
Ended EndOfChild(const std::function<void()>& work) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  Ended result;
  result.status = StatusOfChild([&] {
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    work();
  });
  close(ends[1]);
  char piece[4096];
  for (ssize_t count = 0; (count = read(ends[0], piece, sizeof(piece))) > 0;) {
    result.errors.append(piece, static_cast<size_t>(count));
  }
  close(ends[0]);
  return result;
}

TEST(StopSignals, WhileThereIsNothingToSaveEverySignalEndsTheProcessWithALineAndTheCode) {
  for (const auto& [number, name] : std::vector<std::pair<int, std::string>>{
           {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}}) {
    const Ended ended = EndOfChild([&, number = number] {
      const StopSignals stop({.before = "stopped by ", .after = ".", .exit_code = 75});
      // The one that takes the signal is not the one that works.
      std::thread other([&] { raise(number); });
      other.join();
    });
    ASSERT_TRUE(WIFEXITED(ended.status)) << name << ": " << ended.status;
    EXPECT_EQ(WEXITSTATUS(ended.status), 75);
    EXPECT_EQ(ended.errors, "stopped by " + name + ".\n");
  }
}

TEST(StopSignals, ATextThatIsTooLongIsCutAndEndsTheLine) {
  const Ended ended = EndOfChild([] {
    const StopSignals stop({.before = "", .after = std::string(5000, 'x'), .exit_code = 9});
    raise(SIGTERM);
  });
  EXPECT_EQ(WEXITSTATUS(ended.status), 9);
  EXPECT_EQ(ended.errors, "SIGTERM" + std::string(StopSignals::kLongestLine - 8, 'x') + "\n");
}

TEST(StopSignals, OnceThereIsSomethingToSaveASignalIsOnlyNoted) {
  StopSignals stop({.before = "stopped by ", .after = ".", .exit_code = 75});
  stop.NoteOnly();
  raise(SIGTERM);
  EXPECT_EQ(stop.name(), "SIGTERM");
}

TEST(StopSignals, ALaterOneThatOnlyNotesDoesNotEndAtOnce) {
  { const StopSignals stop({.before = "", .after = "", .exit_code = 75}); }
  const StopSignals stop;
  raise(SIGTERM);
  EXPECT_TRUE(stop.requested());
}

TEST(WriteSignals, AClosedPipeAndAFileThatMayNotGrowAreErrors) {
  const int status = StatusOfChild([] {
    IgnoreWriteSignals();
    int ends[2];
    if (pipe(ends) != 0) _exit(3);
    close(ends[0]);
    if (write(ends[1], "x", 1) != -1 || errno != EPIPE) _exit(4);
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) _exit(5);
    std::FILE* file = std::tmpfile();
    if (file == nullptr || write(fileno(file), "x", 1) != -1 || errno != EFBIG) _exit(6);
  });
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(StopSignals, TwoAtATimeAreABug) {
  const StopSignals stop;
  EXPECT_DEATH(StopSignals(), "in_use");
}

}  // namespace
}  // namespace horizon
