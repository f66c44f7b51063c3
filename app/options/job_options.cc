#include "app/options/job_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/documents/enum_words.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/planned_job.h"
#include "schedule/job_fields.h"
#include "schedule/load_files.h"

namespace horizon {
namespace {

using JobField = std::variant<int64_t TrainingJob::*, double TrainingJob::*, bool TrainingJob::*,
                              LearningRateSchedule TrainingJob::*, StateFormat TrainingJob::*,
                              OptimizerPlace TrainingJob::*, NumberType TrainingJob::*,
                              std::vector<std::string> TrainingJob::*>;

// An option that says a field of the job. Its range is the field's (schedule/job_fields.h).
struct JobOption {
  std::string_view name;
  std::string_view unit;
  std::string_view help;
  JobField field;
  std::string_view group;
  // What the field is where the option is not given, if that is not a value by itself.
  std::string_view otherwise = {};
  std::string_view former_name = {};  // see Option
};

const JobOption kJobOptions[] = {
    {.name = "steps",
     .unit = "steps",
     .help = "Number of training steps",
     .field = &TrainingJob::steps,
     .group = "",
     .otherwise = "100, or as many as --epochs has"},
    {.name = "epochs",
     .unit = "passes",
     .help = "Passes over the data, in place of --steps; the last step may be a short one",
     .field = &TrainingJob::epochs,
     .group = "",
     .otherwise = "none: the data repeats for as long as there are --steps"},
    {.name = "sequence",
     .unit = "tokens",
     .help = "Sequence length in tokens",
     .field = &TrainingJob::sequence,
     .group = "",
     .otherwise = "1024, or the model's limit"},
    {.name = "micro-batch",
     .unit = "samples",
     .help = "Micro-batch size: rows computed at once",
     .field = &TrainingJob::micro_batch,
     .group = ""},
    {.name = "accumulate",
     .unit = "micro-batches",
     .help = "Gradient accumulation: micro-batches per weight update",
     .field = &TrainingJob::accumulation,
     .group = ""},
    {.name = "learning-rate",
     .unit = "rate",
     .help = "Peak learning rate of AdamW",
     .field = &TrainingJob::learning_rate,
     .group = ""},
    {.name = "train",
     .unit = "pattern",
     .help = "Train only tensors whose names match this pattern, such as 'model.layers.2[4-7].*'",
     .field = &TrainingJob::train,
     .group = "Model and tensors"},
    {.name = "freeze",
     .unit = "pattern",
     .help = "Freeze tensors whose names match this pattern, such as '*embed*'",
     .field = &TrainingJob::freeze,
     .group = "Model and tensors"},
    {.name = "lr-schedule",
     .unit = "kind",
     .help = "Learning-rate schedule after the warm-up",
     .field = &TrainingJob::learning_rate_schedule,
     .group = "Optimizer",
     .former_name = "schedule"},
    {.name = "warmup",
     .unit = "steps",
     .help = "Warm-up steps, over which the learning rate rises from 0",
     .field = &TrainingJob::warmup_steps,
     .group = "Optimizer"},
    {.name = "beta1",
     .unit = "share",
     .help = "Decay of the first moment in AdamW",
     .field = &TrainingJob::beta1,
     .group = "Optimizer"},
    {.name = "beta2",
     .unit = "share",
     .help = "Decay of the second moment in AdamW",
     .field = &TrainingJob::beta2,
     .group = "Optimizer"},
    {.name = "epsilon",
     .unit = "value",
     .help = "Epsilon of AdamW, added to the root of the second moment",
     .field = &TrainingJob::epsilon,
     .group = "Optimizer"},
    {.name = "weight-decay",
     .unit = "share",
     .help = "Weight decay of matrices; norms and biases have none",
     .field = &TrainingJob::weight_decay,
     .group = "Optimizer"},
    {.name = "decay-all",
     .unit = "",
     .help = "Apply weight decay to norms and biases too, as PyTorch's AdamW does",
     .field = &TrainingJob::decay_all,
     .group = "Optimizer"},
    {.name = "clip-norm",
     .unit = "norm",
     .help = "Clip gradients to this global norm; 0 turns clipping off",
     .field = &TrainingJob::clip_norm,
     .group = "Optimizer"},
    {.name = "router-aux-loss",
     .unit = "coefficient",
     .help = "Coefficient of the loss that spreads tokens over the experts of a layer",
     .field = &TrainingJob::router_aux_loss,
     .group = "Optimizer"},
    {.name = "state",
     .unit = "format",
     .help = "Storage format of the optimizer state",
     .field = &TrainingJob::state_format,
     .group = "Optimizer"},
    {.name = "optimizer-place",
     .unit = "place",
     .help = "When weights are updated; in-backward needs --clip-norm 0",
     .field = &TrainingJob::optimizer_place,
     .group = "Optimizer"},
    {.name = "seed",
     .unit = "number",
     .help = "Random seed for sample order, weight initialisation and stochastic rounding",
     .field = &TrainingJob::seed,
     .group = "Optimizer"},
    {.name = "compute",
     .unit = "type",
     .help = "Number format of the weights as compute reads them; sums are always fp32",
     .field = &TrainingJob::compute_type,
     .group = "Number formats"},
    {.name = "gradients",
     .unit = "type",
     .help = "Number format of gradients as they leave the device",
     .field = &TrainingJob::gradient_type,
     .group = "Number formats",
     .otherwise = "as --compute"},
};

// What is declared of the field at an address within a job.
class FieldFinder {
 public:
  explicit FieldFinder(const void* wanted) : wanted_(wanted) {}
  template <typename T>
  void operator()(std::string_view name, const T& field, const FieldInfo& info) {
    if (&field != wanted_) return;
    name_ = name;
    info_ = info;
  }
  std::string_view name() const { return name_; }
  const FieldInfo& info() const { return info_; }

