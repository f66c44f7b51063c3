#include "planner/find_limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "planner/plan_space.h"
#include "planner/search_plan.h"

namespace horizon {
namespace {

void Scale(Curve& curve, double factor) { curve = Scaled(std::move(curve), factor); }
void Scale(Figure& figure, double factor) { figure.value *= factor; }
template <typename T>
void Scale(std::optional<T>& value, double factor) {
  if (value.has_value()) Scale(*value, factor);
}

void Note(std::string what, double before, double after, std::vector<RunLimit>& limits) {
  const double gain = 1 - after / before;
  if (gain >= kLeastGain) limits.push_back({.what = std::move(what), .gain = gain});
}

void SortByGain(std::vector<RunLimit>& limits) {
  std::stable_sort(limits.begin(), limits.end(),
                   [](const RunLimit& a, const RunLimit& b) { return a.gain > b.gain; });
}

// The plans that differ from `plan` in what they keep in memory.
PlanSpace Around(const StreamPlan& plan, PlanSpace space) {
  if (plan.strategy == space.base.strategy) {
    space.chunk_bytes = {plan.chunk_bytes};
    space.buffer_depth = {plan.buffer_depth};
    space.gradient_slabs = {plan.gradient_slabs};
    space.accumulation_order = {plan.accumulation_order};
  }
  space.loss_chunk_tokens = {plan.loss_chunk_tokens};
  space.threads = {{.compute = plan.compute_threads,
                    .host = plan.host_threads,
                    .optimizer = plan.optimizer_threads}};
  return space;
}

// The fastest step near the chosen plan on a machine with more memory.
double StepWith(const PlanRequest& request, const PlanAnswer& answer,
                const HardwareProfile& profile) {
  const Setting setting{
      .profile = profile, .software = request.setting.software, .margin = request.setting.margin};
  std::vector<PlanSpace> spaces;
  for (PlanSpace& space : SpacesOf(request, answer.job)) {
    spaces.push_back(Around(*answer.search.plan, std::move(space)));
  }
  const double before = answer.search.prediction.step_seconds;
  const SearchResult found =
      SearchPlans(request.spec, answer.job, spaces, setting, {.most_simulated = 8});
  // What fits today fits with more memory too.
  return found.plan.has_value() ? std::min(before, found.prediction.step_seconds) : before;
}

}  // namespace

HardwareProfile WithFasterDevice(HardwareProfile profile, double factor) {
  DeviceProfile& device = profile.device;
  Scale(device.memory_bytes_per_second, factor);
  Scale(device.element_bytes_per_second, factor);
  Scale(device.launch_seconds, 1 / factor);
  for (Curve* curve : {&device.gemm_bf16, &device.gemm_fp32, &device.attention}) {
    Scale(*curve, factor);
  }
  if (device.head.has_value()) Scale(*device.head, factor);
  if (device.experts.has_value()) Scale(*device.experts, factor);
  return profile;
}

HardwareProfile WithFasterLink(HardwareProfile profile, double factor) {
  LinkProfile& link = profile.link;
  for (Curve* curve :
       {&link.h2d_pinned, &link.h2d_pageable, &link.d2h_pinned, &link.d2h_pageable}) {
    Scale(*curve, factor);
  }
  Scale(link.both_ways_bytes_per_second, factor);
  Scale(link.limit_bytes_per_second, factor);
  return profile;
}

HardwareProfile WithFasterHost(HardwareProfile profile, double factor) {
  HostProfile& host = profile.host;
  Scale(host.dram, factor);
  for (Curve& curve : host.adam) Scale(curve, factor);
  Scale(host.pack, factor);
  Scale(host.accumulate, factor);
  Scale(host.norm, factor);
  return profile;
}

std::vector<RunLimit> FindRateLimits(const ModelSpec& spec, const Schedule& schedule,
                                     const Setting& setting, double step_seconds) {
  std::vector<RunLimit> limits;
  const auto look = [&](std::string what, const HardwareProfile& faster) {
    const Setting enlarged{
        .profile = faster, .software = setting.software, .margin = setting.margin};
    Note(std::move(what), step_seconds,
         PredictRun(spec, schedule, enlarged).prediction.step_seconds, limits);
  };
  look("compute", WithFasterDevice(setting.profile, kEnlarged));
  look("link", WithFasterLink(setting.profile, kEnlarged));
  look("host DRAM", WithFasterHost(setting.profile, kEnlarged));
  SortByGain(limits);
  return limits;
}

std::vector<RunLimit> FindLimits(const PlanRequest& request, const PlanAnswer& answer) {
  const Prediction& prediction = answer.search.prediction;
  const HardwareProfile& profile = request.setting.profile;
  const double step = prediction.step_seconds;
  std::vector<RunLimit> limits;
  if (answer.search.simulation.has_value()) {
    limits =
        FindRateLimits(request.spec, answer.search.simulation->schedule, request.setting, step);
  }
  // A plan that leaves much of a memory free would not use more of it. The next best choice may
  // need several times as much of the device, so that it is tried from a third on.
  constexpr double kDeviceShare = 0.33;
  constexpr double kHostShare = 0.85;
  const auto is_used = [&](Bytes needed, Limit limit, double share) {
    return static_cast<double>(needed) > share * static_cast<double>(Available(profile, limit, 0));
  };
  // The same search in today's memory may find a faster plan too, where the first one was quick:
  // that is no gain of the memory.
  const auto look = [&](std::string what, const HardwareProfile& larger) {
    const double after = StepWith(request, answer, larger);
    if (1 - after / step < kLeastGain) return;
    Note(std::move(what), StepWith(request, answer, profile), after, limits);
  };
  if (is_used(prediction.memory.device_bytes(), Limit::kDeviceMemory, kDeviceShare)) {
    HardwareProfile larger = profile;
    Scale(larger.device.memory_bytes, kEnlarged);
    look("device memory", larger);
  }
  if (is_used(prediction.memory.host_bytes(), Limit::kHostMemory, kHostShare)) {
    HardwareProfile larger = profile;
    Scale(larger.host.memory_bytes, kEnlarged);
    Scale(larger.host.cgroup_bytes, kEnlarged);
    look("host memory", larger);
  }
  SortByGain(limits);
  return limits;
}

}  // namespace horizon
