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

// The outcome of a save.
struct SaveReport {
  int64_t step = 0;
  absl::Status status;
  std::string path;
  Bytes bytes;
  double seconds = 0;
  double waited = 0;    // seconds that optimizer updates were blocked by it
  bool at_end = false;  // the save at the end of the run: it is not tried again
};

// Saves the state after a step while later steps run.
//
// The state after step N exists chunk by chunk, from the chunk's update of step N to its update of
// step N + 1, and never for all chunks at one moment: when updates run behind forward, the first
// chunks are a step ahead of the last. So a thread, one for all saves of a run, writes each chunk
// when its update N has been made, and the chunk's update N + 1 is blocked until it is written;
// chunks that an update waits for are written first. Where the disk is fast nothing ever waits. No
// second copy of the state is made: a piece is copied out, its checksum is taken, and it is
// written.
//
// At most two saves are in progress, and the second writes when the first has ended. A save at
// every step cannot deadlock: before a third begins, the first is awaited, and all its updates are
// in steps that have begun.
//
//   Begin(N) before step N begins, Provide(N, facts) when it has ended, TakeReports() now and then;
//   Finish() when the steps are over.
//
// The training thread calls these; the optimizer lane's thread calls the functions of
// UpdateObserver. Everything passed in outlives the saver.
class CheckpointSaver final : public UpdateObserver {
 public:
  struct Options {
    Io& io;
    Clock& clock;
    const RunLock& lock;
    const CheckpointLayout& layout;
    std::vector<ExtraFile> extra_files;
    int64_t keep = 2;  // checkpoints to keep; older ones are removed after each commit
    // Replace an existing checkpoint of the same step. A run that was resumed from an earlier step
    // reaches such a step again, with the same bits.
    bool replace = false;
  };
  // Starts the writing thread, so that everything a save needs from the system is there before the
  // first step. ResourceExhausted when the system gives no thread.
  static absl::StatusOr<std::unique_ptr<CheckpointSaver>> Create(const Schedule& schedule,
                                                                 const ParameterStore& store,
                                                                 const Options& options);
  ~CheckpointSaver() override;  // Finish()

  // Begins saving the state after `step`. Errors are returned in a report.
  void Begin(int64_t step);
  // Sets what is saved of that state besides the parameters.
  void Provide(int64_t step, CheckpointFacts facts);
  // Saves the present state and waits for it. Nothing may run, and the store must hold exactly the
  // state after `step`.
  SaveReport SaveNow(int64_t step, CheckpointFacts facts);

  // Returns the reports of saves that have ended since the last call.
  std::vector<SaveReport> TakeReports();
  // Waits for the saves in progress. Saves that still lack an update or their facts are dropped.
  std::vector<SaveReport> Finish();

  void BeforeUpdate(int64_t step, int32_t chunk) override;
  void AfterUpdate(int64_t step, int32_t chunk) override;

 private:
  enum class ChunkState : uint8_t { kNotYet, kReady, kWritten };
  struct Save {
    int64_t step = 0;
    std::vector<ChunkState> chunks;
    std::deque<int32_t> ready;  // chunks, in the order in which they will be written
    size_t written = 0;
    std::optional<CheckpointFacts> facts;
    bool dropped = false;
    bool ended = false;
    SaveReport report;
  };

  CheckpointSaver(const Schedule& schedule, const ParameterStore& store, const Options& options);
  Save& Add(int64_t step);
  void RunSaves();  // the thread's function
  void Run(Save& save);
  absl::Status Write(Save& save);
  absl::Status WriteChunk(CheckpointWriter& writer, int64_t step, int32_t chunk);
  void Await(std::unique_lock<std::mutex>& lock, size_t most_under_way);

  const ParameterStore& store_;
  const Options options_;
  const int32_t chunk_count_;
  std::vector<ChunkState> first_states_;  // of each chunk as a save begins; frozen: kWritten
  size_t frozen_ = 0;                     // frozen chunks, of which nothing is saved
  std::vector<size_t> tensor_of_;         // for each place of the store: index in layout.tensors

  std::mutex mutex_;  // guards all members below and the contents of each Save
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Save>> saves_;  // in order of steps; ended ones come first
  std::vector<SaveReport> reports_;
  bool closing_ = false;

  std::jthread thread_;  // runs RunSaves(); the last member, joined first
};

// The trained tensors of a model, in the form in which a checkpoint lists them.
std::vector<SavedTensor> SavedTensorsOf(const Schedule& schedule);

}  // namespace horizon