 private:
  const void* wanted_;
  std::string_view name_;
  FieldInfo info_;
};

FieldFinder FieldOf(const JobOption& option) {
  const TrainingJob job;
  FieldFinder finder(
      std::visit([&](auto field) -> const void* { return &(job.*field); }, option.field));
  VisitJobFields(job, finder);
  CHECK(!finder.name().empty());
  return finder;
}

const JobOption& Find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kJobOptions), std::end(kJobOptions),
                                   [&](const JobOption& one) { return one.name == name; });
  CHECK(found != std::end(kJobOptions));
  return *found;
}

template <typename T>
T ValueOf(T TrainingJob::*);  // the type of a field

Option Declare(const JobOption& declared, OptionTarget target) {
  Option option{.name = std::string(declared.name),
                .value = target,
                .unit = std::string(declared.unit),
                .help = std::string(declared.help),
                .former_name = std::string(declared.former_name),
                .group = std::string(declared.group)};
  constexpr double kNoBound = 1e300;  // of a FieldInfo
  const FieldInfo range = FieldOf(declared).info();
  if (range.minimum > -kNoBound) option.minimum = range.minimum;
  if (range.maximum < kNoBound) option.maximum = range.maximum;
  if (!declared.otherwise.empty()) option.help += StrCat(" (default ", declared.otherwise, ")");
  std::visit(
      [&](auto field) {
        using T = decltype(ValueOf(field));
        if constexpr (std::is_enum_v<T>) option.choices = AllWords<T>();
      },
      declared.field);
  return option;
}

// Sets a field that is a word; others stay.
absl::Status SetWord(const JobOption& declared, const std::string& word, TrainingJob& job) {
  return std::visit(
      [&](auto field) -> absl::Status {
        using T = decltype(ValueOf(field));
        if constexpr (std::is_enum_v<T>) {
          ASSIGN_OR_RETURN(job.*field, ParseWord<T>(word));
        }
        return absl::OkStatus();
      },
      declared.field);
}

bool IsWordLetter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-';
}

// Replaces `word` where it stands by itself.
void ReplaceWord(std::string_view word, const std::string& with, std::string& text) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
    const size_t end = at + word.size();
    const bool alone = (at == 0 || !IsWordLetter(text[at - 1])) &&
                       (end == text.size() || !IsWordLetter(text[end]));
    if (alone) text.replace(at, word.size(), with);
    at += alone ? with.size() : word.size();
  }
}

