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
       .unit = "folder, config.json or name",
       .help = "A Hugging Face folder, a config.json, or a catalog name (with --init random)",
       .required = true});
  add({.name = "init",
       .value = &init,
       .unit = "how",
       .help = "Begin with the folder's weights, or with random ones",
       .choices = {"weights", "random"}});
  add({.name = "data",
       .value = &data,
       .unit = "file or folder[:weight]",
       .help = "What to train on: text, .jsonl or .json of documents, conversations, questions "
               "and answers, or token ids; several times for several, with weights to draw from "
               "them in proportion (a.jsonl:0.3)",
       .is_path = true,
       .required = true});
  data_flags.AddTo(list);
  add({.name = "eval-data",
       .value = &eval_data,
       .unit = "file or folder",
       .help = "Held-out data, read as --data is, for loss and perplexity",
       .is_path = true});
  add({.name = "eval-share",
       .value = &eval_share,
       .unit = "share",
       .help = "Hold this share of the samples out instead, 0 to 0.5",
       .minimum = 0,
       .maximum = 0.5});
  add({.name = "eval-every",
       .value = &eval_every,
       .unit = "steps",
       .help = "Evaluate after so many steps; 0: only after the last",
       .minimum = 0,
       .maximum = kMost});
  add({.name = "shuffle",
       .value = &shuffle,
       .unit = "true|false",
       .help = "Take the samples in an order drawn from the seed, a new one each epoch",
       .choices = {"true", "false"}});
  add({.name = "output",
       .value = &output,
       .unit = "folder",
       .help = "Where metrics, checkpoints and the trained model go; a run in it needs --resume",
       .is_path = true,
       .required = true});
  job.AddTo(list);
  add({.name = "plan",
       .value = &plan,
       .unit = "auto|plan.json",
       .help = "What to follow; auto is the planner's choice for this machine"});
  add(DeviceOption(device));
  add({.name = "device-memory",
       .value = &device_memory,
       .unit = "bytes",
       .help = "Memory of the device; not given: a quarter of the RAM, or what a GPU has free",
       .minimum = 1});
  add({.name = "link",
       .value = &link,
       .unit = "bytes/s",
       .help = "Hold copies to and from device host to this bandwidth, each way"});
  add({.name = "threads",
       .value = &threads,
       .unit = "threads",
       .help = "Cores to plan with; not given: all this process may use",
       .minimum = 1,
       .maximum = 1024});
  add({.name = "machine",
       .value = &machine,
       .unit = "name or file",
       .help = "Plan with this profile instead of the one measured here (`horizon profile`)"});
  add({.name = "metrics",
       .value = &metrics,
       .unit = "format",
       .help =
           "Also write the figures of each step for TensorBoard; metrics.jsonl is always written",
       .choices = AllWords<MetricsFormat>()});
  add({.name = "log-gradient-norms",
       .value = &log_gradient_norms,
       .help = "Add the norm of every tensor's gradient to metrics.jsonl"});
  add({.name = "on-non-finite",
       .value = &on_non_finite,
       .unit = "what",
       .help = "When a loss or gradient is NaN or infinite: stop the run, or skip the update",
       .choices = {"stop", "skip"}});
  add({.name = "save",
       .value = &save,
       .unit = "what",
       .help = "Checkpoints hold all that is needed to go on, the weights alone, or are not made",
       .choices = {"full", "weights", "none"}});
  add({.name = "save-every",
       .value = &save_every,
       .unit = "steps",
       .help = "Save after so many steps, while training goes on; 0: only at the end or a signal",
       .minimum = 0,
       .maximum = kMost});
  add({.name = "keep",
       .value = &keep,
       .unit = "checkpoints",
       .help = "How many of the newest checkpoints stay",
       .minimum = 2,
       .maximum = kMost});
  add({.name = "on-save-failure",
       .value = &on_save_failure,
       .unit = "what",
       .help = "When a checkpoint cannot be written: continue and try at the next one, or stop",
       .choices = {"continue", "stop"}});
  add({.name = "resume",
       .value = &resume,
       .unit = "auto|folder",
       .help = "Go on from the newest checkpoint of --output (auto), of another run, or from one"});
  add({.name = "restart-schedule",
       .value = &restart_schedule,
       .help =
           "With --resume and more --steps or --epochs: keep weights and moments, and begin the "
           "learning-rate schedule anew over the added steps"});
  add({.name = "export-dtype",
       .value = &export_dtype,
       .unit = "type",
       .help = "Of the trained model on disk",
       .choices = AllWords<NumberType>()});
  add({.name = "config",
       .value = &config,
       .unit = "file",
       .help = "Read these options from a YAML file with the same names; a flag wins"});
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
  settings.job.data = absl::StrJoin(data, ", ");
  settings.initial_weights = FolderWeights{.folder = model};
  if (init == "random") settings.initial_weights = RandomWeights{.seed = settings.job.seed};
  ASSIGN_OR_RETURN(settings.data, data_flags.ToSettings(context, output + ".tokens"));
  settings.data.shuffle = shuffle == "true";
  for (const std::string& text : data) {
    ASSIGN_OR_RETURN(settings.data.sources.emplace_back(), ReadWeightedData(context.io, text));
  }
  settings.data.eval_file = eval_data;
  settings.data.eval_share = eval_share;
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
  given.data_flags.chat.chat_date = DateText("%Y-%m-%d", chat.now);
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
