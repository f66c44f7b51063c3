#include "app/training_session.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "app/exit_code.h"
#include "common/json.h"
#include "common/progress.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/text_table.h"
#include "model/catalog.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "planner/calibration.h"
#include "planner/host_limits.h"
#include "planner/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/probe_host.h"
#include "runtime/data/token_data.h"
#include "runtime/device/host_device.h"
#include "runtime/export_model.h"
#include "runtime/model_source.h"
#include "runtime/process_memory.h"
#include "runtime/random_init.h"
#include "schedule/build_schedule.h"
#include "schedule/load_files.h"

namespace horizon {
namespace {

// Arenas and their pages are predicted exactly; this is for what the libraries take when they first
// work: packing buffers of the BLAS library and stacks, for each compute thread.
constexpr uint64_t kLibraryBytes = uint64_t{16} << 20;
constexpr uint64_t kLibraryBytesPerThread = uint64_t{8} << 20;

std::string Percent(double share) {
  return StrCat(share < 0 ? "-" : "+", ShortNumber(std::abs(share) * 100), " %");
}

class Session {
 public:
  Session(const CommandContext& context, const TrainOptions& options)
      : context_(context), options_(options) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(ModelConfig config, LoadModelSpec(context_.io, options_.model));
    spec_ = std::move(config.spec);
    parameters_ = static_cast<double>(CountParameters(ListStages(spec_)).active);
    ASSIGN_OR_RETURN(job_, options_.ToJob(spec_));
    RETURN_IF_ERROR(CheckInit());
    ASSIGN_OR_RETURN(const std::unique_ptr<TokenData> data, OpenData());
    RETURN_IF_ERROR(CheckOutput());
    RETURN_IF_ERROR(LoadProfile());
    RETURN_IF_ERROR(ChoosePlan());
    return Train(*data);
  }

 private:
  absl::Status CheckInit() const {
    if (options_.random_init()) return absl::OkStatus();
    const absl::StatusOr<FileInfo> info = context_.io.Info(options_.model);
    if (info.ok() && info->kind == FileKind::kDirectory) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("--model ", options_.model,
                                             " has no weights to begin with: name a folder that "
                                             "has, or add --init random"));
  }

  absl::StatusOr<std::unique_ptr<TokenData>> OpenData() {
    return TokenData::Open(context_.io, options_.data,
                           {.sequence = job_.sequence,
                            .vocab = spec_.vocab,
                            .shuffle = options_.shuffles(),
                            .seed = job_.seed});
  }

  absl::Status CheckOutput() {
    absl::StatusOr<std::vector<std::string>> there = context_.io.List(options_.output);
    if (absl::IsNotFound(there.status())) return absl::OkStatus();
    RETURN_IF_ERROR(there.status());
    if (there->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("the output folder ", options_.output,
                                             " is not empty; name a new one, nothing in it is "
                                             "ever overwritten"));
  }

  // What the plan is made from: measured now, unless a profile is named.
  absl::Status LoadProfile() {
    if (options_.machine.has_value()) {
      ASSIGN_OR_RETURN(profile_, LoadMachine(context_.io, *options_.machine));
    } else {
      context_.log.Info("measuring this machine for 5 s");
      ASSIGN_OR_RETURN(profile_, ProbeHost(context_.io, context_.clock,
                                           {.device_memory = options_.device_memory,
                                            .threads = options_.threads}));
    }
    if (profile_.device.kind != DeviceKind::kHost) {
      return absl::InvalidArgumentError(StrCat("--machine ", *options_.machine,
                                               " has a GPU; training runs on device host: name a "
                                               "machine without one, or leave the option out"));
    }
    MachineOverrides overrides{
        .device_memory = options_.device_memory, .link = options_.link, .cores = options_.threads};
    profile_ = WithOverrides(std::move(profile_), overrides);
    return absl::OkStatus();
  }

