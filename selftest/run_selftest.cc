#include "selftest/run_selftest.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "planner/profile/device_rates.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/host_device.h"
#include "selftest/conformance/conformance.h"
#include "selftest/conformance/double_words_cuda.h"
#include "selftest/findings.h"
#include "selftest/golden_step.h"
#include "selftest/kernel_checks.h"

namespace horizon {
namespace {

constexpr Bytes kHostMatrixBytes = 8_MiB;

bool OnCuda(const SelftestOptions& options) { return options.device.kind == DeviceKind::kCuda; }

absl::StatusOr<ComputeDevice> OpenDevice(const SelftestOptions& options, Bytes capacity) {
  return OpenComputeDevice(
      {.name = options.device, .capacity = capacity, .clock = options.clock, .log = &options.log});
}

// Runs one check and counts it; it passes where it adds no finding.
template <typename Check>
void RunCheck(std::string_view name, SelftestSection& section, Check check) {
  Findings findings;
  check(findings);
  ++section.total;
  if (findings.none()) {
    ++section.passed;
    return;
  }
  for (const std::string& line : findings.lines()) {
    section.findings.push_back(StrCat(std::string(name), ": ", line));
  }
}

absl::Status RunKernelChecks(const SelftestOptions& options, SelftestSection& section) {
  ASSIGN_OR_RETURN(const ComputeDevice device,
                   OpenDevice(options, KernelCheckEnvironment::DeviceBytes(options.device.kind,
                                                                           options.threads)));
  ASSIGN_OR_RETURN(const std::unique_ptr<KernelCheckEnvironment> environment,
                   KernelCheckEnvironment::Create(device, options.device.kind, options.threads));
  for (const std::span<const KernelCheck> list : {ArrayKernelChecks(), MatrixKernelChecks()}) {
    for (const KernelCheck& check : list) {
      RunCheck(check.name, section, [&](Findings& findings) { check.run(*environment, findings); });
    }
  }
  return absl::OkStatus();
}

void CheckKernels(const SelftestOptions& options, SelftestSection& section) {
  if (const absl::Status status = RunKernelChecks(options, section); !status.ok()) {
    section.findings.push_back(status.ToString());
  }
  section.summary = "against the host's bodies";
}

void CheckConformance(const SelftestOptions& options, SelftestSection& section) {
  const DeviceFactory factory{
      .name = ToString(options.device),
      .create = [&options](Bytes capacity, Clock* clock,
                           uint64_t /*seed*/) -> absl::StatusOr<std::unique_ptr<Device>> {
        if (OnCuda(options)) {
          return MakeCudaDevice(
              {.index = options.device.index, .capacity = capacity, .clock = clock});
        }
        ASSIGN_OR_RETURN(std::unique_ptr<HostDevice> device,
                         HostDevice::Create({.capacity = capacity, .clock = clock}));
        return device;
      },
      .double_words = OnCuda(options) ? DoubleWords(DoubleWordsOnCuda) : DoubleWordsOnHost,
      .device_time_is_clock_time = !OnCuda(options)};
  for (const ConformanceCheck& check : ConformanceChecks()) {
    RunCheck(check.name, section, [&](Findings& findings) { check.run(factory, findings); });
  }
  section.summary = "order, errors and memory, as every device promises them";
}

void CheckGoldenModel(const SelftestOptions& options, SelftestSection& section) {
  RunCheck("golden model", section, [&](Findings& findings) {
    section.summary =
        CheckGoldenStep(options.device, options.threads, options.clock, options.log, findings);
  });
}

absl::Status MeasureRates(const SelftestOptions& options, HardwareProfile& profile) {
  const bool on_cuda = OnCuda(options);
  const DeviceRateOptions rates{.time = options.rate_time,
                                .matrix_bytes = on_cuda ? kUsualMatrixBytes : kHostMatrixBytes};
  ASSIGN_OR_RETURN(const ComputeDevice device,
                   OpenDevice(options, on_cuda ? CudaRatingBytes(rates)
                                               : HostRatingBytes(rates, options.threads)));
  // The self-test reports no rate of pageable copies.
  profile.host.pack.points = {{1, 1e9}};
  return MeasureDeviceRates(options.clock,
                            {.device = *device.device,
                             .kernels = *device.kernels,
                             .device_context = device.context.get(),
                             .values = on_cuda ? ValueType::kBf16 : ValueType::kFp32,
                             .threads = options.threads},
                            rates, profile);
}

void ReportRates(const SelftestOptions& options, SelftestSection& section) {
  RunCheck("rates", section, [&](Findings& findings) {
    HardwareProfile profile;
    if (const absl::Status status = MeasureRates(options, profile); !status.ok()) {
      findings.Add(status.ToString());
      return;
    }
    const auto giga = [](double value) { return ShortNumber(value / 1e9); };
    // The rate at the largest size, which no cache holds.
    const auto last = [&](const Curve& curve) { return giga(curve.points.back().y); };
    section.summary = StrCat("link ", last(profile.link.h2d_pinned), " GB/s to the device, ",
                             last(profile.link.d2h_pinned), " back, ",
                             giga(profile.link.both_ways_bytes_per_second.value),
                             " both ways; products ", last(profile.device.gemm_bf16),
                             " GFLOP/s, attention ", last(profile.device.attention), "; memory ",
                             giga(profile.device.memory_bytes_per_second.value), " GB/s; launch ",
                             ShortNumber(profile.device.launch_seconds.value * 1e6), " us");
  });
}

// Runs a section and measures how long it takes.
SelftestSection RunSection(const SelftestOptions& options, const std::string& name,
                           void (*run)(const SelftestOptions&, SelftestSection&)) {
  if (options.on_begin) options.on_begin(name);
  SelftestSection section{.name = name};
  const Nanoseconds begin = options.clock.Now();
  run(options, section);
  section.seconds = std::chrono::duration<double>(options.clock.Now() - begin).count();
  return section;
}

}  // namespace

bool SelftestReport::passed() const {
  return std::all_of(sections.begin(), sections.end(), [](const SelftestSection& section) {
    return section.findings.empty() && section.passed == section.total;
  });
}

SelftestReport RunSelftest(const SelftestOptions& options) {
  SelftestReport report;
  report.sections.push_back(RunSection(options, "kernels", CheckKernels));
  report.sections.push_back(RunSection(options, "conformance", CheckConformance));
  report.sections.push_back(RunSection(options, "golden model", CheckGoldenModel));
  if (options.rate_time.value > 0) {
    report.sections.push_back(RunSection(options, "rates", ReportRates));
  }
  return report;
}

}  // namespace horizon
