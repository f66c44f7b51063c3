#include "app/options/train_options.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "app/options/config_file.h"
#include "app/options/device_option.h"
#include "common/documents/enum_words.h"
#include "common/files/posix_absolute_path.h"
#include "common/status_macros.h"
#include "model/chat/date_text.h"
#include "model/load_model_spec.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/loop/metrics_sink.h"
#include "training/data_settings.h"
#include "training/run_folder/run_folder.h"

namespace horizon {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

}  // namespace

void TrainOptions::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "model",
       .value = &model,
       .unit = "name or path",
       .help = "Model to train: a Hugging Face folder, or with --init random also a config.json, a "
               "catalog name or a Hugging Face id",
       .required = true,
       .words = WordKind::kModel});
  add(RopeScalingOption(&rope_scaling));
  add({.name = "init",
       .value = &init,
       .unit = "how",
       .help = "Start from the folder's weights or from random ones",
       .choices = {"weights", "random"},
       .group = "Model and tensors"});
  data.AddTo(list);
  add({.name = "eval-every",
       .value = &eval_every,
       .unit = "steps",
       .help = "Evaluate every so many steps; 0 evaluates after the last step only",
       .minimum = 0,
       .maximum = kMost,
       .group = "Evaluation"});
  add({.name = "output",
       .value = &output,
       .unit = "folder",
       .help = "Folder for metrics, checkpoints and the trained model; a folder that holds a run "
               "needs --resume",
       .is_path = true,
       .required = true});
  job.AddTo(list);
  add({.name = "plan",
       .value = &plan,
       .unit = "auto|plan.json",
       .help = "Plan file to follow; auto makes the fastest plan for this machine",
       .group = "Machine and plan"});
  add(DeviceOption(device));
  add({.name = "device-memory",
       .value = &device_memory,
       .unit = "bytes",
       .help = "Device memory to use (default a quarter of the RAM, or what the GPU has free)",
       .minimum = 1,
       .group = "Machine and plan"});
  add({.name = "link",
       .value = &link,
       .unit = "bytes/s",
       .help = "Limit copy bandwidth in each direction, such as 5GB/s (host device only)",
       .group = "Machine and plan"});
  add({.name = "threads",
       .value = &threads,
       .unit = "threads",
       .help = "CPU threads to plan with (default all that this process may use)",
       .minimum = 1,
       .maximum = 1024,
       .group = "Machine and plan"});
  add({.name = "machine",
       .value = &machine,
       .unit = "name or file",
       .help = "Profile to plan with (default this machine as 'horizon profile' measured it)",
       .group = "Machine and plan",
       .words = WordKind::kMachine});
  add({.name = "metrics",
       .value = &metrics,
       .unit = "format",
       .help =
           "Also write the figures of each step for TensorBoard; metrics.jsonl is always written",
       .choices = AllWords<MetricsFormat>(),
       .group = "Diagnostics"});
  add({.name = "log-gradient-norms",
       .value = &log_gradient_norms,
       .help = "Add the gradient norm of every tensor to metrics.jsonl",
       .group = "Diagnostics"});
  add({.name = "on-non-finite",
       .value = &on_non_finite,
       .unit = "what",
       .help =
           "What to do when a loss or gradient is NaN or infinite: stop the run or skip the update",
       .choices = {"stop", "skip"},
       .group = "Diagnostics"});
  add({.name = "save",
       .value = &save,
       .unit = "what",
       .help = "What checkpoints hold: everything needed to resume, the weights only, or no "
               "checkpoints",
       .choices = {"full", "weights", "none"},
       .group = "Checkpoints"});
  add({.name = "save-every",
       .value = &save_every,
       .unit = "steps",
       .help =
           "Save a checkpoint every so many steps while training goes on; 0 saves at the end only",
       .minimum = 0,
       .maximum = kMost,
       .group = "Checkpoints"});
  add({.name = "keep",
       .value = &keep,
       .unit = "checkpoints",
       .help = "Number of newest checkpoints to keep",
       .minimum = 2,
       .maximum = kMost,
       .group = "Checkpoints"});
  add({.name = "on-save-failure",
       .value = &on_save_failure,
       .unit = "what",
       .help = "What to do when a checkpoint cannot be written: continue and try again at the next "
               "one, or stop",
       .choices = {"continue", "stop"},
       .group = "Checkpoints"});
  add({.name = "resume",
       .value = &resume,
       .unit = "auto|folder",
       .help = "Resume from a checkpoint: auto takes the newest of --output; or name another run "
               "or a checkpoint",
       .group = "Checkpoints"});
  add({.name = "restart-schedule",
       .value = &restart_schedule,
       .help =
           "With --resume and more --steps or --epochs: keep weights and moments, and begin the "
           "learning-rate schedule anew over the added steps",
       .group = "Checkpoints"});
  add({.name = "export-dtype",
       .value = &export_dtype,
       .unit = "type",
       .help = "Number format of the exported weights",
       .choices = AllWords<NumberType>(),
       .group = "Checkpoints"});
  add({.name = "config",
       .value = &config,
       .unit = "file",
       .help =
           "YAML file with these options under the same names; the command line takes precedence"});
  add({.name = "json", .value = &json, .help = "Answer in JSON"});
}

