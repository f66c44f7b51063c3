#include "planner/machines/derive_profile.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr double kMib = 1024.0 * 1024;

Origin Assumed(std::string source) {
  return {.kind = OriginKind::kAssumed, .source = std::move(source)};
}

Figure AssumedFigure(double value, std::string source) {
  return {.value = value, .origin = Assumed(std::move(source))};
}

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

Curve CurveOf(const SizeShares& shares, double largest, const std::string& source) {
  Curve curve{.origin = Assumed(StrCat(source, "; ", shares.source))};
  for (const SizeShare& one : shares.shares) {
    curve.points.push_back({.x = one.size, .y = one.share * largest});
  }
  return curve;
}

// "0.7 x 312 TFLOPS (vendor data sheet), the share of class a100: ...".
std::string ShareOfPeak(const Share& share, const Figure& peak, DeviceClass device_class) {
  return StrCat(Number(share.value), " x ", Number(peak.value / 1e12), " TFLOPS (",
                peak.origin.source, "), the share of class ", ToString(device_class), ": ",
                share.source);
}

void DeriveDevice(const DescribedDevice& described, double dram, DeviceProfile& device) {
  const DeviceClass device_class = described.device_class;
  const bool is_cpu = device_class == DeviceClass::kCpu;
  const DeviceShares& shares = SharesOf(device_class);
  device.kind = is_cpu ? DeviceKind::kHost : DeviceKind::kCuda;
  device.name = described.name;
  device.memory_bytes = described.memory_bytes;
  device.memory_bytes_per_second = described.memory_bytes_per_second;
  device.reserved_bytes =
      is_cpu ? AssumedFigure(64 * kMib, "64 MiB: buffers of the BLAS library and stacks of threads")
             : AssumedFigure(644245094, "0.6 GiB: usual size of a CUDA context with cuBLAS loaded");
  device.launch_seconds = is_cpu ? AssumedFigure(2e-6, "waking the threads of a pool")
                                 : AssumedFigure(4e-6, "usual time of a small kernel");
  const double memory = is_cpu ? dram : described.memory_bytes_per_second.value;
  device.element_bytes_per_second = AssumedFigure(
      shares.memory.value * memory,
      StrCat(Number(shares.memory.value), " x the memory bandwidth: ", shares.memory.source));
  const double bf16 = shares.bf16.value * described.bf16_flops_per_second.value;
  const double fp32 = shares.fp32.value * described.fp32_flops_per_second.value;
  const SizeShares sizes = GemmShares(device_class);
  device.gemm_bf16 =
      CurveOf(sizes, bf16, ShareOfPeak(shares.bf16, described.bf16_flops_per_second, device_class));
  device.gemm_fp32 =
      CurveOf(sizes, fp32, ShareOfPeak(shares.fp32, described.fp32_flops_per_second, device_class));
  device.attention = CurveOf(AttentionShares(device_class), bf16, "shares of the GEMM rate");
}

void DeriveLink(const DescribedLink& described, LinkProfile& link) {
  const LinkShares& shares = SharesOf(described.kind);
  const SizeShares sizes = CopyShares(described.kind);
  const double nominal = described.nominal_bytes_per_second();
  const auto source = [&](const Share& share) {
    return StrCat(Number(share.value), " x ", described.Text(), " (", described.source,
                  "): ", share.source);
  };
  link.latency_seconds = described.kind == LinkKind::kMemcpy
                             ? AssumedFigure(2e-6, "handing a copy to another thread")
                             : AssumedFigure(1e-5, "usual time of a tiny asynchronous copy");
  link.h2d_pinned = CurveOf(sizes, shares.in.value * nominal, source(shares.in));
  link.d2h_pinned = CurveOf(sizes, shares.out.value * nominal, source(shares.out));
  const auto pageable = [&](const Curve& pinned) {
    Curve curve = Scaled(pinned, shares.pageable.value);
    curve.origin = Assumed(StrCat(Number(shares.pageable.value),
                                  " x the rate of pinned memory: ", shares.pageable.source));
    return curve;
  };
  link.h2d_pageable = pageable(link.h2d_pinned);
  link.d2h_pageable = pageable(link.d2h_pinned);
  link.both_ways_bytes_per_second = AssumedFigure(
      shares.both.value * std::max(shares.in.value, shares.out.value) * nominal,
      StrCat(Number(shares.both.value), " x the faster direction: ", shares.both.source));
}

