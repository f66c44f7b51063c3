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
  // What the field is where the option is not given, if that is not a value by itself.
  std::string_view otherwise = {};
  std::string_view former_name = {};  // see Option
};

const JobOption kJobOptions[] = {
    {"steps", "steps", "Updates to make", &TrainingJob::steps},
    {"train", "pattern", "Train only tensors whose names match, such as 'model.layers.2[4-7].*'",
     &TrainingJob::train},
    {"freeze", "pattern", "Train no tensor whose name matches, such as '*embed*'",
     &TrainingJob::freeze},
    {"sequence", "tokens", "Length of a sample", &TrainingJob::sequence,
     "1024, or the model's limit where that is less"},
    {"micro-batch", "samples", "Samples computed at once", &TrainingJob::micro_batch},
    {"accumulate", "micro-batches", "Micro-batches whose gradients make one update",
     &TrainingJob::accumulation},
    {"learning-rate", "rate", "AdamW's step size, the largest of the schedule",
     &TrainingJob::learning_rate},
    {"lr-schedule", "kind", "How the learning rate goes on after the warm-up",
     &TrainingJob::learning_rate_schedule, /*otherwise=*/{}, /*former_name=*/"schedule"},
    {"warmup", "steps", "Steps over which the learning rate rises from 0",
     &TrainingJob::warmup_steps},
    {"beta1", "share", "Decay of the first moment", &TrainingJob::beta1},
    {"beta2", "share", "Decay of the second moment", &TrainingJob::beta2},
    {"epsilon", "value", "Added to the root of the second moment", &TrainingJob::epsilon},
    {"weight-decay", "share", "Of matrices; norms and biases do not decay",
     &TrainingJob::weight_decay},
    {"decay-all", "", "Let every parameter decay, as PyTorch's AdamW does",
     &TrainingJob::decay_all},
    {"clip-norm", "norm", "Scale gradients of a larger global norm down to it; 0: never",
     &TrainingJob::clip_norm},
    {"state", "format", "How the optimizer's state is kept", &TrainingJob::state_format},
    {"optimizer-place", "place", "When a chunk is updated; in-backward needs --clip-norm 0",
     &TrainingJob::optimizer_place},
    {"seed", "number", "Of the order of samples, random weights and stochastic rounding",
     &TrainingJob::seed},
    {"compute", "type", "Weights as compute reads them; sums are fp32 either way",
     &TrainingJob::compute_type},
    {"gradients", "type", "Gradients as they leave the device", &TrainingJob::gradient_type,
     "as --compute"},
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
                .former_name = std::string(declared.former_name)};
  constexpr double kNoBound = 1e300;  // of a FieldInfo
  const FieldInfo range = FieldOf(declared).info();
  if (range.minimum > -kNoBound) option.minimum = range.minimum;
  if (range.maximum < kNoBound) option.maximum = range.maximum;
  if (!declared.otherwise.empty()) option.help += StrCat("; not given: ", declared.otherwise);
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
            if (!declared.otherwise.empty()) return &sequence;
            return &(values.*field);
          } else {
            return &(values.*field);
          }
        },
        declared.field);
  };
  for (const JobOption& declared : kJobOptions) {
    list.options.push_back(Declare(declared, target_of(declared)));
  }
}

absl::StatusOr<TrainingJob> TrainJobOptions::ToJob(const ModelSpec& spec, DeviceKind device) const {
  TrainingJob job = values;
  PlaceOn(device, job);
  job.sequence = sequence.value_or(std::min<int64_t>(1024, spec.max_positions));
  // Choices were checked when the options were read.
  for (const auto& [name, word] : words) RETURN_IF_ERROR(SetWord(Find(name), word, job));
  job.gradient_type = job.compute_type;
  if (gradients.has_value()) RETURN_IF_ERROR(SetWord(Find("gradients"), *gradients, job));
  RETURN_IF_ERROR(InOptionWords(ValidateJob(spec, job)));
  return job;
}

void PlanJobOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "strategy",
                          .value = &strategy,
                          .unit = "strategy",
                          .help =
                              "How the work is offloaded; auto: the fastest of those that train "
                              "the same job",
                          .choices = AllWords<Strategy>()});
  list.options.back().choices.insert(list.options.back().choices.begin(), "auto");
  Option length = Declare(Find("sequence"), &sequence);
  length.help += ", or the job file's";
  list.options.push_back(std::move(length));
  Option samples = Declare(Find("micro-batch"), &batch);
  samples.name = "batch";
  samples.unit = "sequences";
  samples.help += ", or auto to have a number proposed; not given: auto, or the job file's";
  list.options.push_back(std::move(samples));
  Option format = Declare(Find("state"), &state);
  format.help += StrCat(": ", absl::StrJoin(format.choices, ", "),
                        ", or auto to have one proposed; not given: as the strategy has it");
  format.choices.clear();
  list.options.push_back(std::move(format));
  const auto add = [&](const char* name, OptionTarget target) {
    Option option = Declare(Find(name), target);
    if (Find(name).otherwise.empty()) option.help += "; not given: as the strategy has it";
    option.help += ", or the job file's";
    list.options.push_back(std::move(option));
  };
  add("accumulate", &accumulate);
  add("clip-norm", &clip_norm);
  add("optimizer-place", &optimizer_place);
  add("compute", &compute);
  add("gradients", &gradients);
  list.options.push_back(Declare(Find("train"), &train));
  list.options.push_back(Declare(Find("freeze"), &freeze));
  list.options.push_back({.name = "job",
                          .value = &job_file,
                          .unit = "file",
                          .help = "What is trained, in JSON or YAML (docs/formats.md); the options "
                                  "above change it"});
  list.options.push_back({.name = "margin",
                          .value = &margin_percent,
                          .unit = "percent",
                          .help = "Share of each memory that must stay free, 0 to 99.9",
                          .minimum = 0,
                          .maximum = 99.9});
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
