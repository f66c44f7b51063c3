#include "app/training_session.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/config_file.h"
#include "app/data_options.h"
#include "app/device_option.h"
#include "app/exit_code.h"
#include "app/run_folder.h"
#include "app/run_record.h"
#include "app/training_plan.h"
#include "app/training_report.h"
#include "common/enum_words.h"
#include "common/json.h"
#include "common/progress.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "planner/host_limits.h"
#include "planner/machine_speed.h"
#include "planner/plan_report.h"
#include "planner/probe_disk.h"
#include "planner/yardstick.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/remove_folder.h"
#include "runtime/checkpoint/resume_check.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/checkpoint_saver.h"
#include "runtime/checkpoint_values.h"
#include "runtime/compute_device.h"
#include "runtime/config_dtype.h"
#include "runtime/export_model.h"
#include "runtime/load_checkpoint.h"
#include "runtime/metrics.h"
#include "runtime/model_pass.h"
#include "runtime/model_source.h"
#include "runtime/process_memory.h"
#include "runtime/random_init.h"
#include "runtime/text_part_config.h"
#include "schedule/check_runnable.h"
#include "schedule/load_files.h"
#include "schedule/stream_plan.h"

namespace horizon {
namespace {

std::string TellBytes(uint64_t count) { return ToString(Bytes(CheckedU64(count))); }

std::string TellSeconds(double seconds) {
  if (seconds < 1) return "a second";
  return RoughDuration(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

constexpr Seconds kLookAfter{0.6};  // at the machine's speed, when all steps are done

class Session {
 public:
  Session(const CommandContext& context, const TrainOptions& options)
      : context_(context), io_(context.io), options_(options) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(ModelConfig config, LoadModelSpec(io_, options_.model));
    spec_ = std::move(config.spec);
    parameters_ = static_cast<double>(CountParameters(ListStages(spec_)).active);
    ASSIGN_OR_RETURN(device_, ChooseDevice(context_, options_.device));
    ASSIGN_OR_RETURN(job_, options_.ToJob(spec_, device_.name.kind));
    RETURN_IF_ERROR(CheckRunnable(spec_, job_, StreamPlan{}));
    ASSIGN_OR_RETURN(config_text_, ConfigTextOf(io_, options_.model));
    // A folder that is there is locked before anything in it is believed.
    if (io_.Info(options_.output).ok()) RETURN_IF_ERROR(Lock());
    ASSIGN_OR_RETURN(resume_, FindResume(io_, options_.resume, options_.output));
    RETURN_IF_ERROR(CheckInit());
    RETURN_IF_ERROR(OpenData());
    RETURN_IF_ERROR(CheckResume());
    if (resume_.has_value() && resume_->manifest().step >= job_.steps) return Complete();
    ASSIGN_OR_RETURN(planned_, PlanTraining(context_, options_, device_, spec_, job_));
    return Train();
  }

 private:
  absl::Status Lock() {
    if (lock_.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(RunLock lock, RunLock::Acquire(io_, options_.output));
    lock_.emplace(std::move(lock));
    return absl::OkStatus();
  }

  absl::Status CheckInit() const {
    if (options_.random_init() || resume_.has_value()) return absl::OkStatus();
    const absl::StatusOr<FileInfo> info = io_.Info(options_.model);
    if (info.ok() && info->kind == FileKind::kDirectory) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat("--model ", options_.model,
                                             " has no weights to begin with: name a folder that "
                                             "has, or add --init random"));
  }

  absl::Status OpenData() {
    ASSIGN_OR_RETURN(tokenizer_, TokenizerFor(io_, options_.data_flags, options_.model));
    ASSIGN_OR_RETURN(DataOptions data,
                     DataOptionsFrom(context_, options_.data_flags, tokenizer_, spec_,
                                     job_.sequence, options_.output + ".tokens"));
    data.files.paths = {options_.data};
    if (options_.eval_data.has_value()) data.eval_paths = {*options_.eval_data};
    data.eval_share = options_.eval_share;
    data.shuffle = options_.shuffles();
    data.seed = job_.seed;
    ASSIGN_OR_RETURN(data_, OpenTrainingData(io_, data, LoggingListener(context_)));
    const DataStatistics& found = data_.statistics;
    context_.log.Info(StrCat(
        "data: ", WithCommas(static_cast<uint64_t>(found.samples)), " samples, ",
        WithCommas(static_cast<uint64_t>(found.tokens)), " tokens, ",
        WithCommas(static_cast<uint64_t>(found.trained_tokens)), " of them trained",
        found.truncated > 0 ? StrCat(", ", found.truncated, " cut at ", job_.sequence, " tokens")
                            : "",
        found.dropped > 0 ? StrCat(", ", found.dropped, " with nothing to learn") : "",
        found.bad_lines > 0 ? StrCat(", ", found.bad_lines, " bad lines skipped") : ""));
    return absl::OkStatus();
  }

  absl::Status CheckResume() {
    if (!resume_.has_value()) return absl::OkStatus();
    const Manifest& saved = resume_->manifest();
    RETURN_IF_ERROR(CheckResumable(resume_->path(), saved,
                                   {.job = job_,
                                    .model_fingerprint = FingerprintOf(spec_),
                                    .data_fingerprint = data_.fingerprint}));
    return absl::OkStatus();
  }

  // A scheduler starts a run again until it is done: then there is at most the model to write.
  absl::Status Complete() {
    const std::string model = options_.output + "/model";
    if (!io_.Info(model + "/config.json").ok()) {
      RETURN_IF_ERROR(resume_->VerifyPayload());
      ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointValues> values,
                       CheckpointValues::Open(io_, *resume_));
      RETURN_IF_ERROR(MakeFolder());
      RETURN_IF_ERROR(Export(*values));
    }
    const std::string text = StrCat("the run in ", options_.output, " is complete: step ",
                                    resume_->manifest().step, " of ", job_.steps, " is saved and ",
                                    model, " is written; raise --steps to train on\n");
    if (!options_.json) return context_.output.Write(text);
    JsonWriter json;
    json.BeginObject().Key("steps").Integer(resume_->manifest().step).Key("complete").Bool(true);
    json.Key("model").String(model).EndObject();
    return context_.output.Write(std::move(json).Finish());
  }

  absl::Status Train() {
    // The peak that is compared with the prediction is the run's alone, where the kernel allows it.
    ResetPeakMemory(io_).IgnoreError();
    ASSIGN_OR_RETURN(const ComputeDevice device,
                     OpenComputeDevice({.name = device_.name,
                                        .capacity = planned_.arena_bytes,
                                        .link = options_.link,
                                        .clock = context_.clock,
                                        .log = context_.log}));
    ASSIGN_OR_RETURN(const NonFinitePolicy policy,
                     ParseWord<NonFinitePolicy>(options_.on_non_finite));
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::Create(spec_, job_, planned_.plan,
                                     {.device = *device.device,
                                      .kernels = *device.kernels,
                                      .clock = context_.clock,
                                      .products = device.products.get(),
                                      .non_finite = policy,
                                      .on_stall = [this](const absl::Status& status) {
                                        // Nothing can end the lane that hangs, so all ends here.
                                        context_.log.Error(std::string(status.message()));
                                        std::_Exit(static_cast<int>(ExitCode::kWatchdog));
                                      }}));
    std::unique_ptr<ModelPass> held_out;
    if (data_.eval != nullptr) {
      ASSIGN_OR_RETURN(
          held_out,
          ModelPass::CreateBeside(
              {.spec = spec_, .job = job_, .plan = planned_.plan, .kind = PassKind::kEvaluate},
              trainer->pass()));
    }
    ASSIGN_OR_RETURN(const CheckpointLayout layout, LayOut(trainer->schedule()));
    RETURN_IF_ERROR(CheckDisk(layout));
    RETURN_IF_ERROR(MakeFolder());
    RETURN_IF_ERROR(WriteRunRecord(io_, options_.output, spec_, planned_));
    RETURN_IF_ERROR(TellSaving(layout));
    RETURN_IF_ERROR(Begin(*trainer));
    return Train(*device.device, *trainer, held_out.get(), layout);
  }

