#include "runtime/execution/lane_resources.h"

#include <algorithm>
#include <string>

#include "common/status_macros.h"

namespace horizon {
namespace {

int ThreadsOf(const StreamPlan& plan, Lane lane) {
  switch (lane) {
    case Lane::kH2d:
      return static_cast<int>(plan.h2d_threads);
    case Lane::kCompute:
      return static_cast<int>(plan.compute_threads);
    case Lane::kD2h:
      return static_cast<int>(plan.d2h_threads);
    case Lane::kHost:
      return static_cast<int>(plan.host_threads);
    case Lane::kOptimizer:
      return static_cast<int>(plan.optimizer_threads);
  }
  return 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LaneResources>> LaneResources::Create(
    const Schedule& schedule, const OperationBodies& bodies, const RunEnvironment& environment) {
  std::unique_ptr<LaneResources> resources(new LaneResources());
  RETURN_IF_ERROR(resources->CreateLanes(schedule.plan, bodies, environment));
  RETURN_IF_ERROR(resources->CreateEvents(schedule, environment.device));
  return resources;
}

bool LaneResources::IsOnDevice(Lane lane) {
  return lane == Lane::kH2d || lane == Lane::kCompute || lane == Lane::kD2h;
}

absl::Status LaneResources::CreateLanes(const StreamPlan& plan, const OperationBodies& bodies,
                                        const RunEnvironment& environment) {
  for (size_t i = 0; i < kLaneCount; ++i) {
    const auto lane = static_cast<Lane>(i);
    const int threads = ThreadsOf(plan, lane);
    const std::string name(ToString(lane));
    if (IsOnDevice(lane)) {
      StreamOptions stream{
          .name = name, .threads = threads, .device_context = environment.device_context};
      stream.scratch = bodies.ScratchOf(lane);
      ASSIGN_OR_RETURN(lanes_[i].stream, environment.device.CreateStream(stream));
    } else {
      ASSIGN_OR_RETURN(lanes_[i].workers, Workers::Create(name, threads));
    }
  }
  return absl::OkStatus();
}

absl::Status LaneResources::CreateEvents(const Schedule& schedule, Device& device) {
  const std::array<const Phase*, 3> phases = {&schedule.first, &schedule.steady, &schedule.drain};
  size_t most = 0;
  for (const Phase* phase : phases) most = std::max(most, phase->operations.size());
  for (int slot = 0; slot < kSlots; ++slot) {
    started_[slot].resize(most);
    ended_[slot].resize(most);
    for (size_t id = 0; id < most; ++id) {
      // Operations of the same place may be on a device lane in one phase and not in another.
      const bool on_device = std::any_of(phases.begin(), phases.end(), [&](const Phase* phase) {
        return id < phase->operations.size() && IsOnDevice(phase->operations[id].lane);
      });
      if (!on_device) continue;
      ASSIGN_OR_RETURN(started_[slot][id], device.CreateEvent());
      ASSIGN_OR_RETURN(ended_[slot][id], device.CreateEvent());
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
