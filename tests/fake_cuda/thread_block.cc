#include "tests/fake_cuda/thread_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "tests/fake_cuda/bank_conflicts.h"
#include "tests/fake_cuda/collectives.h"
#include "tests/fake_cuda/dynamic_shared.h"
#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/fiber.h"
#include "tests/fake_cuda/include/fake_cuda_dynamic_shared.h"
#include "tests/fake_cuda/include/fake_cuda_shared.h"
#include "tests/fake_cuda/include/fake_cuda_threads.h"
#include "tests/fake_cuda/include/fake_cuda_vector.h"
#include "tests/fake_cuda/matrix_instructions.h"

uint3 threadIdx{};
uint3 blockIdx{};
dim3 blockDim;
dim3 gridDim;

namespace fake_cuda {

ThreadBlockTime thread_block_time;

namespace {

constexpr uint32_t kWholeWarp = 0xFFFFFFFFu;

struct WorkerFiber;

// What the scheduler keeps for a thread besides its Arrival.
struct Thread {
  uint3 index{};
  bool started = false;
  WorkerFiber* worker = nullptr;
};

// A fiber that runs one thread after another as long as none of them has to wait.
struct WorkerFiber {
  WorkerFiber() : fiber([this] { Loop(); }) {}
  void Loop();

  Fiber fiber;
  unsigned thread = 0;
};

// Runs one thread block at a time. Fibers are reused from thread block to thread block and from
// launch to launch.
class ThreadBlockScheduler {
 public:
  void Run(const KernelLaunch& launch, uint3 block, Random& random);
  // Called by the running thread: returns when the threads that it waits for have arrived.
  const Arrival& Wait(const Arrival& arrival);
  void Abandon();
  void SetRunning(unsigned thread);
  int capability() const { return launch_->capability; }
  std::string Describe() const;

 private:
  friend struct WorkerFiber;
  static constexpr unsigned kNoThread = ~0u;

  void Begin(const KernelLaunch& launch, uint3 block);
  void RunWarp(unsigned warp, Random& random);
  // The next ready thread of the warp's turn; kNoThread at the end of the turn.
  unsigned NextInTurn();
  void Resume(unsigned thread);
  // Called after every warp has run as far as it can. Returns false when the thread block has
  // ended.
  bool PassBarrier();

