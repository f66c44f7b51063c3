#include "common/threads/workers.h"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/start_thread.h"

namespace horizon {
namespace {

// That the process may run on.
int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails where there are more cores than the set has room for.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1024;
  return CPU_COUNT(&cores);
}

// What the processor is told while a thread looks again and again.
void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks for a while, about 50 us, whether `is_so`, before its caller goes to sleep. A kernel
// follows another within microseconds, and to wake a thread takes tens of them; of a virtual
// machine, whose idle processors must be woken by the host, often more than a small kernel itself
// (docs/runtime.md has the figures).
constexpr int kLooks = 3000;
template <typename Condition>
void LookFor(Condition is_so) {
  for (int i = 0; i < kLooks && !is_so(); ++i) Pause();
}

}  // namespace

// A run is announced by a new number under the mutex and stays open until every piece is taken; a
// worker that comes while it is open is inside until it finds no piece left. Run closes it and
// returns when nobody is inside, so nobody can still be in an old run when the next begins. It does
// not wait for workers that never came: a thread whose core others use may be late by milliseconds,
// and the caller has done its pieces by then.
//
// Before either side sleeps it looks for a while, without the mutex, whether it need not: what it
// sees there decides nothing.
struct Workers::Shared {
  std::mutex mutex;
  std::condition_variable begun;
  std::condition_variable ended;
  std::atomic<uint64_t> run{0};       // written under mutex
  std::atomic<bool> stopping{false};  // written under mutex
  std::atomic<int> inside{0};         // threads in the run; written under mutex
  bool open = false;                  // guarded by mutex
  const Body* body = nullptr;         // guarded by mutex; valid while a run is open
  int64_t pieces = 0;                 // likewise
  std::atomic<int64_t> next{0};       // the next piece nobody has taken
  // Whether threads look before they sleep: not where there are more of them than cores, since
  // whoever looks then keeps another from working.
  bool looks = false;
  std::vector<std::jthread> threads;

  void Take(Body work, int64_t count, int worker) {
    for (int64_t piece = next.fetch_add(1); piece < count; piece = next.fetch_add(1)) {
      work(piece, worker);
    }
  }

  void Serve(int worker) {
    uint64_t seen = 0;
    const auto called = [&] { return stopping || run != seen; };
    while (true) {
      if (looks) LookFor(called);
      std::unique_lock lock(mutex);
      begun.wait(lock, called);
      if (stopping) return;
      seen = run;
      if (!open) continue;
      ++inside;
      const Body work = *body;
      const int64_t count = pieces;
      lock.unlock();
      Take(work, count, worker);
      lock.lock();
      if (--inside == 0) ended.notify_one();
    }
  }

  void Stop() {
    {
      const std::scoped_lock lock(mutex);
      stopping = true;
    }
    begun.notify_all();
    threads.clear();
  }
};

Workers::Workers(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

absl::StatusOr<std::unique_ptr<Workers>> Workers::Create(const std::string& name, int count) {
  if (count < 1 || count > 1024) {
    return absl::InvalidArgumentError(
        StrCat("workers ", name, ": ", count, " threads; 1 to 1024 are possible"));
  }
  std::unique_ptr<Workers> workers(new Workers(std::make_unique<Shared>()));
  Shared* shared = workers->shared_.get();
  shared->looks = count <= UsableCores();
  for (int worker = 1; worker < count; ++worker) {
    ASSIGN_OR_RETURN(std::jthread thread, StartThread(StrCat(name, "-", worker),
                                                      [shared, worker] { shared->Serve(worker); }));
    shared->threads.push_back(std::move(thread));
  }
  return workers;
}

std::unique_ptr<Workers> Workers::Inline() {
  return std::unique_ptr<Workers>(new Workers(std::make_unique<Shared>()));
}

Workers::~Workers() { shared_->Stop(); }

int Workers::count() const { return static_cast<int>(shared_->threads.size()) + 1; }

void Workers::Run(int64_t pieces, Body body) {
  if (pieces <= 1 || shared_->threads.empty()) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(piece, 0);
    return;
  }
  {
    const std::scoped_lock lock(shared_->mutex);
    CHECK(shared_->inside == 0);
    shared_->body = &body;
    shared_->pieces = pieces;
    shared_->next = 0;
    shared_->open = true;
    ++shared_->run;
  }
  shared_->begun.notify_all();
  shared_->Take(body, pieces, 0);
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->open = false;
  }
  const auto over = [&] { return shared_->inside == 0; };
  if (shared_->looks) LookFor(over);
  std::unique_lock lock(shared_->mutex);
  shared_->ended.wait(lock, over);
}

}  // namespace horizon
