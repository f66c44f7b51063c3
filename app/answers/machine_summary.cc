#include "app/answers/machine_summary.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/profile/profile_cache.h"

namespace horizon {
namespace {

std::string RateText(double rate) { return ToString(BytesPerSecond{rate}); }
std::string FlopsText(double rate) { return ToString(FlopsPerSecond{rate}); }
std::string SizeText(Bytes bytes) { return MachineBytesText(static_cast<double>(bytes)); }
std::string Counted(int64_t count, std::string_view what) {
  return StrCat(count, " ", what, count == 1 ? "" : "s");
}

std::string MeasuredText(const MeasuredOn& measured, int64_t now) {
  const std::string when = absl::FormatTime(
      "%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(measured.made), absl::UTCTimeZone());
  return StrCat(when, ", ", FreshnessText(measured, now));
}

std::string TopologyText(const HostTopology& topology) {
  std::string text =
      StrCat(Counted(topology.sockets, "socket"), ", ", Counted(topology.cores, "core"), ", ",
             Counted(topology.hardware_threads, "hardware thread"));
  if (topology.l2_bytes > 0_B) text += StrCat("; L2 ", SizeText(topology.l2_bytes));
  if (topology.l3_bytes > 0_B) {
    text += StrCat(topology.l2_bytes > 0_B ? ", L3 " : "; L3 ",
                   topology.l3_caches > 1 ? StrCat(topology.l3_caches, " x ") : "",
                   SizeText(topology.l3_bytes));
  }
  return text;
}

std::string NodesText(const HostTopology& topology) {
  std::string text;
  for (const NumaNode& node : topology.nodes) {
    text +=
        StrCat(text.empty() ? "" : "; ", "node ", node.number, ": ", SizeText(node.memory_bytes),
               ", ", node.cores == 0 ? "no cores" : Counted(node.cores, "core"));
  }
  return text;
}

std::string CoresLine(const HostProfile& host) {
  std::string text = StrCat(host.cores, " on ", Counted(host.numa_nodes, "NUMA node"));
  if (!host.allowance.has_value()) return text;
  const int64_t threads = host.topology.has_value() ? host.topology->hardware_threads
                                                    : host.allowance->hardware_threads;
  return StrCat(text, " (", CoresText(*host.allowance, threads), ")");
}

// What can be used, and which of all limits it is that binds.
std::string MemoryText(const HardwareProfile& machine) {
  const HostProfile& host = machine.host;
  const double usable = machine.usable_host_bytes();
  std::string text = MachineBytesText(usable);
  if (!host.allowance.has_value()) return text;
  const HostAllowance& allowed = *host.allowance;
  const bool limited = usable < host.memory_bytes.value;
  const bool by_group = allowed.control_group_bytes > 0_B &&
                        (allowed.address_space_bytes == 0_B ||
                         allowed.control_group_bytes <= allowed.address_space_bytes);
  const std::string total = SizeText(allowed.total_memory_bytes);
  if (!limited) {
    text += StrCat(" can be used: what is free of ", total);
  } else {
    text += StrCat(
        " can be used: ", by_group ? "the limit of the control group" : "the limit of `ulimit -v`",
        " binds; ", MachineBytesText(host.memory_bytes.value), " of ", total, " are free");
  }
  const auto limit = [&](std::string_view name, Bytes bytes, bool binds) {
    if (bytes > 0_B && !(limited && binds)) text += StrCat(", ", name, " ", SizeText(bytes));
  };
  limit("the control group allows", allowed.control_group_bytes, by_group);
  limit("`ulimit -v` allows", allowed.address_space_bytes, !by_group);
  if (allowed.swap_bytes > 0_B) {
    text += StrCat(", swap ", SizeText(allowed.swap_free_bytes), " of ",
                   SizeText(allowed.swap_bytes), " free");
  }
  return text;
}

std::string PagesText(const HostAllowance& allowed) {
  std::string text = StrCat("huge pages ", ToString(allowed.huge_pages));
  if (allowed.huge_page_pool_bytes > 0_B) {
    text += StrCat(", ", SizeText(allowed.huge_page_pool_free_bytes), " of ",
                   SizeText(allowed.huge_page_pool_bytes), " set aside are free");
  }
  return StrCat(text, "; ",
                allowed.locked_memory_bytes > 0_B
                    ? StrCat("may lock ", SizeText(allowed.locked_memory_bytes), " (ulimit -l)")
                    : "may lock any amount");
}

std::string LinkText(const LinkProfile& link) {
  std::string text = StrCat(RateText(link.h2d_pinned.Highest()), " to the device, ",
                            RateText(link.d2h_pinned.Highest()), " back, ",
                            RateText(link.both_ways_bytes_per_second.value), " both ways");
  if (link.pcie.has_value()) {
    text += StrCat("; PCIe ", PcieText(link.pcie->generation, link.pcie->width),
                   link.pcie->under_load ? " under load" : " at rest");
  }
  return text;
}

std::string DiskText(const DiskProfile& disk) {
  return StrCat(disk.path, ": read ", RateText(disk.read_bytes_per_second.value), ", written ",
                RateText(disk.write_bytes_per_second.value),
                disk.free_bytes.has_value()
                    ? StrCat(", ", MachineBytesText(disk.free_bytes->value), " free")
                    : "");
}

}  // namespace

std::string WrappedLine(std::string_view head, std::string_view text, size_t columns) {
  std::string out(head);
  const std::string indent(out.size(), ' ');
  size_t column = out.size();
  const absl::string_view words(text.data(), text.size());
  for (const auto& word : absl::StrSplit(words, ' ')) {
    if (column + 1 + word.size() > columns && column > indent.size()) {
      out += StrCat("\n", indent);
      column = indent.size();
    }
    out += StrCat(" ", word);
    column += 1 + word.size();
  }
  return StrCat(out, "\n");
}

size_t ProseWidth(size_t columns) {
  constexpr size_t kWidest = 120;
  return columns == kAnyWidth ? kUsualLine : std::min(columns, kWidest);
}

std::string MachineBytesText(double bytes) {
  const auto count = static_cast<uint64_t>(bytes);
  if (count > 0 && count % 1'000'000'000 == 0) return StrCat(count / 1'000'000'000, " GB");
  return BytesText(count);
}

std::string MachineSummary(const HardwareProfile& machine, int64_t now, size_t columns) {
  const HostProfile& host = machine.host;
  const size_t line_width = ProseWidth(columns);
  std::string text = WrappedLine(StrCat(machine.name, ":"), machine.summary, columns);
  const auto line = [&](std::string_view head, const std::string& words) {
    text += WrappedLine(StrCat(head, ":"), words, line_width);
  };
  if (machine.measured_on.has_value()) line("measured", MeasuredText(*machine.measured_on, now));
  line("device", StrCat(machine.device.name, " (", ToString(machine.device.kind), "), ",
                        MachineBytesText(machine.device.memory_bytes.value)));
  line("host", host.topology.has_value() ? StrCat(host.name, ": ", TopologyText(*host.topology))
                                         : host.name);
  line("cores", CoresLine(host));
  if (host.topology.has_value() && host.topology->nodes.size() > 1) {
    line("nodes", NodesText(*host.topology));
  }
  line("memory", MemoryText(machine));
  if (host.allowance.has_value()) line("pages", PagesText(*host.allowance));
  line("products", StrCat("bf16 ", FlopsText(machine.device.gemm_bf16.Highest()), ", fp32 ",
                          FlopsText(machine.device.gemm_fp32.Highest()), " at most"));
  line("link", LinkText(machine.link));
  line("DRAM", StrCat(RateText(host.dram.Highest()), " at most"));
  for (const DiskProfile& disk : machine.disks) line("disk", DiskText(disk));
  if (machine.link.pcie.has_value()) {
    const std::string problem = LinkProblem(*machine.link.pcie);
    if (!problem.empty()) line("look", problem);
  }
  return text;
}

}  // namespace horizon