  absl::Status Train(Device& device, Trainer& trainer, const ModelPass* held_out,
                     const CheckpointLayout& layout) {
    StopSignals signals;
    CheckpointSaver saver(trainer.schedule(), trainer.store(),
                          {.io = io_,
                           .clock = context_.clock,
                           .lock = *lock_,
                           .layout = layout,
                           .extra_files = {{.name = "config.json", .text = saved_config_}},
                           .keep = options_.keep,
                           .replace = resume_.has_value()});
    const RunSaving saving{.saver = saver,
                           .every = options_.save_every,
                           .must_succeed = options_.on_save_failure == "stop",
                           .model_fingerprint = FingerprintOf(spec_),
                           .data_fingerprint = data_.fingerprint,
                           .on_save = [this](const SaveReport& report) { Tell(report); }};
    TimelineRecorder recorder(io_, context_.clock, context_.log, options_.output,
                              trainer.schedule(), planned_.timelines);
    TrainingRun run{.io = io_,
                    .clock = context_.clock,
                    .device = device,
                    .trainer = trainer,
                    .data = *data_.train,
                    .folder = options_.output,
                    .predicted_step_seconds = planned_.prediction.step_seconds,
                    .log_gradient_norms = options_.log_gradient_norms,
                    .stop_requested = [&] { return signals.requested(); },
                    .on_step = [this](const StepNews& news) { Tell(news); },
                    .on_measured = [&](const MeasuredStep& step) { recorder.Record(step); }};
    if (saves()) run.saving = &saving;
    std::optional<RunEvaluation> evaluation;
    if (held_out != nullptr) {
      evaluation.emplace(RunEvaluation{
          .pass = *held_out,
          .data = *data_.eval,
          .data_ended = [this] { return data_.eval->at_end(); },
          .every = options_.eval_every,
          .on_evaluation = [this](int64_t step, const Evaluation& found) { Tell(step, found); }});
      run.evaluation = &*evaluation;
    }
    if (resume_.has_value()) {
      run.first_step = resume_->manifest().step + 1;
      run.counters = resume_->manifest().facts.counters;
    }
    ASSIGN_OR_RETURN(const RunSummary summary, RunTraining(run));
    ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(io_));
    const bool goes_on = summary.interrupted && saves();
    std::optional<SpeedDuring> speed;
    // Whoever stopped the run wants it to end.
    if (!summary.interrupted) {
      ASSIGN_OR_RETURN(speed, LookAtSpeed(trainer.schedule(), memory));
    }
    const TrainingReport report{.planned = planned_,
                                .schedule = trainer.schedule(),
                                .summary = summary,
                                .saving = saving_,
                                .memory = memory,
                                .device_peak = device.high_water(),
                                .folder = options_.output,
                                .exported = !goes_on,
                                .speed = speed};
    if (goes_on) {
      RETURN_IF_ERROR(WriteTextFile(io_, options_.output + "/run.json", report.Json()));
      return Interrupted(summary);
    }
    StoreValues values(trainer.store(), trainer.schedule());
    RETURN_IF_ERROR(Export(values));
    RETURN_IF_ERROR(Answer(report));
    if (!summary.interrupted) return absl::OkStatus();
    return absl::CancelledError(StrCat("stopped by a signal after step ", summary.steps, " of ",
                                       job_.steps, "; the model so far is in ", options_.output,
                                       "/model"));
  }

