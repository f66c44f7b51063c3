#include "simulator/machine_facts.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

// Bytes/s of a lane in units of the first generation's: the rate doubles from each to the next
// but for the change of encoding (8 of 10 bits, from the third on 128 of 130).
double LaneRate(int64_t generation) {
  const double transfers =
      generation < 3 ? std::exp2(generation - 1) * 2.5 : std::exp2(generation - 3) * 8;
  return transfers * (generation < 3 ? 0.8 : 128.0 / 130) / 2;
}

}  // namespace

std::span<const EnumWord<HugePageMode>> WordsOf(HugePageMode) {
  static constexpr EnumWord<HugePageMode> kWords[] = {{HugePageMode::kAlways, "always"},
                                                      {HugePageMode::kMadvise, "madvise"},
                                                      {HugePageMode::kNever, "never"},
                                                      {HugePageMode::kUnknown, "unknown"}};
  return kWords;
}

std::string DifferenceOf(const ProfiledHardware& here, const ProfiledHardware& there) {
  std::string text;
  const auto compare = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a == b) return;
    text += StrCat(text.empty() ? "" : ", ", what, ": ", a, " instead of ", b);
  };
  compare("processor", here.processor, there.processor);
  compare("cores", StrCat(here.cores), StrCat(there.cores));
  compare("hardware threads", StrCat(here.hardware_threads), StrCat(there.hardware_threads));
  if (here.memory_bytes != there.memory_bytes) {
    // The rounded text does not tell near sizes apart.
    const Bytes least = std::min(here.memory_bytes, there.memory_bytes);
    const Bytes most = std::max(here.memory_bytes, there.memory_bytes);
    const bool near = most - least < most / 100;
    const auto text_of = [&](Bytes bytes) {
      return near ? StrCat(WithCommas(bytes.value()), " bytes") : ToString(bytes);
    };
    compare("memory", text_of(here.memory_bytes), text_of(there.memory_bytes));
  }
  compare("NUMA nodes", StrCat(here.numa_nodes), StrCat(there.numa_nodes));
  compare("device", here.device, there.device);
  return text;
}

std::string ToString(const ProfiledHardware& hardware) {
  return StrCat(hardware.processor.empty() ? "processor" : hardware.processor, ", ", hardware.cores,
                hardware.cores == 1 ? " core, " : " cores, ", ToString(hardware.memory_bytes),
                ", device ", hardware.device);
}

std::string CoresText(const HostAllowance& allowance, int64_t machine_threads) {
  std::string text = machine_threads == 1 ? std::string("the one hardware thread")
                                          : StrCat("all ", machine_threads, " hardware threads");
  if (allowance.hardware_threads < machine_threads) {
    text = StrCat(allowance.hardware_threads, " of ", machine_threads,
                  " hardware threads by affinity");
  }
  if (allowance.quota_cores > 0) {
    text += absl::StrFormat("; %.4g cores' worth of time by quota", allowance.quota_cores);
  }
  return text;
}

std::string PcieText(int64_t generation, int64_t width) {
  return StrCat("gen ", generation, " x", width);
}

std::string LinkProblem(const PcieState& link) {
  const bool narrow = link.width < link.best_width;
  const bool slow = link.generation < link.best_generation;
  if (!narrow && !slow) return "";
  const std::string now = PcieText(link.generation, link.width);
  const std::string best = PcieText(link.best_generation, link.best_width);
  if (!narrow && !link.under_load) {
    return StrCat("the link runs as ", now, " at rest and could as ", best,
                  ": usual while a device idles, look again under load");
  }
  // At rest the generation says nothing, so that the lanes alone are compared.
  const double lanes = static_cast<double>(link.width) / static_cast<double>(link.best_width);
  const double share =
      link.under_load ? lanes * LaneRate(link.generation) / LaneRate(link.best_generation) : lanes;
  return absl::StrFormat(
      "the link runs below its best: %s%s of %s (%d of %d lanes), at most %s of what it could "
      "carry: look at slot, riser and firmware settings",
      now, link.under_load ? " under load" : " at rest", best, link.width, link.best_width,
      Percent(share));
}

}  // namespace horizon
