#include "common/threads/start_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace horizon {
namespace {

using ::testing::HasSubstr;

std::string NameOf(std::jthread& thread) {
  std::array<char, 32> name{};
  EXPECT_EQ(pthread_getname_np(thread.native_handle(), name.data(), name.size()), 0);
  return name.data();
}

TEST(StartThread, RunsTheBodyOnAThreadOfItsOwn) {
  std::thread::id id = std::this_thread::get_id();
  absl::StatusOr<std::jthread> thread =
      StartThread("body", [&] { id = std::this_thread::get_id(); });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->join();
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(StartThread, GivesABodyThatTakesOneTheStopToken) {
  std::atomic<bool> stopped = false;
  absl::StatusOr<std::jthread> thread = StartThread("stops", [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
    stopped = true;
  });
  ASSERT_TRUE(thread.ok()) << thread.status();
  thread->request_stop();
  thread->join();
  EXPECT_TRUE(stopped);
}

TEST(StartThread, ShowsTheFirst15BytesOfTheNameAtOnce) {
  for (const auto& [name, shown] : {std::pair<std::string, std::string>{"lane", "lane"},
                                    {"exactly15bytes!", "exactly15bytes!"},
                                    {"longer-than-15-bytes", "longer-than-15-"}}) {
    absl::StatusOr<std::jthread> thread = StartThread(name, [](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    ASSERT_TRUE(thread.ok()) << thread.status();
    EXPECT_EQ(NameOf(*thread), shown);
  }
}

// Ends the process: 0 when the refusal is as promised. A stack of 64 TiB is refused for root and
// under sanitizers too, with the error of a process limit (EAGAIN).
void StartAThreadTheSystemRefuses() {
  pthread_attr_t huge;
  pthread_attr_init(&huge);
  if (pthread_attr_setstacksize(&huge, size_t{1} << 46) != 0) std::_Exit(2);
  if (pthread_setattr_default_np(&huge) != 0) std::_Exit(3);
  std::array<absl::StatusOr<std::jthread>, 4> threads;
  absl::Status refused;
  for (absl::StatusOr<std::jthread>& thread : threads) {
    thread = StartThread("one-too-many", [] {});
    if (!thread.ok()) refused = thread.status();
  }
  if (!absl::IsResourceExhausted(refused)) std::_Exit(4);
  for (const char* part : {"one-too-many", "ulimit -u", "pids.max"}) {
    if (refused.message().find(part) == std::string::npos) std::_Exit(5);
  }
  std::_Exit(0);
}

TEST(StartThreadDeathTest, AThreadTheSystemRefusesIsResourceExhaustedAndNamesTheLimits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(StartAThreadTheSystemRefuses(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace horizon