// An error about a job in the words of the command line: "clip_norm" is "--clip-norm" there.
absl::Status InOptionWords(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  std::string text(status.message());
  for (const JobOption& option : kJobOptions) {
    const std::string_view field = FieldOf(option).name();
    // Fields that are called as the option is are plain words too ("steps").
    if (field != option.name) ReplaceWord(field, StrCat("--", option.name), text);
  }
  for (const std::string& word : AllWords<OptimizerPlace>()) {
    std::string dashed = word;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    ReplaceWord(word, dashed, text);
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace

void TrainJobOptions::AddTo(OptionList& list) {
  const auto target_of = [&](const JobOption& declared) {
    return std::visit(
        [&](auto field) -> OptionTarget {
          using T = decltype(ValueOf(field));
          if constexpr (std::is_enum_v<T>) {
            if (!declared.otherwise.empty()) return &gradients;
            return &words
                        .try_emplace(std::string(declared.name),
                                     std::string(ToString(values.*field)))
                        .first->second;
          } else if constexpr (std::is_same_v<T, int64_t>) {
            if (declared.otherwise.empty()) return &(values.*field);
            if (field == &TrainingJob::steps) return &steps;
            return field == &TrainingJob::epochs ? &epochs : &sequence;
          } else {
            return &(values.*field);
          }
        },
        declared.field);
  };
  for (const JobOption& declared : kJobOptions) {
    Option option = Declare(declared, target_of(declared));
    if (option.name == "steps") option.instead_of = "epochs";
    if (option.name == "epochs") {
      option.instead_of = "steps";
      option.minimum = 1;  // in a job, 0 stands for none
    }
    list.options.push_back(std::move(option));
  }
}

Option RopeScalingOption(std::optional<std::string>* target) {
  return {.name = "rope-scaling",
          .value = target,
          .unit = "yarn:factor",
          .help =
              "Stretch the model's positions by YaRN, for a longer --sequence, such as yarn:4 "
              "for four times as many (default as the config.json says)"};
}

Option SampleLengthOption(std::optional<int64_t>* target) {
  return {.name = "sample-length",
          .value = target,
          .unit = "tokens",
          .help =
              "Mean length of the samples that are packed into a sequence; attention is counted "
              "within samples (default the job file's lengths, or one sample a sequence)",
          .minimum = 1,
          .maximum = 1 << 24};
}

std::vector<SampleLength> SamplesOfLength(int64_t length) {
  return {{.length = length, .samples = 1}};
}

absl::StatusOr<TrainingJob> TrainJobOptions::ToJob(const ModelSpec& spec, DeviceKind device) const {
  if (steps.has_value() && epochs.has_value()) {
    return absl::InvalidArgumentError(StrCat("--steps ", *steps, " and --epochs ", *epochs,
                                             " both say how long to train: give one of them"));
  }
  TrainingJob job = values;
  PlaceOn(device, job);
  job.steps = steps.value_or(values.steps);
  job.epochs = epochs.value_or(0);
  // Until they are counted, no number of steps is too small for the warm-up.
  if (epochs.has_value()) job.steps = std::max<int64_t>(1, job.warmup_steps);
  job.sequence = sequence.value_or(std::min<int64_t>(1024, spec.max_positions));
  // Choices were checked when the options were read.
  for (const auto& [name, word] : words) RETURN_IF_ERROR(SetWord(Find(name), word, job));
  job.gradient_type = job.compute_type;
  if (gradients.has_value()) RETURN_IF_ERROR(SetWord(Find("gradients"), *gradients, job));
  RETURN_IF_ERROR(InOptionWords(ValidateJob(spec, job)));
  return job;
}

namespace {

// The option of a planning command for a field of the job, with what it is when it is not given.
Option ForPlanning(std::string_view name, OptionTarget target, std::string_view otherwise) {
  Option option = Declare(Find(name), target);
  option.help = StrCat(Find(name).help, " (default ", otherwise, ")");
  return option;
}

}  // namespace

void PlanJobOptions::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add(ForPlanning("sequence", &sequence, "1024, the model's limit, or the job file's"));
  add(SampleLengthOption(&sample_length));
  Option samples = ForPlanning("micro-batch", &batch, "auto, or the job file's");
  samples.name = "batch";
  samples.unit = "sequences";
  samples.help = StrCat(Find("micro-batch").help,
                        ", or auto for the fastest (default auto, or the job file's)");
  add(std::move(samples));
  Option format = Declare(Find("state"), &state);
  format.help =
      StrCat("Storage format of the optimizer state: ", absl::StrJoin(format.choices, ", "),
             ", or auto for the fastest that fits (default the strategy's)");
  format.choices.clear();
  format.group = "";
  add(std::move(format));
  const size_t first = list.options.size();
  const char* const kStrategys = "the strategy's, or the job file's";
  add(ForPlanning("accumulate", &accumulate, kStrategys));
  add(ForPlanning("clip-norm", &clip_norm, kStrategys));
  add(ForPlanning("optimizer-place", &optimizer_place, kStrategys));
  add(ForPlanning("compute", &compute, kStrategys));
  add(ForPlanning("gradients", &gradients, "as --compute, or the job file's"));
  add(Declare(Find("train"), &train));
  add(Declare(Find("freeze"), &freeze));
  add({.name = "job",
       .value = &job_file,
       .unit = "file",
       .help = "Job file in JSON or YAML (docs/formats.md); the options above change it"});
  SetGroup(list, first, "Job");
  const size_t plan = list.options.size();
  add({.name = "strategy",
       .value = &strategy,
       .unit = "strategy",
       .help = "Offload strategy to plan and simulate; auto is the fastest of those that train "
               "the same job",
       .choices = AllWords<Strategy>()});
  std::vector<std::string>& strategies = list.options.back().choices;
  strategies.insert(strategies.begin(), "auto");
  add({.name = "margin",
       .value = &margin_percent,
       .unit = "percent",
       .help = "Share of each memory that must stay free, from 0 to 99.9",
       .minimum = 0,
       .maximum = 99.9});
  SetGroup(list, plan, "Plan");
}

absl::StatusOr<Strategy> PlanJobOptions::ReadStrategy() const {
  if (any_strategy()) return Strategy::kHorizon;
  return ParseWord<Strategy>(strategy);
}

absl::StatusOr<TrainingJob> PlanJobOptions::Read(Io& io, const std::string& model,
                                                 const ModelSpec* spec,
                                                 const HardwareProfile& profile) const {
  ASSIGN_OR_RETURN(const Strategy kind, ReadStrategy());
  TrainingJob job = JobFor(profile, kind);
  if (spec != nullptr) job.sequence = std::min<int64_t>(job.sequence, spec->max_positions);
  if (job_file.has_value()) {
    ASSIGN_OR_RETURN(job, LoadJob(io, *job_file));
    RETURN_IF_ERROR(CheckDevice(job, profile));
  }
  if (job.model.empty()) job.model = model;
  if (sequence.has_value()) job.sequence = *sequence;
  if (sample_length.has_value()) job.sample_lengths = SamplesOfLength(*sample_length);
  if (!train.empty()) job.train = train;
  if (!freeze.empty()) job.freeze = freeze;
  job.accumulation = accumulate.value_or(job.accumulation);
  job.clip_norm = clip_norm.value_or(job.clip_norm);
  // Choices were checked when the options were read.
  if (optimizer_place) RETURN_IF_ERROR(SetWord(Find("optimizer-place"), *optimizer_place, job));
  if (compute.has_value()) {
    RETURN_IF_ERROR(SetWord(Find("compute"), *compute, job));
    job.gradient_type = job.compute_type;
  }
  if (gradients.has_value()) RETURN_IF_ERROR(SetWord(Find("gradients"), *gradients, job));
  if (batch.has_value() && !proposes_batch()) {
    const char* const end = batch->data() + batch->size();
    const auto [rest, error] = std::from_chars(batch->data(), end, job.micro_batch);
    const FieldInfo range = FieldOf(Find("micro-batch")).info();
    if (error != std::errc() || rest != end || !RangeProblem(job.micro_batch, range).empty()) {
      return absl::InvalidArgumentError(
          StrCat("--batch needs a number of sequences from ", static_cast<int64_t>(range.minimum),
                 " to ", static_cast<int64_t>(range.maximum), ", or auto; found '", *batch, "'"));
    }
  }
  if (!state.empty() && !proposes_state()) {
    const absl::Status set = SetWord(Find("state"), state, job);
    if (!set.ok()) {
      return absl::InvalidArgumentError(
          StrCat("--state ", std::string(set.message()), ", or auto"));
    }
  }
  if (spec != nullptr) RETURN_IF_ERROR(InOptionWords(ValidateJob(*spec, job)));
  return job;
}

Option JobOptionNamed(std::string_view name, OptionTarget target) {
  return Declare(Find(name), target);
}

absl::Status CheckDevice(const TrainingJob& job, const HardwareProfile& profile) {
  if (job.device == profile.device.kind) return absl::OkStatus();
  const bool cuda = profile.device.kind == DeviceKind::kCuda;
  return absl::InvalidArgumentError(
      StrCat("the job is for device ", ToString(job.device), ", but ", profile.name,
             " computes on ", ToString(profile.device.kind), ": set device to ",
             ToString(profile.device.kind), " and activation_type to ",
             ToString(cuda ? NumberType::kBf16 : NumberType::kFp32), " in the job file"));
}

}  // namespace horizon
