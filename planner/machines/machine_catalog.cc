#include "planner/machines/machine_catalog.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "planner/machines/derive_profile.h"
#include "planner/machines/machine_catalog_data.h"
#include "planner/machines/machine_description.h"
#include "planner/machines/machine_names.h"
#include "planner/machines/scale_dram.h"

namespace horizon {
namespace {

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status NoSuchMachine(std::string_view name_or_file) {
  const std::vector<std::string> names = MachineNames();
  return absl::NotFoundError(
      StrCat("no machine ", Quoted(name_or_file), ": it is neither a known name nor a machine file",
             DidYouMean(name_or_file, names), " (known names: ", absl::StrJoin(names, ", "), ")"));
}

Figure Given(double value, const std::string& because) {
  CHECK(value > 0);
  return {.value = value, .origin = {.kind = OriginKind::kAssumed, .source = because}};
}

void ScaleByHand(double factor, const std::string& because, Curve& curve) {
  curve = Scaled(std::move(curve), factor);
  curve.origin = {.kind = OriginKind::kAssumed, .source = because};
}

void SetLink(BytesPerSecond rate, const std::string& because, LinkProfile& link) {
  CHECK(rate.value > 0);
  const double h2d = link.h2d_pinned.Highest();
  const double d2h = link.d2h_pinned.Highest();
  ScaleByHand(rate.value / h2d, because, link.h2d_pinned);
  ScaleByHand(rate.value / h2d, because, link.h2d_pageable);
  ScaleByHand(rate.value / d2h, because, link.d2h_pinned);
  ScaleByHand(rate.value / d2h, because, link.d2h_pageable);
  link.both_ways_bytes_per_second =
      Given(link.both_ways_bytes_per_second.value * 2 * rate.value / (h2d + d2h), because);
}

void ScaleThreads(Curve& curve, double factor) {
  const Curve::Point first = curve.points.front();
  for (Curve::Point& point : curve.points) {
    point.x *= factor;
    point.y *= factor;
  }
  // Without it the curve would be constant below its first point: one thread as fast as two.
  if (factor > 1) curve.points.insert(curve.points.begin(), first);
  curve.origin = {.kind = OriginKind::kAssumed,
                  .source = StrCat(factor, " x the processors of: ", curve.origin.source)};
}

}  // namespace

std::span<const MachineEntry> MachineCatalog() { return MachineCatalogData(); }

const MachineEntry* FindMachine(std::string_view name) {
  for (const MachineEntry& entry : MachineCatalog()) {
    if (absl::EqualsIgnoreCase(ToAbsl(entry.name), ToAbsl(name))) return &entry;
  }
  return nullptr;
}

std::vector<std::string> MachineNames() {
  std::vector<std::string> names;
  for (const MachineEntry& entry : MachineCatalog()) names.emplace_back(entry.name);
  return names;
}

namespace {

absl::StatusOr<HardwareProfile> ReadEntry(const MachineEntry& entry) {
  ASSIGN_OR_RETURN(const Document document,
                   ParseJson(StrCat("machines/", entry.name, ".json"), entry.json));
  ASSIGN_OR_RETURN(const MachineDescription machine, ReadMachineDescription(document));
  return DeriveProfile(machine);
}

absl::StatusOr<std::vector<NamedMachine>> NamedMachines() {
  std::vector<NamedMachine> machines;
  for (const MachineEntry& entry : MachineCatalog()) {
    ASSIGN_OR_RETURN(const HardwareProfile profile, ReadEntry(entry));
    machines.push_back({.name = std::string(entry.name),
                        .device = profile.device.name,
                        .memory_bytes = profile.device.memory_bytes.value});
  }
  return machines;
}

}  // namespace

absl::StatusOr<std::vector<HardwareProfile>> RunnableMachines() {
  std::vector<HardwareProfile> machines;
  for (const MachineEntry& entry : MachineCatalog()) {
    ASSIGN_OR_RETURN(HardwareProfile machine, ReadEntry(entry));
    if (!machine.planned_only.has_value()) machines.push_back(std::move(machine));
  }
  return machines;
}

absl::StatusOr<const MachineEntry*> FindTypedMachine(Io& io, std::string_view name_or_file) {
  if (const MachineEntry* entry = FindMachine(name_or_file)) return entry;
  const absl::StatusOr<FileInfo> info = io.Info(std::string(name_or_file));
  if (info.ok()) return nullptr;
  if (!absl::IsNotFound(info.status())) return info.status();
  ASSIGN_OR_RETURN(const std::vector<NamedMachine> machines, NamedMachines());
  const std::vector<std::string> called = MachinesCalled(name_or_file, machines);
  if (called.empty()) return NoSuchMachine(name_or_file);
  if (called.size() == 1) return FindMachine(called.front());
  return absl::InvalidArgumentError(StrCat("several machines are called ", Quoted(name_or_file),
                                           ": ", absl::StrJoin(called, ", "),
                                           "; name one of them"));
}

absl::StatusOr<HardwareProfile> LoadMachine(Io& io, std::string_view name_or_file) {
  ASSIGN_OR_RETURN(const MachineEntry* const entry, FindTypedMachine(io, name_or_file));
  return entry == nullptr ? LoadProfile(io, std::string(name_or_file)) : ReadEntry(*entry);
}

namespace {

constexpr std::string_view kAsIfWith = "; as if with ";

}  // namespace

std::string OverridesText(const MachineOverrides& overrides) {
  std::vector<std::string> parts;
  const auto add = [&](bool given, auto text) {
    if (given) parts.push_back(text());
  };
  add(overrides.host_memory.has_value(),
      [&] { return StrCat(ToString(*overrides.host_memory), " of host memory"); });
  add(overrides.device_memory.has_value(),
      [&] { return StrCat(ToString(*overrides.device_memory), " of device memory"); });
  add(overrides.dram.has_value(), [&] { return StrCat("DRAM of ", ToString(*overrides.dram)); });
  add(overrides.link.has_value(), [&] { return StrCat("a link of ", ToString(*overrides.link)); });
  add(overrides.link_limit.has_value(),
      [&] { return StrCat("copies held to ", ToString(*overrides.link_limit)); });
  add(overrides.cores.has_value(),
      [&] { return StrCat(*overrides.cores, *overrides.cores == 1 ? " core" : " cores"); });
  return absl::StrJoin(parts, ", ");
}

std::string MachineHeading(const HardwareProfile& machine) {
  const size_t overrides = std::min(machine.summary.find(kAsIfWith), machine.summary.size());
  std::string text = StrCat(machine.name, " (", machine.summary.substr(0, overrides), ")");
  if (overrides < machine.summary.size()) {
    text += StrCat("\n  ", machine.summary.substr(overrides + 2));
  }
  return text;
}

HardwareProfile WithOverrides(HardwareProfile machine, const MachineOverrides& overrides) {
  if (const std::string given = OverridesText(overrides); !given.empty()) {
    machine.summary += StrCat(kAsIfWith, given);
  }
  const std::string& because = overrides.because;
  if (overrides.host_memory.has_value()) {
    const auto bytes = static_cast<double>(*overrides.host_memory);
    machine.host.memory_bytes = Given(bytes, because);
    machine.host.cgroup_bytes.reset();
  }
  if (overrides.device_memory.has_value()) {
    const auto bytes = static_cast<double>(*overrides.device_memory);
    machine.device.memory_bytes = Given(bytes, because);
  }
  if (overrides.dram.has_value()) {
    machine = WithDram(std::move(machine), *overrides.dram, because);
  }
  if (overrides.link.has_value()) SetLink(*overrides.link, because, machine.link);
  if (overrides.link_limit.has_value()) {
    machine.link.limit_bytes_per_second = Given(overrides.link_limit->value, because);
  }
  if (overrides.cores.has_value()) {
    CHECK(*overrides.cores > 0);
    machine.host.cores = *overrides.cores;
  }
  return machine;
}

HardwareProfile OwnMachine(const HardwareProfile& base, const MachineOverrides& changes,
                           const std::string& name) {
  HardwareProfile own = WithOverrides(base, changes);
  const std::string given = OverridesText(changes);
  own.name = name;
  own.summary =
      StrCat("from ", base.name, ": ", base.summary, given.empty() ? "" : "; with ", given);
  own.measured_on.reset();
  return own;
}

HardwareProfile ScaledHost(HardwareProfile machine, double factor) {
  CHECK(factor > 0);
  HostProfile& host = machine.host;
  const double cores = std::round(static_cast<double>(host.cores) * factor);
  host.cores = std::max<int64_t>(1, static_cast<int64_t>(cores));
  ScaleThreads(host.dram, factor);
  for (Curve& curve : host.adam) ScaleThreads(curve, factor);
  ScaleThreads(host.pack, factor);
  return machine;
}

}  // namespace horizon
