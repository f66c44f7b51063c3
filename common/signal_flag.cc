#include "common/signal_flag.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/check.h"

namespace horizon {
namespace {

struct Listened {
  int number;
  std::string_view name;
};
constexpr std::array<Listened, 4> kListened = {
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGUSR1, "SIGUSR1"}}};

std::string_view NameOf(int number) {
  for (const Listened& one : kListened) {
    if (one.number == number) return one.name;
  }
  return "";
}

// A handler may touch nothing but lock-free atomics, and memory that was written before the signal
// could arrive.
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);
constinit std::atomic<int> first_signal{0};
constinit std::atomic<bool> ends_at_once{false};
constinit std::atomic<bool> in_use{false};
// Written and read by the constructor and the destructor only.
constinit std::array<struct sigaction, kListened.size()> previous{};

// What EndAtOnce says, written before the handler is in place.
struct Text {
  std::array<char, StopSignals::kLongestLine> letters{};
  size_t size = 0;

  void Set(std::string_view text) {
    size = 0;
    Add(text);
  }
  // Leaves room for the line feed.
  void Add(std::string_view text) {
    const size_t fits = std::min(text.size(), letters.size() - 1 - size);
    std::memcpy(letters.data() + size, text.data(), fits);
    size += fits;
  }
  std::string_view view() const { return {letters.data(), size}; }
};
constinit Text text_before;
constinit Text text_after;
constinit int code_at_once = 1;

// write and _Exit are among the few calls that a handler may make.
[[noreturn]] void End(int number) {
  Text line;
  line.Add(text_before.view());
  line.Add(NameOf(number));
  line.Add(text_after.view());
  line.letters[line.size++] = '\n';
  // Nobody is left to be told when this fails.
  static_cast<void>(::write(STDERR_FILENO, line.letters.data(), line.size) > 0);
  std::_Exit(code_at_once);
}

// Runs with all of them blocked in its thread, so what it raises arrives when it returns.
void OnSignal(int number) {
  if (ends_at_once) End(number);
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) return;
  if (number == SIGHUP) return;  // the kernel and the shell both send one
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(number, &standard, nullptr);
  raise(number);
}

void Listen() {
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

}  // namespace

StopSignals::StopSignals() {
  ends_at_once = false;
  Listen();
}

StopSignals::StopSignals(const EndAtOnce& end) {
  CHECK(!in_use);  // a handler may be reading the texts
  text_before.Set(end.before);
  text_after.Set(end.after);
  code_at_once = end.exit_code;
  ends_at_once = true;
  Listen();
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kListened.size(); ++i) {
    CHECK(sigaction(kListened[i].number, &previous[i], nullptr) == 0);
  }
  ends_at_once = false;
  in_use = false;
}

void StopSignals::NoteOnly() { ends_at_once = false; }

bool StopSignals::requested() const { return first_signal != 0; }

std::string_view StopSignals::name() const { return NameOf(first_signal); }

void IgnoreWriteSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGXFSZ}) CHECK(sigaction(number, &action, nullptr) == 0);
}

}  // namespace horizon
