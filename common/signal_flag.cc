#include "common/signal_flag.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>

#include "common/check.h"

namespace horizon {
namespace {

struct Listened {
  int number;
  std::string_view name;
};
constexpr std::array<Listened, 3> kListened = {
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}}};

// A handler may touch nothing but lock-free atomics.
static_assert(std::atomic<int>::is_always_lock_free);
constinit std::atomic<int> first_signal{0};
constinit std::atomic<bool> in_use{false};
// Written and read by the constructor and the destructor only.
constinit std::array<struct sigaction, kListened.size()> previous{};

// Runs with all of them blocked in its thread, so what it raises arrives when it returns.
void OnSignal(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) return;
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(number, &standard, nullptr);
  raise(number);
}

}  // namespace

StopSignals::StopSignals() {
  CHECK(!in_use.exchange(true));
  first_signal = 0;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // System calls go on as if nothing had happened; who wants to stop asks requested().
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const Listened& one : kListened) sigaddset(&action.sa_mask, one.number);
  for (size_t i = 0; i < kListened.size(); ++i) {
    CHECK(sigaction(kListened[i].number, nullptr, &previous[i]) == 0);
    const bool ignored =
        (previous[i].sa_flags & SA_SIGINFO) == 0 && previous[i].sa_handler == SIG_IGN;
    if (!ignored) CHECK(sigaction(kListened[i].number, &action, nullptr) == 0);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kListened.size(); ++i) {
    CHECK(sigaction(kListened[i].number, &previous[i], nullptr) == 0);
  }
  in_use = false;
}

bool StopSignals::requested() const { return first_signal != 0; }

std::string_view StopSignals::name() const {
  const int number = first_signal;
  for (const Listened& one : kListened) {
    if (one.number == number) return one.name;
  }
  return "";
}

}  // namespace horizon
