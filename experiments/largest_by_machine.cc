#include "experiments/largest_by_machine.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "common/status_macros.h"
#include "common/threads/thread_pool.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"

namespace horizon {
namespace {

absl::StatusOr<MachineLargest> FindLargestOf(Io& io, const std::string& machine,
                                             const Calibration& calibration) {
  ASSIGN_OR_RETURN(const HardwareProfile profile, LoadMachine(io, machine));
  LargestRequest request{.profile = profile,
                         .job = JobFor(profile, Strategy::kHorizon),
                         .software = calibration.SoftwareOf(Strategy::kHorizon)};
  ASSIGN_OR_RETURN(LargestModels models, FindLargestModels(io, request));
  return MachineLargest{
      .machine = machine, .state_format = request.job.state_format, .models = std::move(models)};
}

}  // namespace

absl::StatusOr<std::vector<MachineLargest>> FindLargestByMachine(Io& io,
                                                                 const Calibration& calibration) {
  const std::vector<std::string> machines = MachineNames();
  std::vector<MachineLargest> all(machines.size());
  // Machines know nothing of each other, so the answers do not depend on the number of threads.
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> pool,
                   ThreadPool::Create({.name = "largest", .threads = static_cast<int>(threads)}));
  RETURN_IF_ERROR(pool->ParallelFor(machines.size(), [&](size_t i) -> absl::Status {
    ASSIGN_OR_RETURN(all[i], FindLargestOf(io, machines[i], calibration));
    return absl::OkStatus();
  }));
  return all;
}

}  // namespace horizon