  const KernelLaunch* launch_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Arrival> arrivals_;
  std::array<uint64_t, 32> warp_barriers_{};
  std::array<unsigned, 32> turn_{};  // threads of the running warp, in the order they run
  unsigned turn_length_ = 0;
  unsigned turn_next_ = 0;  // how far turn_ has got
  bool abandoned_ = false;
  bool running_ = false;
  std::vector<std::unique_ptr<WorkerFiber>> workers_;
  std::vector<WorkerFiber*> idle_;
};

// Never destroyed: a test may end with a kernel that waits.
ThreadBlockScheduler& Scheduler() {
  static auto* scheduler = new ThreadBlockScheduler;
  return *scheduler;
}

void WorkerFiber::Loop() {
  ThreadBlockScheduler& scheduler = Scheduler();
  for (;;) {
    scheduler.launch_->thread();
    TheDynamicShared().EndThread();
    scheduler.arrivals_[thread].collective = Collective::kNone;
    scheduler.arrivals_[thread].returned = true;
    const unsigned next = scheduler.NextInTurn();
    if (next != ThreadBlockScheduler::kNoThread && !scheduler.threads_[next].started) {
      thread = next;
      scheduler.threads_[next].started = true;
      scheduler.threads_[next].worker = this;
      scheduler.SetRunning(next);
      continue;
    }
    if (next != ThreadBlockScheduler::kNoThread) --scheduler.turn_next_;
    scheduler.idle_.push_back(this);
    fiber.Yield();
  }
}

void ThreadBlockScheduler::Begin(const KernelLaunch& launch, uint3 block) {
  launch_ = &launch;
  abandoned_ = false;
  running_ = true;
  blockIdx = block;
  blockDim = launch.block;
  gridDim = launch.grid;
  const unsigned count = launch.block.x * launch.block.y * launch.block.z;
  threads_.assign(count, {});
  arrivals_.assign(count, {});
  for (unsigned i = 0; i < count; ++i) {
    threads_[i].index = {i % blockDim.x, i / blockDim.x % blockDim.y,
                         i / (blockDim.x * blockDim.y)};
  }
  thread_block_time.begin = thread_block_time.barrier = ++thread_block_time.now;
  warp_barriers_.fill(thread_block_time.now);
  TheDynamicShared().Begin(launch.dynamic_shared_bytes, count);
}

void ThreadBlockScheduler::Run(const KernelLaunch& launch, uint3 block, Random& random) {
  Begin(launch, block);
  const unsigned warps = static_cast<unsigned>(threads_.size() + 31) / 32;
  do {
    const RandomOrder order(warps, random);
    for (unsigned i = 0; i < warps && !abandoned_; ++i) {
      RunWarp(static_cast<unsigned>(order.At(i)), random);
    }
  } while (!abandoned_ && PassBarrier());
  running_ = false;
  if (!abandoned_) return;
  idle_.clear();
  for (const auto& worker : workers_) {
    worker->fiber.Restart();
    idle_.push_back(worker.get());
  }
}

void ThreadBlockScheduler::RunWarp(unsigned warp, Random& random) {
  const unsigned first = warp * 32;
  const unsigned warp_lanes = std::min(32u, static_cast<unsigned>(threads_.size()) - first);
  const std::span<Arrival> arrivals = std::span(arrivals_).subspan(first, warp_lanes);
  const RandomOrder order(warp_lanes, random);
  for (unsigned i = 0; i < warp_lanes; ++i) turn_[i] = first + static_cast<unsigned>(order.At(i));
  turn_length_ = warp_lanes;
  do {
    turn_next_ = 0;
    for (unsigned next = NextInTurn(); next != kNoThread; next = NextInTurn()) {
      Resume(next);
      if (abandoned_) return;
    }
    CountLoggedAccesses();
    const WarpProgress progress = ResolveWarp(arrivals);
    if (!progress.fault.empty()) {
      Fault(progress.fault);
      abandoned_ = true;
      return;
    }
    if (progress.instruction == Collective::kMatrixLoad) ExecuteLoad(arrivals, first);
    if (progress.instruction == Collective::kMatrixMultiply) ExecuteMultiply(arrivals);
    if (progress.whole_warp_barrier) warp_barriers_[warp] = ++thread_block_time.now;
    if (!progress.any) return;
  } while (true);
}

unsigned ThreadBlockScheduler::NextInTurn() {
  while (turn_next_ < turn_length_) {
    const unsigned thread = turn_[turn_next_++];
    const Arrival& arrival = arrivals_[thread];
    if (!arrival.returned && arrival.collective == Collective::kNone) return thread;
  }
  return kNoThread;
}

void ThreadBlockScheduler::SetRunning(unsigned thread) {
  threadIdx = threads_[thread].index;
  thread_block_time.thread = thread;
  thread_block_time.warp_barrier = warp_barriers_[thread / 32];
}

void ThreadBlockScheduler::Resume(unsigned thread) {
  Thread& state = threads_[thread];
  if (!state.started) {
    if (idle_.empty()) {
      workers_.push_back(std::make_unique<WorkerFiber>());
      idle_.push_back(workers_.back().get());
    }
    state.started = true;
    state.worker = idle_.back();
    state.worker->thread = thread;
    idle_.pop_back();
  }
  SetRunning(thread);
  state.worker->fiber.Resume();
}

bool ThreadBlockScheduler::PassBarrier() {
  const ThreadBlockProgress progress = ResolveThreadBlock(arrivals_);
  if (!progress.fault.empty()) {
    Fault(progress.fault);
    abandoned_ = true;
  }
  thread_block_time.barrier = ++thread_block_time.now;
  return progress.any;
}

const Arrival& ThreadBlockScheduler::Wait(const Arrival& arrival) {
  Arrival& own = arrivals_[thread_block_time.thread];
  own = arrival;
  threads_[thread_block_time.thread].worker->fiber.Yield();
  return own;
}

void ThreadBlockScheduler::Abandon() {
  abandoned_ = true;
  threads_[thread_block_time.thread].worker->fiber.Yield();
}

std::string ThreadBlockScheduler::Describe() const {
  if (!running_) return "";
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(),
                ", in the kernel launched at %s:%u (%s), block (%u, %u, %u), thread (%u, %u, %u)",
                launch_->where.file, launch_->where.line, launch_->where.function, blockIdx.x,
                blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  return text.data();
}

}  // namespace

void RunGrid(const KernelLaunch& launch, Random& random) {
  const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const RandomOrder order(blocks, random);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t block = order.At(i);
    Scheduler().Run(launch,
                    {static_cast<unsigned>(block % launch.grid.x),
                     static_cast<unsigned>(block / launch.grid.x % launch.grid.y),
                     static_cast<unsigned>(block / launch.grid.x / launch.grid.y)},
                    random);
  }
}

