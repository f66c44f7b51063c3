#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "app/options/device_option.h"
#include "app/version.h"
#include "common/documents/json.h"
#include "common/failure_source.h"
#include "common/progress_line.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/host/host_limits.h"
#include "runtime/device/cuda_survey.h"
#include "selftest/run_selftest.h"

namespace horizon {
namespace {

class SelftestCommand : public Command {
 public:
  std::string_view name() const override { return "selftest"; }
  std::string_view summary() const override {
    return "Check that a device computes, copies and fails as it should";
  }
  std::string_view details() const override {
    return "Runs on the device: every kernel, compared with the host's; what every device promises "
           "(order, errors, memory); three training steps, compared with PyTorch's results; and "
           "the rates of link and GEMMs. The answer is meant to be pasted into an issue. Exit code "
           "5 means that something is wrong.";
  }
  OptionList Options() override {
    return {.options = {DeviceOption(device_),
                        {.name = "threads",
                         .value = &threads_,
                         .unit = "threads",
                         .help = "CPU threads (default one per core)",
                         .minimum = 1,
                         .maximum = 1024},
                        {.name = "rate-seconds",
                         .value = &rate_seconds_,
                         .unit = "seconds",
                         .help = "Seconds for measuring link and GEMM rates; 0 skips that",
                         .minimum = 0,
                         .maximum = 3600},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, device_));
    ASSIGN_OR_RETURN(const HostLimits host, ReadHostLimits(context.io));
    std::optional<ProgressLine> line(std::in_place, context.log, context.clock);
    const SelftestReport report =
        RunSelftest({.device = device.name,
                     .threads = static_cast<int>(threads_.value_or(host.cores)),
                     .rate_time = Seconds{static_cast<double>(rate_seconds_)},
                     .clock = context.clock,
                     .log = context.log,
                     .on_begin = [&](const std::string& section) {
                       line->Show({{StrCat("checking: ", section)}});
                     }});
    line.reset();
    const std::string where = Describe(device, host);
    RETURN_IF_ERROR(
        context.output.Write(json_ ? Json(report, device, where) : Text(report, where)));
    if (report.passed()) return absl::OkStatus();
    return WithFailureSource(
        absl::InternalError(StrCat("device ", ToString(device.name), " failed its self-test")),
        FailureSource::kDevice);
  }

 private:
  static std::string Describe(const ChosenDevice& device, const HostLimits& host) {
    if (device.name.kind == DeviceKind::kHost) {
      return StrCat("device host: ", host.processor, ", ", host.cores, " cores");
    }
    const CudaSurvey survey = SurveyCuda();
    return StrCat("device ", ToString(device.name), ": ", device.description, "; driver for CUDA ",
                  CudaVersionText(survey.driver_version), ", built with ",
                  CudaVersionText(survey.runtime_version));
  }

  static std::string Text(const SelftestReport& report, const std::string& where) {
    std::string text = StrCat("horizon ", kVersion, ", ", where, "\n");
    size_t widest = 0;
    for (const SelftestSection& section : report.sections) {
      widest = std::max(widest, section.name.size());
    }
    for (const SelftestSection& section : report.sections) {
      text += StrCat("  ", section.name, std::string(widest - section.name.size() + 2, ' '),
                     section.passed, " of ", section.total, section.summary.empty() ? "" : ", ",
                     section.summary, "\n");
      for (const std::string& line : section.findings) text += StrCat("    WRONG: ", line, "\n");
    }
    return text + (report.passed() ? "PASS: this device does what horizon needs of it\n"
                                   : "FAIL: see the lines marked WRONG\n");
  }

  static std::string Json(const SelftestReport& report, const ChosenDevice& device,
                          const std::string& where) {
    JsonWriter json;
    json.BeginObject().Key("version").String(kVersion).Key("device").String(ToString(device.name));
    json.Key("description").String(where).Key("passed").Bool(report.passed());
    json.Key("sections").BeginArray();
    for (const SelftestSection& section : report.sections) {
      json.BeginObject().Key("name").String(section.name).Key("passed").Integer(section.passed);
      json.Key("total").Integer(section.total).Key("summary").String(section.summary);
      json.Key("seconds").Number(section.seconds).Key("findings").BeginArray();
      for (const std::string& line : section.findings) json.String(line);
      json.EndArray().EndObject();
    }
    json.EndArray().EndObject();
    return std::move(json).Finish();
  }

  std::string device_ = "auto";
  std::optional<int64_t> threads_;
  int64_t rate_seconds_ = 4;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSelftestCommand() { return std::make_unique<SelftestCommand>(); }

}  // namespace horizon
