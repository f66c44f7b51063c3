#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "model/model_spec.h"
#include "runtime/device/device.h"
#include "runtime/executor.h"
#include "runtime/kernel_table.h"
#include "runtime/operation_bodies.h"
#include "runtime/parameter_store.h"
#include "runtime/run_memory.h"
#include "runtime/step.h"
#include "schedule/schedule.h"

namespace horizon {

// What happens to a step whose loss or gradient is not finite.
enum class NonFinitePolicy { kStop, kSkip };
std::span<const EnumWord<NonFinitePolicy>> WordsOf(NonFinitePolicy);

// A model in training: its memory, the store of its parameters, and the loop that feeds the
// executor.
//
//   Create, store().Fill(...), Train(...) any number of times, store().Read...(...)
//
// One thread calls. Between two calls of Train nothing is under way and the store holds exactly one
// step.
class Trainer {
 public:
  struct Options {
    Device& device;
    const KernelTable& kernels;  // of that device
    Clock& clock;
    NonFinitePolicy non_finite = NonFinitePolicy::kStop;
    Nanoseconds stall_limit = std::chrono::minutes(10);
    std::function<void(const absl::Status&)> on_stall;  // see Executor::Options
  };

  // Builds and verifies the schedule, refuses what cannot run, reserves all memory. The spec, and
  // what options names, outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const ModelSpec& spec,
                                                         const TrainingJob& job,
                                                         const StreamPlan& plan,
                                                         const Options& options);

  const Schedule& schedule() const { return *schedule_; }
  ParameterStore& store() { return *store_; }
  const RunMemory& memory() const { return *memory_; }
  const std::vector<std::string>& TensorNames() const { return bodies_->TensorNames(); }

  struct Report {
    const StepResult& result;
    double seconds = 0;  // since the step before was over
    const Timeline& timeline;
    const Phase& phase;  // that the timeline is of
  };
  enum class Next { kGoOn, kStop };
  // Steps number first .. last. `input` is asked for each step in order (one step ahead of the one
  // that runs); `on_step` hears of each as it ends, and may end the run: what is under way is then
  // finished, and heard of too. Pending updates are made before it returns.
  absl::Status Train(int64_t first, int64_t last,
                     const std::function<absl::StatusOr<StepInput>(int64_t number)>& input,
                     const std::function<absl::StatusOr<Next>(const Report&)>& on_step);

 private:
  explicit Trainer(const ModelSpec& spec, const Options& options)
      : spec_(spec), options_(options) {}
  absl::Status FillRotaryTable();
  absl::Status CheckInput(const StepInput& input) const;
  absl::Status NonFinite(const StepResult& result) const;

  const ModelSpec& spec_;
  const Options options_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<RunMemory> memory_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<OperationBodies> bodies_;
};

}  // namespace horizon
