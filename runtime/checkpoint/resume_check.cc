#include "runtime/checkpoint/resume_check.h"

#include <set>

#include "common/check.h"
#include "common/crc32c.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// A field of a job as it stands in its file.
std::string FieldText(const Value& value) {
  if (const auto* text = value.As<std::string>()) return *text;
  if (const auto* number = value.As<int64_t>()) return StrCat(*number);
  if (const auto* real = value.As<double>()) return StrCat(*real);
  if (const auto* flag = value.As<bool>()) return *flag ? "true" : "false";
  return std::string(value.KindName());
}

// The fields that decide numbers: the lengths of samples only describe the data.
Value::Object FieldsOf(TrainingJob job) {
  job.sample_lengths.clear();
  absl::StatusOr<Document> document = ParseJson("job", WriteJob(job));
  CHECK(document.ok() && document->root.As<Value::Object>() != nullptr);
  return *document->root.As<Value::Object>();
}

// Whether the learning rates of the steps done are the same whatever the number of steps. In the
// warm-up they are, and so is the rate behind it, from which the curve goes on.
bool RatesDependOnSteps(const Manifest& saved) {
  const TrainingJob& job = saved.facts.job;
  return job.learning_rate_schedule != LearningRateSchedule::kConstant &&
         saved.step - job.schedule_start > job.warmup_steps + 1;
}

bool BeginsNewSchedule(const Manifest& saved, const AskedRun& asked) {
  return asked.job.schedule_start == saved.step &&
         asked.job.schedule_start != saved.facts.job.schedule_start;
}

bool IsOfSchedule(std::string_view field) {
  return field == "learning_rate" || field == "learning_rate_schedule" || field == "warmup_steps";
}

bool MayDiffer(std::string_view field, const Manifest& saved, const AskedRun& asked) {
  if (field == "data" || field == "model") return true;    // the fingerprints are compared
  if (field == "train" || field == "freeze") return true;  // the sets of tensors are
  if (field == "epochs") return true;  // what it changes of the steps to come is their number
  const bool begins = BeginsNewSchedule(saved, asked);
  if (IsOfSchedule(field) || field == "schedule_start") return begins;
  if (field != "steps") return false;
  return asked.job.steps >= saved.step && (begins || !RatesDependOnSteps(saved));
}

// What a person can do about a field that differs.
std::string Remedy(std::string_view field, const std::string& was, const Manifest& saved,
                   const AskedRun& asked) {
  if (field == "steps" && asked.job.steps < saved.step) {
    return StrCat("the checkpoint is at step ", saved.step, " already");
  }
  if (field == "steps") {
    return StrCat("the learning rates of its ", ToString(saved.facts.job.learning_rate_schedule),
                  " schedule depend on the number of steps: with --restart-schedule weights and "
                  "moments stay and a new schedule begins after step ",
                  saved.step, "; or set it back to ", was);
  }
  if (IsOfSchedule(field) && asked.job.steps > saved.step) {
    return StrCat("set it back to ", was, ", or begin a new learning-rate schedule after step ",
                  saved.step, " with --restart-schedule");
  }
  return StrCat("set it back to ", was, " or start a new run from the weights");
}

std::string Line(std::string_view field, std::string_view saved, std::string_view asked,
                 std::string_view what_to_do) {
  return StrCat(field, ": saved ", saved, ", asked ", asked, "; ", what_to_do);
}

// "" where both train the same tensors.
std::string TrainedDifference(const Manifest& saved, const AskedRun& asked) {
  std::set<std::string> before;
  for (const TensorRecord& tensor : saved.tensors) before.insert(tensor.name);
  const std::set<std::string> now(asked.trained.begin(), asked.trained.end());
  const auto first_missing = [](const std::set<std::string>& of, const std::set<std::string>& in) {
    for (const std::string& name : of) {
      if (in.count(name) == 0) return name;
    }
    return std::string();
  };
  const std::string thawed = first_missing(now, before);
  const std::string frozen = first_missing(before, now);
  if (thawed.empty() && frozen.empty()) return "";
  return Line("trained tensors", StrCat(before.size()), StrCat(now.size()),
              StrCat(thawed.empty() ? "" : StrCat(thawed, " was frozen; "),
                     frozen.empty() ? "" : StrCat(frozen, " was trained; "),
                     "give --train and --freeze as they were, or start a new run from the "
                     "exported model"));
}

}  // namespace

std::vector<std::string> DescribeDifferences(const Manifest& saved, const AskedRun& asked) {
  std::vector<std::string> lines;
  const CheckpointFacts& facts = saved.facts;
  if (facts.model_fingerprint != asked.model_fingerprint) {
    lines.push_back(Line("model_fingerprint", facts.model_fingerprint, asked.model_fingerprint,
                         StrCat("it was another model: give --model ", facts.job.model)));
  }
  if (facts.data_fingerprint != asked.data_fingerprint) {
    lines.push_back(Line("data_fingerprint", facts.data_fingerprint, asked.data_fingerprint,
                         StrCat("the data or how it is read has changed: give it as it was, from ",
                                facts.job.data, ", or start a new run from the weights")));
  }
  if (const std::string trained = TrainedDifference(saved, asked); !trained.empty()) {
    lines.push_back(trained);
  }
  const Value::Object before = FieldsOf(facts.job);
  const Value::Object now = FieldsOf(asked.job);
  CHECK(before.size() == now.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const auto& [field, value] = before[i];
    const std::string was = FieldText(value);
    const std::string is = FieldText(now[i].second);
    if (was == is || MayDiffer(field, saved, asked)) continue;
    lines.push_back(Line(field, was, is, Remedy(field, was, saved, asked)));
  }
  return lines;
}

bool SameSchedule(const TrainingJob& a, const TrainingJob& b) {
  return a.steps == b.steps && a.learning_rate == b.learning_rate &&
         a.learning_rate_schedule == b.learning_rate_schedule && a.warmup_steps == b.warmup_steps;
}

absl::Status CheckResumable(const std::string& path, const Manifest& saved, const AskedRun& asked) {
  if (saved.mode == SaveMode::kWeights) {
    return absl::InvalidArgumentError(StrCat("cannot resume from '", path,
                                             "': it holds the weights alone (--save weights); ",
                                             "horizon export ", path,
                                             " --output FOLDER makes a model of it, and --model "
                                             "FOLDER starts a new run from that"));
  }
  const std::vector<std::string> lines = DescribeDifferences(saved, asked);
  if (lines.empty()) return absl::OkStatus();
  std::string message =
      StrCat("cannot resume from '", path, "': it belongs to a run with other numbers");
  for (const std::string& line : lines) message += StrCat("\n  ", line);
  return absl::InvalidArgumentError(message);
}

absl::Status CheckFrozenBase(const std::string& run, const std::vector<FrozenTensor>& began,
                             const std::vector<FrozenTensor>& found) {
  const auto refuse = [&](const std::string& what) {
    return absl::InvalidArgumentError(StrCat("the frozen tensors are not those that '", run,
                                             "' was trained with: ", what,
                                             "; give the model as it was when the run began"));
  };
  if (found.size() != began.size()) {
    return refuse(StrCat("it began with ", began.size(), " frozen tensors, the model given has ",
                         found.size()));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == began[i]) continue;
    return refuse(StrCat(found[i].name, " has CRC-32C ", Crc32cText(found[i].crc32c), ", and had ",
                         Crc32cText(began[i].crc32c)));
  }
  return absl::OkStatus();
}

}  // namespace horizon
