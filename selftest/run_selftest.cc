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

class Run {
 public:
  explicit Run(const SelftestOptions& options) : o_(options) {}

  SelftestReport All() {
    Section("kernels", [this](SelftestSection& section) { Kernels(section); });
    Section("conformance", [this](SelftestSection& section) { Conformance(section); });
    Section("golden model", [this](SelftestSection& section) { Golden(section); });
    if (o_.rate_time.value > 0) {
      Section("rates", [this](SelftestSection& section) { Rates(section); });
    }
    return std::move(report_);
  }

 private:
  bool on_cuda() const { return o_.device.kind == DeviceKind::kCuda; }

  void Section(const std::string& name, const std::function<void(SelftestSection&)>& run) {
    if (o_.on_begin) o_.on_begin(name);
    SelftestSection section{.name = name};
    const Nanoseconds begin = o_.clock.Now();
    run(section);
    section.seconds = std::chrono::duration<double>(o_.clock.Now() - begin).count();
    report_.sections.push_back(std::move(section));
  }

  absl::StatusOr<ComputeDevice> Open(Bytes capacity) const {
    return OpenComputeDevice(
        {.name = o_.device, .capacity = capacity, .clock = o_.clock, .log = &o_.log});
  }

  // One check: passed where it finds nothing.
  template <typename Check>
  static void Count(std::string_view name, SelftestSection& section, Check check) {
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

  absl::Status RunKernels(SelftestSection& section) const {
    ASSIGN_OR_RETURN(const ComputeDevice device,
                     Open(KernelWorld::DeviceBytes(o_.device.kind, o_.threads)));
    ASSIGN_OR_RETURN(const std::unique_ptr<KernelWorld> world,
                     KernelWorld::Create(device, o_.device.kind, o_.threads));
    for (const std::span<const KernelCheck> list : {ArrayKernelChecks(), MatrixKernelChecks()}) {
      for (const KernelCheck& check : list) {
        Count(check.name, section, [&](Findings& findings) { check.run(*world, findings); });
      }
    }
    return absl::OkStatus();
  }

  void Kernels(SelftestSection& section) const {
    if (const absl::Status status = RunKernels(section); !status.ok()) {
      section.findings.push_back(status.ToString());
    }
    section.summary = "against the host's bodies";
  }

  void Conformance(SelftestSection& section) const {
    const DeviceFactory factory{
        .name = ToString(o_.device),
        .create = [this](Bytes capacity, Clock* clock,
                         uint64_t /*seed*/) -> absl::StatusOr<std::unique_ptr<Device>> {
          if (on_cuda()) {
            return MakeCudaDevice({.index = o_.device.index, .capacity = capacity, .clock = clock});
          }
          ASSIGN_OR_RETURN(std::unique_ptr<HostDevice> device,
                           HostDevice::Create({.capacity = capacity, .clock = clock}));
          return device;
        },
        .double_words = on_cuda() ? DoubleWords(DoubleWordsOnCuda) : DoubleWordsOnHost,
        .kernels_take_the_clocks_time = !on_cuda()};
    for (const ConformanceCheck& check : ConformanceChecks()) {
      Count(check.name, section, [&](Findings& findings) { check.run(factory, findings); });
    }
    section.summary = "order, errors and memory, as every device promises them";
  }

  void Golden(SelftestSection& section) const {
    Count("golden model", section, [&](Findings& findings) {
      section.summary = CheckGoldenStep(o_.device, o_.threads, o_.clock, o_.log, findings);
    });
  }

  absl::Status MeasureRates(HardwareProfile& profile) const {
    const DeviceRates rates{.time = o_.rate_time,
                            .matrix_bytes = on_cuda() ? kUsualMatrixBytes : kHostMatrixBytes};
    ASSIGN_OR_RETURN(const ComputeDevice device,
                     Open(on_cuda() ? CudaRatingBytes(rates) : HostRatingBytes(rates, o_.threads)));
    // Nobody asks for pageable copies here.
    profile.host.pack.points = {{1, 1e9}};
    return MeasureDeviceRates(o_.clock,
                              {.device = *device.device,
                               .kernels = *device.kernels,
                               .device_context = device.context.get(),
                               .values = on_cuda() ? ValueType::kBf16 : ValueType::kFp32,
                               .threads = o_.threads},
                              rates, profile);
  }

  void Rates(SelftestSection& section) const {
    Count("rates", section, [&](Findings& findings) {
      HardwareProfile profile;
      if (const absl::Status status = MeasureRates(profile); !status.ok()) {
        findings.Add(status.ToString());
        return;
      }
      const auto giga = [](double value) { return ShortNumber(value / 1e9); };
      // Of the largest sizes, which no cache holds.
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

  const SelftestOptions& o_;
  SelftestReport report_;
};

}  // namespace

bool SelftestReport::passed() const {
  return std::all_of(sections.begin(), sections.end(), [](const SelftestSection& section) {
    return section.findings.empty() && section.passed == section.total;
  });
}

SelftestReport RunSelftest(const SelftestOptions& options) { return Run(options).All(); }

}  // namespace horizon
