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

// The number of cores that the process may run on.
int UsableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails where there are more cores than the set has room for.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1024;
  return CPU_COUNT(&cores);
}

// Tells the processor that this thread is in a spin-wait loop.
void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for about 50 us, or until `condition` holds, before its caller goes to sleep. One kernel
// follows another within microseconds, but waking a thread takes tens of microseconds; in a virtual
// machine, where the host must wake an idle processor, it often takes longer than a small kernel
// (docs/runtime.md has the figures).
constexpr int kMaxSpins = 3000;
template <typename Condition>
void SpinWait(Condition condition) {
  for (int i = 0; i < kMaxSpins && !condition(); ++i) Pause();
}

}  // namespace

// A run starts when its number is incremented under the mutex, and stays open until every piece is
// taken. A worker that arrives while it is open is inside until it finds no piece left. Run closes
// the run and returns when no worker is inside, so no worker can still be in an old run when the
// next one starts. It does not wait for workers that never arrived: if other processes use its
// core, a thread may be late by milliseconds, and the caller has processed its pieces by then.
//
// Before either side sleeps, it spins for a short time without the mutex, in case the sleep is not
// needed. What it reads there decides nothing: the wait under the mutex does.
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
  // Whether threads spin before they sleep. They do not if there are more threads than cores, since
  // a spinning thread would then keep another from working.
  bool spin_before_sleep = false;
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
      if (spin_before_sleep) SpinWait(called);
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
  shared->spin_before_sleep = count <= UsableCores();
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
  if (shared_->spin_before_sleep) SpinWait(over);
  std::unique_lock lock(shared_->mutex);
  shared_->ended.wait(lock, over);
}

}  // namespace horizon
