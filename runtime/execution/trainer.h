#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "runtime/execution/executor.h"
#include "runtime/execution/model_pass.h"
#include "runtime/execution/run_environment.h"
#include "runtime/execution/run_memory.h"
#include "runtime/execution/step.h"
#include "runtime/parameters/parameter_store.h"
#include "schedule/schedule.h"

namespace horizon {

// What happens to a step whose loss or gradient is not finite.
enum class NonFinitePolicy { kStop, kSkip };
std::span<const EnumWord<NonFinitePolicy>> WordsOf(NonFinitePolicy);

// A model in training: its memory, the parameter store, and the loop that feeds the executor.
//
//   Create, store().Fill(...), Train(...) any number of times, store().Read...(...)
//
// Used by one thread. Between two calls of Train nothing is in flight, and the store holds the
// state after exactly one step.
class Trainer {
 public:
  // Parameters and errors as in ModelPass::Create.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
      const RunEnvironment& environment, NonFinitePolicy non_finite = NonFinitePolicy::kStop);
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      const ModelSpec& spec, Schedule schedule, const RunEnvironment& environment,
      NonFinitePolicy non_finite = NonFinitePolicy::kStop);

  const ModelPass& pass() const { return *pass_; }
  const Schedule& schedule() const { return pass_->schedule(); }
  ParameterStore& store() { return pass_->store(); }
  const RunMemory& memory() const { return pass_->memory(); }
  const std::vector<std::string>& TensorNames() const { return pass_->bodies().TensorNames(); }

  // What `on_step` receives.
  struct Report {
    const StepResult& result;
    double seconds = 0;  // since the step before ended
    const Timeline& timeline;
    const Phase& phase;  // the phase whose operations are in the timeline
  };
  enum class Next { kContinue, kStop };
  // Trains steps number `first` to `last`. `input` is called for each step in order, one step ahead
  // of the one that runs. `on_step` is called for each step as it ends and may end the run with
  // kStop: the steps in flight are then finished, and `on_step` is called for them too. Updates
  // that are still pending are made before Train returns. `observer` is notified of updates and may
  // be null.
  absl::Status Train(int64_t first, int64_t last,
                     const std::function<absl::StatusOr<StepInput>(int64_t number)>& input,
                     const std::function<absl::StatusOr<Next>(const Report&)>& on_step,
                     UpdateObserver* observer = nullptr);

 private:
  Trainer(std::unique_ptr<ModelPass> pass, NonFinitePolicy non_finite)
      : pass_(std::move(pass)), non_finite_(non_finite) {}
  absl::Status CheckInput(const StepInput& input) const;
  absl::Status NonFinite(const StepResult& result) const;

  std::unique_ptr<ModelPass> pass_;
  const NonFinitePolicy non_finite_;
};

}  // namespace horizon
