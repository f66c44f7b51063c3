#include "app/machine_text.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/str_cat.h"
#include "common/text_table.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr size_t kLineLength = 100;

std::string RateText(double rate) { return ToString(BytesPerSecond{rate}); }
std::string FlopsText(double rate) { return ToString(FlopsPerSecond{rate}); }
std::string SecondsText(double seconds) { return ToString(Seconds{seconds}); }
std::string ParametersText(double rate) {
  return absl::StrFormat("%.4g G parameters/s", rate / 1e9);
}
std::string DimensionText(double size) { return absl::StrFormat("dimension %.6g", size); }
std::string SequenceText(double size) { return absl::StrFormat("sequence %.6g", size); }
std::string ThreadsText(double threads) {
  return absl::StrFormat("%.4g %s", threads, threads == 1 ? "thread" : "threads");
}

// The source; of a measurement also when, how often and how far apart.
std::string SourceText(const Origin& origin) {
  if (origin.kind != OriginKind::kMeasured) return origin.source;
  return absl::StrFormat("%s (%s%d times, spread %.2g %%%s)", origin.source,
                         origin.when.empty() ? "" : origin.when + ", ", origin.repeats,
                         100 * origin.spread, origin.spread > kNoisySpread ? ": noisy" : "");
}

// "[3] the text", wrapped, its further lines below the first.
std::string NoteText(size_t number, const std::string& text) {
  std::string out = StrCat("[", number, "]");
  const std::string indent(out.size(), ' ');
  size_t column = out.size();
  for (const auto& word : absl::StrSplit(text, ' ')) {
    if (column + 1 + word.size() > kLineLength) {
      out += StrCat("\n", indent);
      column = indent.size();
    }
    out += StrCat(" ", word);
    column += 1 + word.size();
  }
  return StrCat(out, "\n");
}

// Every figure of a machine, one a row, with the number of the note that says where it comes from.
class FigureTable {
 public:
  using Printer = std::string (*)(double);

  void Add(std::string_view name, const Figure& figure, Printer print) {
    AddRow(std::string(name), print(figure.value), figure.origin);
  }
  void Add(std::string_view name, const std::optional<Figure>& figure, Printer print) {
    if (figure.has_value()) Add(name, *figure, print);
  }
  void Add(std::string_view name, const Curve& curve, Printer print_size, Printer print_rate) {
    for (const Curve::Point& point : curve.points) {
      AddRow(StrCat(name, " at ", print_size(point.x)), print_rate(point.y), curve.origin);
    }
  }
  std::string Finish() && {
    std::string text = StrCat(std::move(table_).Finish(), "\nWhere the figures come from:\n");
    for (size_t i = 0; i < notes_.size(); ++i) text += NoteText(i + 1, notes_[i]);
    return text;
  }

 private:
  void AddRow(std::string name, std::string value, const Origin& origin) {
    const std::string note = SourceText(origin);
    size_t at = 0;
    while (at < notes_.size() && notes_[at] != note) ++at;
    if (at == notes_.size()) notes_.push_back(note);
    table_.AddRow({std::move(name), std::move(value), std::string(ToString(origin.kind)),
                   StrCat("[", at + 1, "]")});
  }

  TextTable table_{{"figure", "value", "origin", "note"}};
  std::vector<std::string> notes_;
};

void AddDevice(const DeviceProfile& device, FigureTable& table) {
  table.Add("device.memory_bytes", device.memory_bytes, MachineBytesText);
  table.Add("device.reserved_bytes", device.reserved_bytes, MachineBytesText);
  table.Add("device.memory_bytes_per_second", device.memory_bytes_per_second, RateText);
  table.Add("device.element_bytes_per_second", device.element_bytes_per_second, RateText);
  table.Add("device.launch_seconds", device.launch_seconds, SecondsText);
  table.Add("device.gemm_bf16", device.gemm_bf16, DimensionText, FlopsText);
  table.Add("device.gemm_fp32", device.gemm_fp32, DimensionText, FlopsText);
  table.Add("device.attention", device.attention, SequenceText, FlopsText);
}

void AddLink(const LinkProfile& link, FigureTable& table) {
  table.Add("link.latency_seconds", link.latency_seconds, SecondsText);
  table.Add("link.h2d_pinned", link.h2d_pinned, MachineBytesText, RateText);
  table.Add("link.h2d_pageable", link.h2d_pageable, MachineBytesText, RateText);
  table.Add("link.d2h_pinned", link.d2h_pinned, MachineBytesText, RateText);
  table.Add("link.d2h_pageable", link.d2h_pageable, MachineBytesText, RateText);
  table.Add("link.both_ways_bytes_per_second", link.both_ways_bytes_per_second, RateText);
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
  table.Add("host.process_bytes", host.process_bytes, MachineBytesText);
}

}  // namespace

std::string MachineBytesText(double bytes) {
  const auto count = static_cast<uint64_t>(bytes);
  if (count > 0 && count % 1'000'000'000 == 0) return StrCat(count / 1'000'000'000, " GB");
  return ToString(Bytes(CheckedU64(count)));
}

std::string MachineText(const HardwareProfile& machine) {
  FigureTable table;
  AddDevice(machine.device, table);
  AddLink(machine.link, table);
  AddHost(machine.host, table);
  for (const DiskProfile& disk : machine.disks) {
    table.Add(StrCat("disk ", disk.path, " read"), disk.read_bytes_per_second, RateText);
    table.Add(StrCat("disk ", disk.path, " write"), disk.write_bytes_per_second, RateText);
  }
  const HostProfile& host = machine.host;
  return StrCat(machine.name, ": ", machine.summary, "\n",  //
                "device: ", machine.device.name, " (", ToString(machine.device.kind), ")\n",
                "host: ", host.name, "\n",  //
                "cores: ", host.cores, " on ", host.numa_nodes,
                host.numa_nodes == 1 ? " NUMA node" : " NUMA nodes", "\n\n",
                std::move(table).Finish());
}

}  // namespace horizon