  absl::Status ChoosePlan() {
    const Strategy strategy = Strategy::kHorizon;
    if (options_.plan != "auto") {
      ASSIGN_OR_RETURN(plan_, LoadPlan(context_.io, options_.plan));
    } else {
      const Setting setting{.profile = profile_,
                            .software = BuiltInCalibration().SoftwareOf(strategy),
                            .margin = 0.05};
      ASSIGN_OR_RETURN(
          const PlanAnswer answer,
          MakePlan({.spec = spec_, .job = job_, .fixed = PlanFor(strategy), .setting = setting}));
      if (!answer.feasible) return DoesNotFit(answer);
      plan_ = *answer.search.plan;
    }
    ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(spec_, job_, plan_));
    RETURN_IF_ERROR(CheckRunnable(spec_, schedule));
    const Setting setting{.profile = profile_,
                          .software = BuiltInCalibration().SoftwareOf(plan_.strategy)};
    prediction_ = PredictRun(spec_, schedule, setting).prediction;
    arena_bytes_ = schedule.memory.totals[static_cast<size_t>(Memory::kDevice)];
    if (options_.device_memory.has_value() && arena_bytes_ > options_.device_memory->value()) {
      return absl::FailedPreconditionError(
          StrCat("the plan needs ", WithCommas(arena_bytes_), " bytes of device memory, ",
                 "--device-memory is ", WithCommas(options_.device_memory->value()),
                 ": raise it, or let the planner choose with --plan auto"));
    }
    RETURN_IF_ERROR(PredictMemory(schedule));
    return TellPlan();
  }

  absl::Status DoesNotFit(const PlanAnswer& answer) const {
    std::string text = StrCat(spec_.name, " does not fit: ");
    for (const std::string& line : DescribeShortages(answer.search.shortages)) {
      text += StrCat(line, "; ");
    }
    text += "what would make it fit:";
    for (const Remedy& remedy : answer.remedies) text += StrCat("\n  ", remedy.what);
    return absl::FailedPreconditionError(text);
  }

  // The process as it is now, and what a run adds.
  absl::Status PredictMemory(const Schedule& schedule) {
    ASSIGN_OR_RETURN(const ProcessMemory now, ReadProcessMemory(context_.io));
    Software software = BuiltInCalibration().SoftwareOf(plan_.strategy);
    const int64_t threads = plan_.compute_threads;
    software.process_bytes = now.resident().value() + kLibraryBytes +
                             kLibraryBytesPerThread * static_cast<uint64_t>(threads);
    prediction_.memory = EstimateMemory(schedule.memory, profile_, software);
    return CheckFreeMemory(prediction_.memory.host_bytes() - now.resident().value());
  }

  // Whatever the profile says, this process must find the memory on this machine.
  absl::Status CheckFreeMemory(uint64_t needed) const {
    ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context_.io));
    const Bytes free =
        std::min(limits.available_memory, limits.cgroup_memory.value_or(limits.available_memory));
    if (needed <= free.value()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        StrCat(spec_.name, " needs ", ToString(Bytes(CheckedU64(needed))),
               " more of this machine's memory and ", ToString(free),
               " are free: use a smaller model, --micro-batch or --sequence, or --state "
               "8bit-moments; `horizon plan` tells what a machine would need"));
  }

  absl::Status TellPlan() {
    const auto bytes = [](uint64_t count) { return ToString(Bytes(CheckedU64(count))); };
    context_.log.Info(StrCat("plan: strategy ", std::string(ToString(plan_.strategy)),
                             ", chunks of ", bytes(plan_.chunk_bytes.value()), ", depth ",
                             plan_.buffer_depth, ", K ", plan_.anchor_interval, ", recompute ",
                             plan_.recompute ? "on" : "off", ", threads ", plan_.compute_threads));
    std::string limits;
    for (const RunLimit& limit : LimitsOf(prediction_, profile_)) {
      limits += StrCat(limits.empty() ? "" : ", ", ToString(limit));
    }
    context_.log.Info(StrCat("predicted: ", ShortNumber(prediction_.step_seconds), " s a step, ",
                             ShortNumber(prediction_.tokens_per_second), " tokens/s, ",
                             bytes(prediction_.memory.host_bytes()), " of host memory (",
                             bytes(arena_bytes_), " of it the device's arena); limits: ", limits));
    return absl::OkStatus();
  }

  absl::Status Train(TokenData& data) {
    // The peak that is compared with the prediction is the run's alone, where the kernel allows it.
    ResetPeakMemory(context_.io).IgnoreError();
    ASSIGN_OR_RETURN(const std::unique_ptr<HostDevice> device,
                     HostDevice::Create({.capacity = arena_bytes_,
                                         .to_device = options_.link,
                                         .to_host = options_.link,
                                         .clock = &context_.clock}));
    ASSIGN_OR_RETURN(const NonFinitePolicy policy,
                     ParseWord<NonFinitePolicy>(options_.on_non_finite));
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::Create(spec_, job_, plan_,
                                     {.device = *device,
                                      .kernels = HostKernels(),
                                      .clock = context_.clock,
                                      .non_finite = policy,
                                      .on_stall = [this](const absl::Status& status) {
                                        // Nothing can end the lane that hangs, so all ends here.
                                        context_.log.Error(std::string(status.message()));
                                        std::_Exit(static_cast<int>(ExitCode::kWatchdog));
                                      }}));
    RETURN_IF_ERROR(FillStore(trainer->store()));
    RETURN_IF_ERROR(MakeFolder());
    StopSignals signals;
    ASSIGN_OR_RETURN(const RunSummary summary,
                     RunTraining({.io = context_.io,
                                  .clock = context_.clock,
                                  .device = *device,
                                  .trainer = *trainer,
                                  .data = data,
                                  .folder = options_.output,
                                  .predicted_step_seconds = prediction_.step_seconds,
                                  .log_gradient_norms = options_.log_gradient_norms,
                                  .stop_requested = [&] { return signals.requested(); },
                                  .on_step = [&](const StepNews& news) { Tell(news); }}));
    ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(context_.io));
    RETURN_IF_ERROR(Export(*trainer));
    RETURN_IF_ERROR(Report(summary, memory, device->high_water()));
    if (!summary.interrupted) return absl::OkStatus();
    return absl::CancelledError(StrCat("stopped by a signal after step ", summary.steps, " of ",
                                       job_.steps, "; the model so far is in ", options_.output,
                                       "/model"));
  }

  absl::Status FillStore(ParameterStore& store) {
    if (options_.random_init()) {
      return store.Fill([this](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
        FillRandomTensor(spec_, tensor, job_.seed, first, into);
        return absl::OkStatus();
      });
    }
    ASSIGN_OR_RETURN(const ParameterStore::Source source,
                     OpenModelSource(context_.io, options_.model, spec_));
    return store.Fill(source);
  }

  absl::Status MakeFolder() {
    const absl::Status made = context_.io.MakeDirectory(options_.output);
    if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    StreamPlan named = plan_;
    NameModel(spec_, named);
    RETURN_IF_ERROR(WriteTextFile(context_.io, options_.output + "/plan.json", WritePlan(named)));
    return WriteTextFile(context_.io, options_.output + "/job.json", WriteJob(job_));
  }

  void Tell(const StepNews& news) {
    if (!news.skipped.empty()) {
      context_.log.Warning(
          StrCat("step ", news.step, " was skipped: ", news.skipped, "; no weight has changed"));
    }
    const bool due = news.step == 1 || news.step == news.steps ||
                     context_.clock.Now() - told_ >= std::chrono::seconds(2);
    if (!due) return;
    told_ = context_.clock.Now();
    const double flops = 6.0 * parameters_ * news.tokens_per_second;
    const double left = static_cast<double>(news.steps - news.step) * news.seconds;
    context_.log.Info(
        StrCat("step ", news.step, "/", news.steps, "  loss ", ShortNumber(news.loss), "  norm ",
               ShortNumber(news.gradient_norm), "  ", ShortNumber(news.tokens_per_second),
               " tokens/s  ", ShortNumber(100 * flops / profile_.device.gemm_fp32.Highest()),
               " % of peak  ", ToString(news.host_bytes), "  ",
               RoughDuration(std::chrono::nanoseconds(static_cast<int64_t>(left * 1e9))), " left"));
  }

  absl::Status Export(Trainer& trainer) {
    ExportOptions to{.folder = options_.output + "/model"};
    ASSIGN_OR_RETURN(to.dtype, ParseWord<NumberType>(options_.export_dtype));
    ASSIGN_OR_RETURN(to.config_text, ConfigText());
    if (!options_.random_init()) {
      ASSIGN_OR_RETURN(to.copies, CompanionFiles(context_.io, options_.model));
    }
    return ExportModel(context_.io, trainer.store(), trainer.schedule(), to);
  }

  // The config.json the model was named by: in a folder, a file, or the catalog's.
  absl::StatusOr<std::string> ConfigText() const {
    if (const CatalogEntry* entry = FindInCatalog(options_.model))
      return std::string(entry->config);
    const absl::StatusOr<FileInfo> info = context_.io.Info(options_.model);
    RETURN_IF_ERROR(info.status());
    const bool folder = info->kind == FileKind::kDirectory;
    return ReadTextFile(context_.io, folder ? options_.model + "/config.json" : options_.model);
  }

  // What was predicted beside what was measured.
  struct Compared {
    std::string_view what;
    std::string_view key;
    double predicted = 0;
    double measured = 0;
    bool bytes = false;
  };

  absl::Status Report(const RunSummary& summary, const ProcessMemory& memory,
                      uint64_t device_peak) {
    if (memory.peak_resident.value() > prediction_.memory.host_bytes()) {
      context_.log.Warning("the run took more memory than was predicted; this is a bug of horizon");
    }
    const std::vector<Compared> rows = {
        {"step, seconds", "step_seconds", prediction_.step_seconds, summary.step_seconds},
        {"tokens/s", "tokens_per_second", prediction_.tokens_per_second,
         static_cast<double>(summary.tokens_per_step) / summary.step_seconds},
        {"host memory, peak", "host_bytes", static_cast<double>(prediction_.memory.host_bytes()),
         static_cast<double>(memory.peak_resident.value()), true},
        {"device arena", "device_bytes", static_cast<double>(arena_bytes_),
         static_cast<double>(device_peak), true}};
    return context_.output.Write(options_.json ? ReportJson(summary, rows)
                                               : ReportText(summary, rows));
  }

  std::string ReportText(const RunSummary& summary, const std::vector<Compared>& rows) const {
    TextTable table({"", "predicted", "measured", "error"});
    for (const Compared& row : rows) {
      const auto show = [&](double value) {
        return row.bytes ? ToString(Bytes(CheckedU64(static_cast<uint64_t>(value))))
                         : ShortNumber(value);
      };
      table.AddRow({std::string(row.what), show(row.predicted), show(row.measured),
                    Percent(row.measured / row.predicted - 1)});
    }
    std::string text =
        StrCat("trained ", summary.steps, " steps, loss ", ShortNumber(summary.first_loss), " -> ",
               ShortNumber(summary.last_loss));
    if (summary.skipped > 0) text += StrCat(", ", summary.skipped, " skipped");
    return StrCat(text, "\n\n", std::move(table).Finish(), "\nmodel:    ", options_.output,
                  "/model\nmetrics:  ", options_.output,
                  "/metrics.jsonl\ntimeline: ", options_.output,
                  "/timeline.json (open it in ui.perfetto.dev)\n");
  }

  std::string ReportJson(const RunSummary& summary, const std::vector<Compared>& rows) const {
    JsonWriter json;
    json.BeginObject();
    json.Key("steps").Integer(summary.steps).Key("skipped").Integer(summary.skipped);
    json.Key("interrupted").Bool(summary.interrupted);
    json.Key("first_loss").Number(summary.first_loss).Key("last_loss").Number(summary.last_loss);
    for (const Compared& row : rows) {
      json.Key(row.key).BeginObject();
      json.Key("predicted").Number(row.predicted).Key("measured").Number(row.measured).EndObject();
    }
    json.Key("model").String(options_.output + "/model");
    json.Key("metrics").String(options_.output + "/metrics.jsonl");
    json.Key("timeline").String(options_.output + "/timeline.json").EndObject();
    return std::move(json).Finish();
  }

  const CommandContext& context_;
  const TrainOptions& options_;
  ModelSpec spec_;
  TrainingJob job_;
  StreamPlan plan_;
  HardwareProfile profile_;
  Prediction prediction_;
  double parameters_ = 0;  // that one token touches
  uint64_t arena_bytes_ = 0;
  Nanoseconds told_{0};
};

}  // namespace

absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options) {
  return Session(context, options).Run();
}

}  // namespace horizon