// 1, 2, 4, ... threads up to all cores.
std::vector<double> ThreadSteps(int64_t cores) {
  std::vector<double> steps;
  for (int64_t threads = 1; threads < cores; threads *= 2) {
    steps.push_back(static_cast<double>(threads));
  }
  steps.push_back(static_cast<double>(cores));
  return steps;
}

// `thread` bytes/s for each of the first `near` threads and `further` for each one after them, as
// far as the memory carries it.
Curve RateByThreads(int64_t cores, double thread, double near, double further, double most,
                    std::string source) {
  Curve curve{.origin = Assumed(std::move(source))};
  for (const double threads : ThreadSteps(cores)) {
    const double rate = thread * std::min(threads, near) + further * std::max(0.0, threads - near);
    curve.points.push_back({.x = threads, .y = std::min(rate, most)});
  }
  return curve;
}

void DeriveHost(const DescribedHost& described, bool is_cpu, HostProfile& host) {
  const PlatformShares& shares = SharesOf(described.platform);
  host.name = described.name;
  host.memory_bytes = described.memory_bytes;
  host.numa_nodes = described.sockets;
  host.cores = described.cores;
  const double peak = described.dram_peak_bytes_per_second();
  const double dram = shares.dram.value * peak;
  host.dram = RateByThreads(
      described.cores, shares.thread_bytes_per_second, static_cast<double>(described.cores), 0,
      dram,
      StrCat(Number(shares.thread_bytes_per_second / 1e9), " GB/s a thread (", shares.thread_source,
             "), at most ", Number(shares.dram.value), " x ", Number(peak / 1e9), " GB/s (",
             described.source, "), the share of platform ", ToString(described.platform), ": ",
             shares.dram.source));
  for (int f = 0; f < kStateFormatCount; ++f) {
    const auto format = static_cast<StateFormat>(f);
    Curve& adam = host.adam[f];
    adam = Scaled(host.dram, kAdamShare / AdamBytes(format));
    adam.origin = Assumed(StrCat(Number(kAdamShare), " x DRAM rate / ", Number(AdamBytes(format)),
                                 " bytes read and written a parameter"));
  }
  // 6 GB/s with one thread, 20 with four.
  host.pack = RateByThreads(
      described.cores, 6e9, 1, 14e9 / 3, kPackShare * dram,
      StrCat("6 GB/s with one thread, 20 GB/s with four, at most ", Number(kPackShare),
             " x the DRAM rate: each byte is read, written and, on most "
             "processors, fetched before it is written"));
  host.process_bytes =
      is_cpu ? AssumedFigure(256 * kMib, "256 MiB: program and libraries, no driver")
             : AssumedFigure(1024 * kMib, "1 GiB: program, libraries and driver in host memory");
}

}  // namespace

double AdamBytes(StateFormat format) {
  const double weights = format == StateFormat::kBf16Weights ? 2 : 4;
  const double moments = static_cast<double>(MomentBytes(format, kMomentBlock)) / kMomentBlock;
  return 2 + 2 * (weights + moments);
}

HardwareProfile DeriveProfile(const MachineDescription& machine) {
  const bool is_cpu = machine.device.device_class == DeviceClass::kCpu;
  HardwareProfile profile{.name = machine.name, .summary = machine.summary};
  profile.device_class = std::string(ToString(machine.device.device_class));
  if (!machine.planned_only.empty()) profile.planned_only = machine.planned_only;
  DeriveHost(machine.host, is_cpu, profile.host);
  DeriveDevice(machine.device, profile.host.dram.Highest(), profile.device);
  DeriveLink(machine.link, profile.link);
  const std::string disk = "one ordinary NVMe drive";
  profile.disks.push_back({.path = "/",
                           .read_bytes_per_second = AssumedFigure(3e9, disk),
                           .write_bytes_per_second = AssumedFigure(2e9, disk)});
  return profile;
}

}  // namespace horizon