void SetRunningThread(unsigned thread) { Scheduler().SetRunning(thread); }

void CheckAmpere(const char* instruction) {
  if (Scheduler().capability() >= 8) return;
  Fault(std::string(instruction) + " on a device below compute capability 8.0");
}

std::string DescribeRunningThread() { return Scheduler().Describe(); }

int WarpLane() { return static_cast<int>(thread_block_time.thread % 32); }

int SyncThreadBlock(bool predicate) {
  return static_cast<int>(
      Scheduler().Wait({.collective = Collective::kBarrier, .bits = predicate ? 1u : 0u}).bits);
}

void SyncWarp(uint32_t mask) {
  Scheduler().Wait({.collective = Collective::kWarpBarrier, .mask = mask});
}

uint64_t Shuffle(uint32_t mask, uint64_t bits, int from, unsigned bytes) {
  return Scheduler()
      .Wait({.collective = Collective::kShuffle,
             .mask = mask,
             .bits = bits,
             .from = from,
             .bytes = bytes})
      .bits;
}

uint32_t Vote(uint32_t mask, bool predicate) {
  return static_cast<uint32_t>(
      Scheduler()
          .Wait({.collective = Collective::kVote, .mask = mask, .bits = predicate ? 1u : 0u})
          .bits);
}

void LoadMatrices(uint32_t row, bool transposed, uint32_t (&pairs)[4]) {
  MatrixLoad load{row, transposed, {}};
  Scheduler().Wait({.collective = Collective::kMatrixLoad,
                    .mask = kWholeWarp,
                    .bytes = transposed ? 1u : 0u,
                    .operands = &load});
  std::copy(std::begin(load.pairs), std::end(load.pairs), pairs);
}

void MultiplyAdd(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  CheckAmpere("mma");
  MatrixMultiply multiply{};
  std::copy(std::begin(a), std::end(a), multiply.a);
  std::copy(std::begin(b), std::end(b), multiply.b);
  std::copy(std::begin(sums), std::end(sums), multiply.sums);
  Scheduler().Wait(
      {.collective = Collective::kMatrixMultiply, .mask = kWholeWarp, .operands = &multiply});
  std::copy(std::begin(multiply.sums), std::end(multiply.sums), sums);
}

void CheckWidth(int width) {
  if (width > 0 && width <= 32 && std::has_single_bit(static_cast<unsigned>(width))) return;
  Fault("a shuffle of width " + std::to_string(width));
  Scheduler().Abandon();
}

}  // namespace fake_cuda
