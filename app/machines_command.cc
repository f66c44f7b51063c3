#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "app/commands.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/text_table.h"
#include "common/units.h"
#include "planner/calibration.h"
#include "planner/machine_catalog.h"
#include "simulator/hardware_profile.h"

namespace horizon {
namespace {

constexpr size_t kLineLength = 100;

// Sizes as the maker prints them: decimal where that is exact, else binary.
std::string BytesText(double bytes) {
  const auto count = static_cast<uint64_t>(bytes);
  if (count > 0 && count % 1'000'000'000 == 0) return StrCat(count / 1'000'000'000, " GB");
  return ToString(Bytes(CheckedU64(count)));
}
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
  return absl::StrFormat("%s (%s, %d times, spread %.2g %%)", origin.source, origin.when,
                         origin.repeats, 100 * origin.spread);
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
  table.Add("device.memory_bytes", device.memory_bytes, BytesText);
  table.Add("device.reserved_bytes", device.reserved_bytes, BytesText);
  table.Add("device.memory_bytes_per_second", device.memory_bytes_per_second, RateText);
  table.Add("device.element_bytes_per_second", device.element_bytes_per_second, RateText);
  table.Add("device.launch_seconds", device.launch_seconds, SecondsText);
  table.Add("device.gemm_bf16", device.gemm_bf16, DimensionText, FlopsText);
  table.Add("device.gemm_fp32", device.gemm_fp32, DimensionText, FlopsText);
  table.Add("device.attention", device.attention, SequenceText, FlopsText);
}

void AddLink(const LinkProfile& link, FigureTable& table) {
  table.Add("link.latency_seconds", link.latency_seconds, SecondsText);
  table.Add("link.h2d_pinned", link.h2d_pinned, BytesText, RateText);
  table.Add("link.h2d_pageable", link.h2d_pageable, BytesText, RateText);
  table.Add("link.d2h_pinned", link.d2h_pinned, BytesText, RateText);
  table.Add("link.d2h_pageable", link.d2h_pageable, BytesText, RateText);
  table.Add("link.both_ways_bytes_per_second", link.both_ways_bytes_per_second, RateText);
}

void AddHost(const HostProfile& host, FigureTable& table) {
  table.Add("host.memory_bytes", host.memory_bytes, BytesText);
  table.Add("host.cgroup_bytes", host.cgroup_bytes, BytesText);
  table.Add("host.memlock_bytes", host.memlock_bytes, BytesText);
  table.Add("host.dram", host.dram, ThreadsText, RateText);
  for (size_t i = 0; i < host.adam.size(); ++i) {
    table.Add(StrCat("host.adam.", ToString(static_cast<StateFormat>(i))), host.adam[i],
              ThreadsText, ParametersText);
  }
  table.Add("host.pack", host.pack, ThreadsText, RateText);
  table.Add("host.process_bytes", host.process_bytes, BytesText);
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

// Estimates are shown with three digits.
double Rounded(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

std::string ListText(const std::vector<HardwareProfile>& machines) {
  TextTable table(
      {"machine", "device", "memory", "bf16 GEMM", "link", "host RAM", "DRAM", "cores"});
  for (const HardwareProfile& machine : machines) {
    table.AddRow({machine.name, machine.device.name, BytesText(machine.device.memory_bytes.value),
                  FlopsText(Rounded(machine.device.gemm_bf16.Highest())),
                  RateText(Rounded(machine.link.h2d_pinned.Highest())),
                  BytesText(machine.host.memory_bytes.value),
                  RateText(Rounded(machine.host.dram.Highest())), StrCat(machine.host.cores)});
  }
  return StrCat(
      std::move(table).Finish(),
      "\nRates are the highest we expect to be reached, not the makers' peaks; the link's "
      "is one way.\n'horizon machines NAME' shows every figure of a machine and where it "
      "comes from.\n");
}

uint64_t Whole(const Figure& figure) { return static_cast<uint64_t>(figure.value); }

std::string ListJson(const std::vector<HardwareProfile>& machines) {
  JsonWriter json;
  json.BeginObject().Key("machines").BeginArray();
  for (const HardwareProfile& machine : machines) {
    json.BeginObject();
    json.Key("name").String(machine.name);
    json.Key("summary").String(machine.summary);
    json.Key("device").String(machine.device.name);
    json.Key("device_memory_bytes").Unsigned(Whole(machine.device.memory_bytes));
    json.Key("gemm_bf16_flops_per_second").Number(machine.device.gemm_bf16.Highest());
    json.Key("link_bytes_per_second").Number(machine.link.h2d_pinned.Highest());
    json.Key("host_memory_bytes").Unsigned(Whole(machine.host.memory_bytes));
    json.Key("dram_bytes_per_second").Number(machine.host.dram.Highest());
    json.Key("cores").Integer(machine.host.cores);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

class MachinesCommand : public Command {
 public:
  std::string_view name() const override { return "machines"; }
  std::string_view summary() const override {
    return "List the machines known by name, or show all figures of one";
  }
  std::string_view details() const override {
    return "To describe a machine of your own, start from one that resembles it:\n"
           "  horizon machines h100-pcie --json > mine.json\n"
           "edit the file, look at it with 'horizon machines mine.json', and give it wherever a\n"
           "machine is asked for: --machine mine.json.\n";
  }
  OptionList Options() override {
    return {.options = {{.name = "json",
                         .value = &json_,
                         .help = "Answer in JSON; with NAME, as a machine file"}},
            .positionals = {{.name = "NAME",
                             .value = &machine_,
                             .help = "A machine of the list, or a machine file"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    if (machine_.has_value()) return ShowOne(context);
    std::vector<HardwareProfile> machines;
    for (const std::string& name : MachineNames()) {
      ASSIGN_OR_RETURN(machines.emplace_back(), LoadCalibratedMachine(context.io, name));
    }
    return context.output.Write(json_ ? ListJson(machines) : ListText(machines));
  }

 private:
  absl::Status ShowOne(const CommandContext& context) {
    ASSIGN_OR_RETURN(const HardwareProfile machine, LoadCalibratedMachine(context.io, *machine_));
    if (!json_) return context.output.Write(MachineText(machine));
    // The catalog's own text is laid out for people to read and edit; figures fitted to published
    // runs are not in it.
    const MachineEntry* entry = FindMachine(*machine_);
    const bool as_in_catalog =
        entry != nullptr && BuiltInCalibration().Find(machine.name) == nullptr;
    return context.output.Write(as_in_catalog ? std::string(entry->json) : WriteProfile(machine));
  }

  std::optional<std::string> machine_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeMachinesCommand() { return std::make_unique<MachinesCommand>(); }

}  // namespace horizon
