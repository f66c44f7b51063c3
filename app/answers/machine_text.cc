#include "app/answers/machine_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "app/answers/machine_summary.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"

namespace horizon {
namespace {

std::string RateText(double rate) { return ToString(BytesPerSecond{rate}); }
std::string FlopsText(double rate) { return ToString(FlopsPerSecond{rate}); }
std::string SecondsText(double seconds) { return ToString(Seconds{seconds}); }
std::string ParametersText(double rate) {
  return absl::StrFormat("%.4g G parameters/s", rate / 1e9);
}
std::string DimensionText(double size) { return absl::StrFormat("dimension %.6g", size); }
std::string WorkText(double flops) { return absl::StrFormat("%.3g flops", flops); }
std::string ShareText(double share) { return absl::StrFormat("%.3g", share); }
std::string SequenceText(double size) { return absl::StrFormat("sequence %.6g", size); }
std::string TokensText(double tokens) { return absl::StrFormat("%.6g tokens", tokens); }
std::string ThreadsText(double threads) {
  return absl::StrFormat("%.4g %s", threads, threads == 1 ? "thread" : "threads");
}

// The source, and of a measurement when.
std::string SourceText(const Origin& origin) {
  const bool dated = origin.kind == OriginKind::kMeasured && !origin.when.empty();
  return dated ? StrCat(origin.source, " (", origin.when, ")") : origin.source;
}

std::string SpreadText(double spread) { return Percent(spread, 100 * spread < 10 ? 1 : 0); }

// More names than these make nobody wiser; the table has them all.
constexpr size_t kMostNamed = 6;

bool IsMeasured(const Origin& origin) { return origin.kind == OriginKind::kMeasured; }
bool IsNoisy(const Origin& origin) { return IsMeasured(origin) && origin.spread > kNoisySpread; }

// Every figure of a machine, one a row, with the number of the note that says where it comes from.
class FigureTable {
 public:
  using Printer = std::string (*)(double);

  void Add(std::string_view name, const Figure& figure, Printer print) {
    Count(name, figure.origin);
    AddRow(std::string(name), print(figure.value), figure.origin);
  }
  void Add(std::string_view name, const std::optional<Figure>& figure, Printer print) {
    if (figure.has_value()) Add(name, *figure, print);
  }
  void Add(std::string_view name, const Curve& curve, Printer print_size, Printer print_rate) {
    Count(name, curve.origin);
    for (const Curve::Point& point : curve.points) {
      AddRow(StrCat(name, " at ", print_size(point.x)), print_rate(point.y), curve.origin);
    }
  }

  // A figure that is shown elsewhere.
  void Count(std::string_view name, const Origin& origin) {
    if (IsMeasured(origin)) ++measured_;
    if (IsNoisy(origin)) noisy_.emplace_back(name);
  }

  // One line on what is too far apart to be trusted; empty where nothing was measured.
  std::string Noise(size_t line) const {
    if (measured_ == 0) return "";
    const std::string bound = StrCat("(spread above ", Percent(kNoisySpread), ")");
    if (noisy_.empty()) {
      return StrCat("noise: none of ", measured_, " measured figures is noisy ", bound, "\n");
    }
    std::string text = StrCat(noisy_.size(), " of ", measured_, " measured figures ",
                              noisy_.size() == 1 ? "is" : "are", " noisy ", bound, ":");
    const size_t named = std::min(noisy_.size(), kMostNamed);
    for (size_t i = 0; i < named; ++i) text += StrCat(i == 0 ? " " : ", ", noisy_[i]);
    if (named < noisy_.size()) text += StrCat(" and ", noisy_.size() - named, " more");
    return WrappedLine("noise:", StrCat(text, "; run again on an idle machine"), line);
  }

  std::string Finish(size_t columns, size_t line) && {
    std::vector<std::string> titles = {"figure", "value", "origin", "note"};
    if (measured_ > 0) titles.insert(titles.begin() + 2, {"repeats", "spread"});
    TextTable table(std::move(titles));
    for (Row& row : rows_) {
      std::vector<std::string> cells = {std::move(row.name), std::move(row.value),
                                        std::move(row.origin), std::move(row.note)};
      if (measured_ > 0) {
        cells.insert(cells.begin() + 2, {std::move(row.repeats), std::move(row.spread)});
      }
      table.AddRow(std::move(cells));
    }
    std::string text = StrCat(std::move(table).Finish(columns), "\nWhere the figures come from");
    text += measured_ > 0 ? " (a measured one is the median of its repeats):\n" : ":\n";
    for (size_t i = 0; i < notes_.size(); ++i) {
      text += WrappedLine(StrCat("[", i + 1, "]"), notes_[i], line);
    }
    return text;
  }

 private:
  struct Row {
    std::string name, value, repeats, spread, origin, note;
  };

