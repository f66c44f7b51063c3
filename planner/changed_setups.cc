#include "planner/changed_setups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

// Cards of the catalog that go into any machine: what has a link of its own kind does not.
constexpr double kFastestCardLink = 7e10;  // bytes/s; PCIe 5.0 x16 carries 64 GB/s
constexpr size_t kMostCards = 2;
constexpr std::string_view kMaker = "NVIDIA ";

// The next faster cards, the slowest of them first.
std::vector<HardwareProfile> FasterCards(const HardwareProfile& today,
                                         const std::vector<HardwareProfile>& others) {
  std::vector<HardwareProfile> cards;
  const auto speed = [](const HardwareProfile& profile) {
    return profile.device.gemm_bf16.Highest();
  };
  for (const HardwareProfile& other : others) {
    const bool is_card = today.device.kind == DeviceKind::kCuda &&
                         other.device.kind == DeviceKind::kCuda &&
                         other.link.h2d_pinned.Highest() <= kFastestCardLink;
    if (is_card && speed(other) > 1.1 * speed(today)) cards.push_back(other);
  }
  std::stable_sort(cards.begin(), cards.end(),
                   [&](const auto& a, const auto& b) { return speed(a) < speed(b); });
  if (cards.size() > kMostCards) cards.erase(cards.begin() + kMostCards, cards.end());
  return cards;
}

std::string CostOf(StateFormat state) {
  return state == StateFormat::kBf16Moments
             ? "moments are rounded to bf16; the fp32 weights stay exact"
             : "moments are kept in 8 bits; the fp32 weights stay exact";
}

TrainingJob UpdatedInBackward(TrainingJob job) {
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  return job;
}

}  // namespace

std::vector<ChangedSetup> FreeChangesOf(const TrainingJob& job, const HardwareProfile& profile,
                                        Strategy strategy) {
  std::vector<ChangedSetup> changes;
  const auto add = [&](const TrainingJob& changed, std::string what, std::string options,
                       std::string cost) {
    changes.push_back({.what = std::move(what),
                       .options = std::move(options),
                       .cost = std::move(cost),
                       .job = changed,
                       .profile = profile});
  };
  // Gradients are used up as they come, so that none are kept.
  const bool may_update_in_backward = strategy == Strategy::kHorizon && job.accumulation == 1 &&
                                      job.optimizer_place != OptimizerPlace::kInBackward;
  const std::string in_backward = "--optimizer-place in-backward --clip-norm 0";
  for (const StateFormat state : {StateFormat::kBf16Moments, StateFormat::k8BitMoments}) {
    if (MomentBytes(state, 1024) >= MomentBytes(job.state_format, 1024)) continue;
    TrainingJob changed = job;
    changed.state_format = state;
    const std::string what = state == StateFormat::kBf16Moments ? "bf16 moments" : "8-bit moments";
    const std::string option = StrCat("--state ", ToString(state));
    add(changed, what, option, CostOf(state));
    if (may_update_in_backward) {
      add(UpdatedInBackward(changed), StrCat(what, ", updated in backward"),
          StrCat(option, " ", in_backward), "what both of these cost");
    }
  }
  if (may_update_in_backward) {
    add(UpdatedInBackward(job), "updated in backward", in_backward,
        "no clipping; a bad gradient is found late");
  }
  if (job.gradient_type == NumberType::kFp32) {
    TrainingJob changed = job;
    changed.gradient_type = NumberType::kBf16;
    add(changed, "bf16 gradients", "--gradients bf16",
        "gradients are rounded to bf16 before they are added");
  }
  if (job.sequence >= 512) {
    TrainingJob changed = job;
    changed.sequence = job.sequence / 2;
    add(changed, StrCat("samples of ", changed.sequence, " tokens"),
        StrCat("--sequence ", changed.sequence),
        "longer samples are cut; the model sees less at once");
  }
  return changes;
}

std::vector<ChangedSetup> PurchasesOf(const TrainingJob& job, const HardwareProfile& today,
                                      const std::vector<HardwareProfile>& others) {
  const auto bytes = [](double value) { return BytesText(static_cast<uint64_t>(value)); };
  std::vector<ChangedSetup> purchases;
  const auto add = [&](std::string what, HardwareProfile profile) {
    purchases.push_back({.what = std::move(what),
                         .options = "",
                         .cost = "",
                         .job = job,
                         .profile = std::move(profile)});
  };
  HardwareProfile ram = today;
  ram.host.memory_bytes.value *= 2;
  if (ram.host.cgroup_bytes.has_value()) ram.host.cgroup_bytes->value *= 2;
  add(StrCat("host memory x2 (", bytes(ram.host.memory_bytes.value), ")"), ram);
  const bool has_card = today.device.kind != DeviceKind::kHost;
  const double rate = today.link.h2d_pinned.Highest() * 2;
  if (has_card) {
    add(StrCat("link x2 (", ToString(BytesPerSecond{rate}), " a way)"),
        WithOverrides(today, {.link = BytesPerSecond{rate}}));
  }
  HardwareProfile host = ScaledHost(today, 2);
  const std::string cores = StrCat("cores and DRAM channels x2 (", host.host.cores, " cores)");
  add(cores, std::move(host));
  if (!has_card) return purchases;
  HardwareProfile device = today;
  device.device.memory_bytes.value *= 2;
  add(StrCat("device memory x2 (", bytes(device.device.memory_bytes.value), ")"), device);
  for (const HardwareProfile& card : FasterCards(today, others)) {
    HardwareProfile with = today;
    with.device = card.device;
    std::string name = card.device.name;
    if (name.starts_with(kMaker)) name.erase(0, kMaker.size());
    add(StrCat(name, " (", bytes(card.device.memory_bytes.value), ")"), std::move(with));
  }
  return purchases;
}

}  // namespace horizon
