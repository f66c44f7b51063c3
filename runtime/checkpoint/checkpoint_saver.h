#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/execution/executor.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/schedule.h"

namespace horizon {

// How a save went.
struct SaveReport {
  int64_t step = 0;
  absl::Status status;
  std::string path;
  Bytes bytes;
  double seconds = 0;
  double waited = 0;    // that updates stood still for it
  bool at_end = false;  // of the run: nothing is tried again
};

// Saves the state after a step while later steps run.
//
// The state after step N exists chunk by chunk, from the chunk's update of step N to its update of
// step N + 1, and not for all chunks at one moment: with updates behind forward the first chunks
// are a step ahead of the last. So a thread of its own, one for all saves of a run, writes each
// chunk when its update N is made, and the chunk's update N + 1 waits until it is written; chunks
// that are waited for go first.
// Where the disk is quick nothing ever waits, and no second copy of the state is made: a piece is
// copied out, its checksum taken, and written.
//
// At most two saves are under way, the second of which writes when the first has ended; so a save
// at every step cannot lock up: before a third begins the first is awaited, whose updates are all
// in steps that were begun.
//
//   Begin(N) before step N is begun, Provide(N, facts) when it is over, TakeReports() now and then;
//   Finish() when the steps are over.
//
// Those are called by the thread that trains, the watch's functions by the optimizer's lane. All
// that is passed in outlives it.
class CheckpointSaver final : public UpdateWatch {
 public:
  struct Options {
    Io& io;
    Clock& clock;
    const RunLock& lock;
    const CheckpointLayout& layout;
    std::vector<ExtraFile> extra_files;
    int64_t keep = 2;  // older ones are removed after each commit
    // A checkpoint of the same step gives way to the new one: a run that was resumed before it
    // comes past it again, with the same bits.
    bool replace = false;
  };
  // Starts the thread that writes: what a save needs of the system is had before the first step.
  // ResourceExhausted where there is no thread to be had.
  static absl::StatusOr<std::unique_ptr<CheckpointSaver>> Create(const Schedule& schedule,
                                                                 const ParameterStore& store,
                                                                 const Options& options);
  ~CheckpointSaver() override;  // Finish()

  // From now on the state after `step` is being saved. Errors come as a report.
  void Begin(int64_t step);
  // What belongs to that state beside the parameters.
  void Provide(int64_t step, CheckpointFacts facts);
  // Saves the state as it is: nothing runs, and the store holds exactly the state after `step`.
  SaveReport SaveNow(int64_t step, CheckpointFacts facts);

  // Saves that have ended since the last call.
  std::vector<SaveReport> TakeReports();
  // Waits for the saves under way. Those that still lack an update or their facts are dropped.
  std::vector<SaveReport> Finish();

  void BeforeUpdate(int64_t step, int32_t chunk) override;
  void AfterUpdate(int64_t step, int32_t chunk) override;

 private:
  enum class ChunkState : uint8_t { kNotYet, kReady, kWritten };
  struct Save {
    int64_t step = 0;
    std::vector<ChunkState> chunks;
    std::deque<int32_t> ready;  // in the order they are to be written
    size_t written = 0;
    std::optional<CheckpointFacts> facts;
    bool dropped = false;
    bool ended = false;
    SaveReport report;
  };

  CheckpointSaver(const Schedule& schedule, const ParameterStore& store, const Options& options);
  Save& Add(int64_t step);
  void Serve();
  void Run(Save& save);
  absl::Status Write(Save& save);
  absl::Status WriteChunk(CheckpointWriter& writer, int64_t step, int32_t chunk);
  void Await(std::unique_lock<std::mutex>& lock, size_t most_under_way);

  const ParameterStore& store_;
  const Options options_;
  const int32_t chunk_count_;
  std::vector<ChunkState> first_states_;  // by chunk, as a save begins: of frozen ones, written
  size_t frozen_ = 0;                     // chunks of which nothing is saved
  std::vector<size_t> tensor_of_;         // by place of the store: position in the layout's tensors

  std::mutex mutex_;  // guards all below, and what is in a Save
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Save>> saves_;  // in order of steps; those that ended come first
  std::vector<SaveReport> reports_;
  bool closing_ = false;

  std::jthread thread_;  // Serve(); the last member, joined first
};

// The trained tensors of a model as a checkpoint lists them.
std::vector<SavedTensor> SavedTensorsOf(const Schedule& schedule);

}  // namespace horizon