  void AddRow(std::string name, std::string value, const Origin& origin) {
    const std::string note = SourceText(origin);
    size_t at = 0;
    while (at < notes_.size() && notes_[at] != note) ++at;
    if (at == notes_.size()) notes_.push_back(note);
    Row row{.name = std::move(name),
            .value = std::move(value),
            .origin = std::string(ToString(origin.kind)),
            .note = StrCat("[", at + 1, "]")};
    if (IsMeasured(origin)) {
      row.repeats = StrCat(origin.repeats);
      // What is told once has no spread.
      if (origin.repeats > 1 || origin.spread > 0) row.spread = SpreadText(origin.spread);
      if (IsNoisy(origin)) row.spread += " noisy";
    }
    rows_.push_back(std::move(row));
  }

  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  std::vector<std::string> noisy_;  // names of figures and curves
  int64_t measured_ = 0;            // figures and curves
};

void AddDevice(const DeviceProfile& device, FigureTable& table) {
  table.Add("device.memory_bytes", device.memory_bytes, MachineBytesText);
  table.Add("device.reserved_bytes", device.reserved_bytes, MachineBytesText);
  table.Add("device.memory_bytes_per_second", device.memory_bytes_per_second, RateText);
  table.Add("device.element_bytes_per_second", device.element_bytes_per_second, RateText);
  table.Add("device.launch_seconds", device.launch_seconds, SecondsText);
  table.Add("device.gemm_bf16", device.gemm_bf16, DimensionText, FlopsText);
  table.Add("device.gemm_fp32", device.gemm_fp32, DimensionText, FlopsText);
  if (device.gemm_share.has_value()) {
    table.Add("device.gemm_share", *device.gemm_share, WorkText, ShareText);
  }
  table.Add("device.attention", device.attention, SequenceText, FlopsText);
  if (device.head.has_value()) table.Add("device.head", *device.head, TokensText, FlopsText);
  if (device.experts.has_value()) {
    table.Add("device.experts", *device.experts, DimensionText, FlopsText);
  }
}

void AddLink(const LinkProfile& link, FigureTable& table) {
  table.Add("link.latency_seconds", link.latency_seconds, SecondsText);
  table.Add("link.h2d_pinned", link.h2d_pinned, MachineBytesText, RateText);
  table.Add("link.h2d_pageable", link.h2d_pageable, MachineBytesText, RateText);
  table.Add("link.d2h_pinned", link.d2h_pinned, MachineBytesText, RateText);
  table.Add("link.d2h_pageable", link.d2h_pageable, MachineBytesText, RateText);
  table.Add("link.both_ways_bytes_per_second", link.both_ways_bytes_per_second, RateText);
  table.Add("link.limit_bytes_per_second", link.limit_bytes_per_second, RateText);
}

void AddHost(const HostProfile& host, FigureTable& table) {
  table.Add("host.memory_bytes", host.memory_bytes, MachineBytesText);
  table.Add("host.cgroup_bytes", host.cgroup_bytes, MachineBytesText);
  table.Add("host.memlock_bytes", host.memlock_bytes, MachineBytesText);
  table.Add("host.dram", host.dram, ThreadsText, RateText);
  for (size_t i = 0; i < host.adam.size(); ++i) {
    table.Add(StrCat("host.adam.", ToString(static_cast<StateFormat>(i))), host.adam[i],
              ThreadsText, ParametersText);
  }
  table.Add("host.pack", host.pack, ThreadsText, RateText);
  if (host.accumulate.has_value()) {
    table.Add("host.accumulate", *host.accumulate, ThreadsText, RateText);
  }
  if (host.norm.has_value()) table.Add("host.norm", *host.norm, ThreadsText, RateText);
  table.Add("host.compute_weight", host.compute_weight, ShareText);
  table.Add("host.process_bytes", host.process_bytes, MachineBytesText);
  table.Add("host.yardstick_flops_per_second", host.yardstick_flops_per_second, FlopsText);
  table.Add("host.yardstick_bytes_per_second", host.yardstick_bytes_per_second, RateText);
}

// The contention matrix: a row for each lane's work, a column for each lane beside it.
std::string ContentionText(const std::vector<LaneContention>& contention, size_t columns) {
  if (contention.empty()) return "";
  std::vector<Lane> lanes;
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    const auto is_in = [&](const LaneContention& pair) { return pair.work == lane.value; };
    if (std::any_of(contention.begin(), contention.end(), is_in)) lanes.push_back(lane.value);
  }
  std::vector<std::string> titles = {"work of lane"};
  for (const Lane lane : lanes) titles.push_back(StrCat("beside ", ToString(lane)));
  TextTable table(std::move(titles));
  for (const Lane work : lanes) {
    std::vector<std::string> cells = {std::string(ToString(work))};
    for (const Lane beside : lanes) {
      const auto found = std::find_if(
          contention.begin(), contention.end(),
          [&](const LaneContention& pair) { return pair.work == work && pair.beside == beside; });
      cells.push_back(found == contention.end() ? "" : Percent(found->speed.value));
    }
    table.AddRow(std::move(cells));
  }
  return StrCat(
      "\nWhat work keeps of its speed while another lane works beside it on other "
      "cores:\n",
      std::move(table).Finish(columns));
}

}  // namespace

std::string MachineText(const HardwareProfile& machine, int64_t now, size_t columns) {
  const size_t line = ProseWidth(columns);
  FigureTable table;
  AddDevice(machine.device, table);
  AddLink(machine.link, table);
  AddHost(machine.host, table);
  for (const DiskProfile& disk : machine.disks) {
    table.Add(StrCat("disk ", disk.path, " read"), disk.read_bytes_per_second, RateText);
    table.Add(StrCat("disk ", disk.path, " write"), disk.write_bytes_per_second, RateText);
    table.Add(StrCat("disk ", disk.path, " free"), disk.free_bytes, MachineBytesText);
  }
  for (const LaneContention& pair : machine.contention) {
    table.Count(StrCat(ToString(pair.work), " beside ", ToString(pair.beside)), pair.speed.origin);
  }
  for (const EnumWord<RateGroup>& group : WordsOf(RateGroup{})) {
    table.Add(StrCat("in_runs.", group.word), machine.in_runs[static_cast<size_t>(group.value)],
              ShareText);
  }
  const std::string noise = table.Noise(line);
  return StrCat(MachineSummary(machine, now, columns), noise, "\n",
                std::move(table).Finish(columns, line),
                ContentionText(machine.contention, columns));
}

}  // namespace horizon