  // How fast the machine is after the run, and what would have been predicted half-way. None where
  // the profile has nothing to compare with, or memory is short: looking must not end a run that
  // fitted.
  absl::StatusOr<std::optional<SpeedDuring>> LookAtSpeed(const Schedule& schedule,
                                                         const ProcessMemory& memory) const {
    const HardwareProfile& profile = planned_.profile;
    if (!profile.host.yardstick_flops_per_second.has_value()) return std::nullopt;
    ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io_));
    const uint64_t needed = 2 * Yardstick::kMemoryBytes;
    const uint64_t held = memory.resident().value() + needed;
    if (limits.available_memory.value() < needed ||
        limits.memory_limit().value_or(Bytes(CheckedU64(held))).value() < held) {
      return std::nullopt;
    }
    const absl::StatusOr<MachineSpeed> change =
        MeasureSpeed(context_.clock, profile, profile.host.cores, kLookAfter);
    if (!change.ok()) return std::nullopt;
    const HardwareProfile half = AtSpeed(
        profile, {.products = (1 + change->products) / 2, .memory = (1 + change->memory) / 2});
    const PredictedRun predicted =
        PredictRun(spec_, schedule, {.profile = half, .software = planned_.software});
    return SpeedDuring{.change = *change, .step_seconds = predicted.prediction.step_seconds};
  }

  absl::Status Interrupted(const RunSummary& summary) const {
    // Stopped before its first step, it goes on from where it began.
    const std::string saved = summary.saved.has_value() ? summary.saved->path
                              : resume_.has_value()     ? resume_->path()
                                                        : "nothing";
    return absl::CancelledError(StrCat("stopped by a signal after step ", summary.steps, " of ",
                                       job_.steps, "; ", saved,
                                       " holds its state. Go on with: horizon train --config ",
                                       options_.output, "/train.yaml --resume auto"));
  }

  bool saves() const { return options_.save != "none"; }

  absl::StatusOr<CheckpointLayout> LayOut(const Schedule& schedule) {
    const SaveMode mode = options_.save == "weights" ? SaveMode::kWeights : SaveMode::kFull;
    return LayOutCheckpoint(SavedTensorsOf(schedule), job_.state_format, mode);
  }

  // Refuses a run whose checkpoints the disk cannot hold, before anything is made.
  absl::Status CheckDisk(const CheckpointLayout& layout) {
    if (!saves()) return absl::OkStatus();
    int64_t copies = options_.keep + 1;  // those that stay, and the one being written
    std::string folder = options_.output;
    if (io_.Info(folder).ok()) {
      ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> there, FindCheckpoints(io_, folder));
      copies = std::max<int64_t>(1, copies - static_cast<int64_t>(there.size()));
    } else {
      folder = ParentFolder(folder);
    }
    return CheckFreeSpace(io_, folder, layout, copies);
  }

  absl::Status TellSaving(const CheckpointLayout& layout) {
    if (!saves()) return absl::OkStatus();
    DiskProfile disk;
    if (const DiskProfile* known = FindDisk(planned_.profile, options_.output)) {
      disk = *known;
    } else {
      ASSIGN_OR_RETURN(disk, ProbeDisk(io_, context_.clock, options_.output));
    }
    const double seconds =
        static_cast<double>(layout.total_bytes.value()) / disk.write_bytes_per_second.value;
    context_.log.Info(StrCat(
        "a checkpoint takes ", ToString(layout.total_bytes), " and about ", TellSeconds(seconds),
        options_.save_every > 0 ? StrCat(", every ", options_.save_every, " steps")
                                : ", at the end",
        "; a signal (Ctrl-C, SIGTERM, SIGUSR1) is followed by a save within about ",
        TellSeconds(seconds + 2 * planned_.prediction.step_seconds)));
    return absl::OkStatus();
  }

  // The state and the position in the data that the first step starts from.
  absl::Status Begin(Trainer& trainer) {
    if (resume_.has_value()) {
      const Manifest& saved = resume_->manifest();
      RETURN_IF_ERROR(WithOlderCheckpoint(io_, RunOfCheckpoint(resume_->path()), saved.step,
                                          LoadCheckpoint(*resume_, trainer.store())));
      RETURN_IF_ERROR(data_.train->Seek(saved.facts.data_position));
      RETURN_IF_ERROR(CutAfterStep(io_, options_.output + "/metrics.jsonl", saved.step));
      RETURN_IF_ERROR(CutAfterStep(io_, options_.output + "/eval.jsonl", saved.step));
      context_.log.Info(StrCat("going on after step ", saved.step, " from ", resume_->path()));
      return absl::OkStatus();
    }
    // Of a run that was killed before its first checkpoint.
    RETURN_IF_ERROR(CutAfterStep(io_, options_.output + "/metrics.jsonl", 0));
    RETURN_IF_ERROR(CutAfterStep(io_, options_.output + "/eval.jsonl", 0));
    if (options_.random_init()) {
      return trainer.store().Fill(
          [this](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
            FillRandomTensor(spec_, tensor, job_.seed, first, into);
            return absl::OkStatus();
          });
    }
    ASSIGN_OR_RETURN(const ParameterStore::Source source,
                     OpenModelSource(io_, options_.model, spec_));
    return trainer.store().Fill(source);
  }

  absl::Status MakeFolder() {
    absl::Status made = io_.MakeDirectory(options_.output);
    if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
    if (made.ok()) RETURN_IF_ERROR(io_.SyncDirectory(ParentFolder(options_.output)));
    RETURN_IF_ERROR(Lock());
    RETURN_IF_ERROR(
        KeepModelFiles(io_, options_.output,
                       {.config_text = config_text_, .model = options_.model, .spec = spec_}));
    RETURN_IF_ERROR(WriteTextFile(io_, options_.output + "/job.json", WriteJob(job_)));
    TrainOptions given = options_;
    given.device = ToString(device_.name);  // its arithmetic is part of the run
    OptionList list;
    given.AddTo(list);
    RETURN_IF_ERROR(
        WriteTextFile(io_, options_.output + "/train.yaml", ConfigFileText(list.options)));
    // What lies beside the high halves in a checkpoint is a text model in bf16 for whoever opens
    // it.
    std::string saved = config_text_;
    if (!spec_.wrapper.empty()) {
      ASSIGN_OR_RETURN(saved, TextPartConfig(config_text_, spec_));
    }
    ASSIGN_OR_RETURN(saved_config_, WithDtype(saved, "bfloat16"));
    // Said now too, while there is time to give the run another folder to begin with.
    ExportOptions unused;
    ASSIGN_OR_RETURN(const std::string warning,
                     TakeModelFiles(io_, JoinPath(options_.output, kBaseFolder), spec_, unused));
    if (!warning.empty()) context_.log.Warning(warning);
    return absl::OkStatus();
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
    context_.log.Info(StrCat("step ", news.step, "/", news.steps, "  loss ", ShortNumber(news.loss),
                             "  norm ", ShortNumber(news.gradient_norm), "  ",
                             ShortNumber(news.tokens_per_second), " tokens/s (predicted ",
                             ShortNumber(planned_.prediction.tokens_per_second), ")  ",
                             ShortNumber(100 * flops / PeakFlops()), " % of peak  ",
                             ToString(news.host_bytes), "  ", TellSeconds(left), " left"));
  }

  double PeakFlops() const {
    const DeviceProfile& device = planned_.profile.device;
    return (device.kind == DeviceKind::kHost ? device.gemm_fp32 : device.gemm_bf16).Highest();
  }

  void Tell(int64_t step, const Evaluation& evaluation) {
    context_.log.Info(StrCat("step ", step, "  held-out loss ", ShortNumber(evaluation.loss()),
                             "  perplexity ", ShortNumber(evaluation.perplexity())));
  }

  void Tell(const SaveReport& report) {
    if (absl::IsCancelled(report.status)) return;
    if (report.path.empty()) {
      ++saving_.failed;
      context_.log.Error(StrCat("step ", report.step,
                                " was not saved: ", std::string(report.status.message()),
                                options_.on_save_failure == "stop" ? "" : "; training goes on"));
      return;
    }
    ++saving_.saves;
    saving_.bytes += report.bytes;
    saving_.seconds += report.seconds;
    saving_.waited += report.waited;
    context_.log.Info(StrCat("saved step ", report.step, " in ", report.path, ": ",
                             TellBytes(report.bytes), " in ", ShortNumber(report.seconds),
                             " s, updates waited ", ShortNumber(report.waited), " s"));
    if (!report.status.ok()) {
      context_.log.Warning(
          StrCat("older checkpoints stay: ", std::string(report.status.message())));
    }
  }

  // The model of a run that was trained further takes the place of the older one.
  absl::Status Export(ModelValues& values) {
    ExportOptions to{.folder = options_.output + "/model", .config_text = config_text_};
    ASSIGN_OR_RETURN(to.dtype, ParseWord<NumberType>(options_.export_dtype));
    ASSIGN_OR_RETURN(const std::string warning,
                     TakeModelFiles(io_, JoinPath(options_.output, kBaseFolder), spec_, to));
    if (!warning.empty()) context_.log.Warning(warning);
    const std::string older = options_.output + "/model.old";
    const bool whole = io_.Info(to.folder + "/config.json").ok();
    if (whole) {
      RETURN_IF_ERROR(RemoveFolder(io_, older));
      RETURN_IF_ERROR(io_.Rename(to.folder, older));
    } else {
      RETURN_IF_ERROR(RemoveFolder(io_, to.folder));  // of a process that was killed here
    }
    const absl::Status written = ExportModel(io_, spec_, values, to);
    if (!written.ok() && whole) io_.Rename(older, to.folder).IgnoreError();
    RETURN_IF_ERROR(written);
    return RemoveFolder(io_, older);
  }

  absl::Status Answer(const TrainingReport& report) {
    if (report.memory.peak_resident.value() > planned_.prediction.memory.host_bytes()) {
      context_.log.Warning("the run took more memory than was predicted; this is a bug of horizon");
    }
    const std::string json = report.Json();
    RETURN_IF_ERROR(WriteTextFile(io_, options_.output + "/run.json", json));
    return context_.output.Write(options_.json ? json : report.Text());
  }

  const CommandContext& context_;
  Io& io_;
  const TrainOptions& options_;
  ChosenDevice device_;
  ModelSpec spec_;
  TrainingJob job_;
  std::string config_text_;
  std::string saved_config_;
  std::optional<RunLock> lock_;
  std::optional<Checkpoint> resume_;
  ModelTokenizer tokenizer_;
  TrainingData data_;
  TrainingPlan planned_;
  double parameters_ = 0;  // that one token touches
  SavingCost saving_;
  Nanoseconds told_{0};
};

}  // namespace

absl::Status TrainFromOptions(const CommandContext& context, const TrainOptions& options) {
  return Session(context, options).Run();
}

}  // namespace horizon