namespace {

// "full" and "weights" are what checkpoints hold; none are made otherwise.
absl::StatusOr<std::optional<SaveMode>> ReadSaveMode(const std::string& word) {
  if (word == "none") return std::nullopt;
  return ParseWord<SaveMode>(word);
}

}  // namespace

absl::StatusOr<TrainingSettings> TrainOptions::ToSettings(const CommandContext& context,
                                                          const ModelSpec& spec,
                                                          const DeviceName& on) const {
  TrainingSettings settings{
      .device = on,
      .eval_every = eval_every,
      .plan = {.device_memory = device_memory, .link = link, .cores = threads},
      .save = {.every = save_every, .keep = keep, .must_succeed = on_save_failure == "stop"},
      .log_gradient_norms = log_gradient_norms,
      .folder = output,
      .resume = resume,
      .restart_schedule = restart_schedule};
  ASSIGN_OR_RETURN(settings.job, job.ToJob(spec, on.kind));
  settings.job.model = model;
  settings.job.data = absl::StrJoin(data.paths, ", ");
  settings.initial_weights = FolderWeights{.folder = model};
  if (init == "random") settings.initial_weights = RandomWeights{.seed = settings.job.seed};
  ASSIGN_OR_RETURN(settings.data, data.ToSettings(context, output + ".tokens"));
  if (plan != "auto") settings.plan.file = plan;
  ASSIGN_OR_RETURN(settings.save.mode, ReadSaveMode(save));
  for (const std::string& word : metrics) {
    ASSIGN_OR_RETURN(const MetricsFormat format, ParseWord<MetricsFormat>(word));
    settings.metrics.push_back(format);
  }
  ASSIGN_OR_RETURN(settings.non_finite, ParseWord<NonFinitePolicy>(on_non_finite));
  ASSIGN_OR_RETURN(settings.export_type, ParseWord<NumberType>(export_dtype));
  settings.options_text = TextFor(context.io, on, settings.data.chat);
  return settings;
}

namespace {

// From the root, whatever the text of an option that names a file says.
struct FromTheRoot {
  void operator()(std::string* path) const { *path = AbsolutePath(*path); }
  void operator()(std::optional<std::string>* path) const {
    if (path->has_value()) **path = AbsolutePath(**path);
  }
  void operator()(std::vector<std::string>* paths) const {
    for (std::string& path : *paths) path = AbsolutePath(path);
  }
  template <typename T>
  void operator()(T*) const {}
};

}  // namespace

std::string TrainOptions::TextFor(Io& io, const DeviceName& on, const ChatChoice& chat) const {
  TrainOptions given = *this;
  given.device = ToString(on);  // its arithmetic is part of the run
  if (!job.epochs.has_value()) given.job.steps = job.steps.value_or(job.values.steps);
  // A run that goes on another day has the same tokens.
  given.data.reading.chat.chat_date = DateText("%Y-%m-%d", chat.now);
  // These are names or paths.
  if (CatalogEntryOf(io, model) == nullptr) given.model = AbsolutePath(model);
  if (plan != "auto") given.plan = AbsolutePath(plan);
  if (machine.has_value() && io.Info(*machine).ok()) given.machine = AbsolutePath(*machine);
  OptionList list;
  given.AddTo(list);
  for (const Option& option : list.options) {
    if (option.is_path) std::visit(FromTheRoot(), option.value);
  }
  return ConfigFileText(list.options);
}

absl::Status TrainOptions::FollowMovedRun(Io& io) {
  if (!config.has_value() || BaseName(*config) != "train.yaml") return absl::OkStatus();
  const std::string folder = ParentFolder(*config);
  if (!io.Info(JoinPath(folder, "job.json")).ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string written, ConfigFileValue(io, *config, "output"));
  if (output == written) output = folder;
  return absl::OkStatus();
}

}  // namespace horizon
