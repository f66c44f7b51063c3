#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/run_lock.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {
namespace {

enum class CheckpointAction { kVerify, kShow, kPrune };

constexpr EnumWord<CheckpointAction> kActionWords[] = {{CheckpointAction::kVerify, "verify"},
                                                       {CheckpointAction::kShow, "show"},
                                                       {CheckpointAction::kPrune, "prune"}};

std::span<const EnumWord<CheckpointAction>> WordsOf(CheckpointAction) { return kActionWords; }

// How often the checkpoints of a run are listed that removes them while they are read.
constexpr int kMostAttempts = 100;

// What reading all of a checkpoint gave.
struct Verified {
  std::string path;
  std::optional<Manifest> manifest;  // where it opens
  Seconds seconds;
  absl::Status status;
};

// The paths meant by one: a checkpoint itself, or those of a run, highest step first.
absl::StatusOr<std::vector<std::string>> CheckpointsAt(Io& io, const std::string& path) {
  const bool is_checkpoint =
      io.Info(JoinPath(path, kManifestFile)).ok() || StepOfName(BaseName(path)).has_value();
  if (is_checkpoint) return std::vector<std::string>{path};
  ASSIGN_OR_RETURN(const std::vector<FoundCheckpoint> found, FindCheckpoints(io, path));
  if (found.empty()) {
    return absl::NotFoundError(StrCat("there is no checkpoint in '", path,
                                      "'; give the folder of a run (--output of train) or of one ",
                                      "checkpoint in it"));
  }
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (const FoundCheckpoint& checkpoint : found) paths.push_back(checkpoint.path);
  return paths;
}

Verified Verify(Io& io, Clock& clock, const std::string& path) {
  const Nanoseconds start = clock.Now();
  Verified result{.path = path};
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(io, path);
  result.status = checkpoint.status();
  if (checkpoint.ok()) {
    result.manifest = checkpoint->manifest();
    result.status = checkpoint->VerifyPayload();
  }
  result.seconds = {std::chrono::duration<double>(clock.Now() - start).count()};
  return result;
}

// Whether a checkpoint was removed since it was found.
bool IsGone(Io& io, const std::string& path) { return absl::IsNotFound(io.Info(path).status()); }

// The first error with a count in its place: the answer has each of them, and an error is told
// once.
absl::Status NotWhole(const std::vector<Verified>& all) {
  const auto is_bad = [](const Verified& one) { return !one.status.ok(); };
  const auto first = std::find_if(all.begin(), all.end(), is_bad);
  if (first == all.end()) return absl::OkStatus();
  const auto bad = std::count_if(all.begin(), all.end(), is_bad);
  return WithMessage(
      first->status,
      StrCat(bad, " of ", all.size(), all.size() == 1 ? " checkpoint" : " checkpoints",
             bad == 1 ? " is" : " are", " not whole; the answer says why"));
}

std::string VerifyText(const std::vector<Verified>& all) {
  std::string text;
  for (const Verified& one : all) {
    if (!one.status.ok()) {
      text += StrCat(one.path, ": NOT WHOLE: ", one.status.message(), "\n");
      continue;
    }
    const Bytes bytes = one.manifest->total_bytes();
    text += StrCat(one.path, ": whole, ", ToString(one.manifest->mode), ", ", ToString(bytes),
                   " in ", one.manifest->files.size(), " files, read in ", ToString(one.seconds));
    if (one.seconds.value > 0) {
      const double rate = static_cast<double>(bytes.value()) / one.seconds.value;
      text += StrCat(" (", ToString(BytesPerSecond{rate}), ")");
    }
    text += "\n";
  }
  return text;
}

std::string VerifyJson(const std::vector<Verified>& all) {
  JsonWriter json;
  bool whole = true;
  json.BeginObject().Key("checkpoints").BeginArray();
  for (const Verified& one : all) {
    whole = whole && one.status.ok();
    json.BeginObject().Key("path").String(one.path).Key("whole").Bool(one.status.ok());
    if (one.manifest.has_value()) {
      json.Key("step").Integer(one.manifest->step);
      json.Key("mode").String(ToString(one.manifest->mode));
      json.Key("bytes").Unsigned(one.manifest->total_bytes().value());
      json.Key("files").Unsigned(one.manifest->files.size());
    }
    json.Key("seconds").Number(one.seconds.value);
    if (!one.status.ok()) json.Key("problem").String(StrCat(one.status.message()));
    json.EndObject();
  }
  json.EndArray().Key("whole").Bool(whole).EndObject();
  return std::move(json).Finish();
}

struct PartSum {
  uint64_t tensors = 0;
  Bytes bytes;
};

std::map<StatePart, PartSum> SumByPart(const Manifest& manifest) {
  std::map<StatePart, PartSum> sums;
  for (const TensorRecord& tensor : manifest.tensors) {
    PartSum& sum = sums[tensor.part];
    ++sum.tensors;
    sum.bytes += tensor.bytes;
  }
  return sums;
}

std::string LossText(const std::optional<double>& loss) {
  return loss.has_value() ? StrCat(*loss) : "none";
}

std::string ShowText(const Checkpoint& checkpoint) {
  const Manifest& manifest = checkpoint.manifest();
  const CheckpointFacts& facts = manifest.facts;
  const TrainingJob& job = facts.job;
  const RunCounters& counters = facts.counters;
  std::string text = StrCat(checkpoint.path(), "\n", "step ", manifest.step, " of ", job.steps,
                            ", ", ToString(manifest.mode), ", ", ToString(manifest.total_bytes()),
                            " in ", manifest.files.size(), " files\n", "job: model ", job.model,
                            ", data ", job.data, ", ", job.accumulation, " x ", job.micro_batch,
                            " x ", job.sequence, " tokens a step, state ",
                            ToString(job.state_format), ", learning rate ", job.learning_rate, " ",
                            ToString(job.learning_rate_schedule), ", seed ", job.seed, "\n");
  text += StrCat("plan: strategy ", ToString(facts.plan.strategy), ", chunks of ",
                 ToString(facts.plan.chunk_bytes), ", buffer depth ", facts.plan.buffer_depth,
                 ", anchor interval ", facts.plan.anchor_interval, "\n");
  text += StrCat("data: epoch ", facts.data_position.epoch, ", position ",
                 facts.data_position.index, ", content ", facts.data_fingerprint, "\n");
  text += StrCat("loss: first ", LossText(counters.first_loss), ", best ",
                 LossText(counters.best_loss), ", last ", LossText(counters.last_loss), "; ",
                 WithCommas(static_cast<uint64_t>(counters.tokens)), " tokens seen, ",
                 counters.skipped_steps, " steps skipped\n\n");
  TextTable table({"part", "tensors", "bytes"});
  for (const auto& [part, sum] : SumByPart(manifest)) {
    table.AddRow({std::string(ToString(part)), StrCat(sum.tensors), ToString(sum.bytes)});
  }
  return StrCat(text, std::move(table).Finish());
}

void ShowJson(const Checkpoint& checkpoint, JsonWriter& json) {
  const Manifest& manifest = checkpoint.manifest();
  const CheckpointFacts& facts = manifest.facts;
  json.BeginObject().Key("path").String(checkpoint.path()).Key("step").Integer(manifest.step);
  json.Key("mode").String(ToString(manifest.mode));
  json.Key("bytes").Unsigned(manifest.total_bytes().value());
  json.Key("job");
  WriteJob(facts.job, json);
  json.Key("plan");
  WritePlan(facts.plan, json);
  json.Key("model_fingerprint").String(facts.model_fingerprint);
  json.Key("data").BeginObject().Key("fingerprint").String(facts.data_fingerprint);
  json.Key("epoch").Integer(facts.data_position.epoch);
  json.Key("index").Integer(facts.data_position.index).EndObject();
  json.Key("tokens").Integer(facts.counters.tokens);
  json.Key("skipped_steps").Integer(facts.counters.skipped_steps);
  json.Key("last_loss");
  if (facts.counters.last_loss.has_value()) {
    json.Number(*facts.counters.last_loss);
  } else {
    json.Null();
  }
  json.Key("parts").BeginObject();
  for (const auto& [part, sum] : SumByPart(manifest)) {
    json.Key(ToString(part)).BeginObject().Key("tensors").Unsigned(sum.tensors);
    json.Key("bytes").Unsigned(sum.bytes).EndObject();
  }
  json.EndObject().Key("files").BeginArray();
  for (const FileRecord& file : manifest.files) {
    json.BeginObject().Key("name").String(file.name).Key("bytes").Unsigned(file.bytes).EndObject();
  }
  json.EndArray().EndObject();
}

void WritePaths(std::string_view key, const std::vector<std::string>& paths, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const std::string& path : paths) json.String(path);
  json.EndArray();
}

class CheckpointCommand : public Command {
 public:
  std::string_view name() const override { return "checkpoint"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Verify, show or prune the checkpoints of a run";
  }
  std::string_view details() const override {
    return "  horizon checkpoint verify RUN   Read every checkpoint and compare its checksums. The "
           "answer names damaged tensors; the exit code is 4 then.\n"
           "  horizon checkpoint show RUN     Show step, job, plan, data position and bytes.\n"
           "  horizon checkpoint prune RUN    Remove all but the --keep newest; refused while a "
           "process trains in that folder.\n"
           "\n"
           "RUN is the output folder of 'horizon train'. verify and show also take the folder of "
           "one checkpoint.";
  }
  OptionList Options() override {
    return {.options = {{.name = "keep",
                         .value = &keep_,
                         .unit = "checkpoints",
                         .help = "Number of newest checkpoints that prune keeps",
                         .minimum = kLeastKept},
                        {.name = "json", .value = &json_, .help = "Answer in JSON"}},
            .positionals = {{.name = "ACTION",
                             .value = &action_,
                             .help = "One of " + WordChoices<CheckpointAction>()},
                            {.name = "PATH",
                             .value = &path_,
                             .help = "Folder of a run or of one checkpoint",
                             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    const absl::StatusOr<CheckpointAction> action = ParseWord<CheckpointAction>(action_);
    if (!action.ok()) {
      return absl::InvalidArgumentError(StrCat("ACTION ", action.status().message()));
    }
    switch (*action) {
      case CheckpointAction::kVerify:
        return VerifyAll(context);
      case CheckpointAction::kShow:
        return Show(context);
      case CheckpointAction::kPrune:
        return Prune(context);
    }
    return absl::OkStatus();
  }

 private:
  // A run that trains meanwhile removes checkpoints and makes new ones. One that goes while it is
  // being read is not damaged: the checkpoints are listed again, for those that took its place.
  absl::Status VerifyAll(const CommandContext& context) {
    std::vector<Verified> all;
    std::set<std::string> verified;
    absl::Status gone;
    bool retry = true;
    for (int attempts = 0; retry && attempts < kMostAttempts; ++attempts) {
      retry = false;
      ASSIGN_OR_RETURN(const std::vector<std::string> paths, CheckpointsAt(context.io, path_));
      for (const std::string& path : paths) {
        if (!verified.insert(path).second) continue;
        Verified one = Verify(context.io, context.clock, path);
        if (!one.status.ok() && IsGone(context.io, path)) {
          gone = one.status;
          retry = true;
        } else {
          all.push_back(std::move(one));
        }
      }
    }
    if (all.empty()) return gone;
    std::sort(all.begin(), all.end(), [](const Verified& a, const Verified& b) {
      return StepOfName(BaseName(a.path)) > StepOfName(BaseName(b.path));
    });
    RETURN_IF_ERROR(context.output.Write(json_ ? VerifyJson(all) : VerifyText(all)));
    return NotWhole(all);
  }

  absl::Status Show(const CommandContext& context) {
    for (int attempts = 1;; ++attempts) {
      ASSIGN_OR_RETURN(const std::vector<std::string> paths, CheckpointsAt(context.io, path_));
      std::string text;
      JsonWriter json;
      absl::Status first;
      absl::Status gone;
      json.BeginObject().Key("checkpoints").BeginArray();
      for (const std::string& path : paths) {
        const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(context.io, path);
        if (checkpoint.ok()) {
          ShowJson(*checkpoint, json);
          text += StrCat(text.empty() ? "" : "\n", ShowText(*checkpoint));
        } else if (IsGone(context.io, path)) {
          gone = checkpoint.status();
        } else if (first.ok()) {
          first = checkpoint.status();
        }
      }
      const bool all_gone = text.empty() && first.ok();
      // A path that names one checkpoint finds no other in its place.
      if (all_gone && (paths.front() == path_ || attempts == kMostAttempts)) return gone;
      if (all_gone) continue;
      json.EndArray().EndObject();
      RETURN_IF_ERROR(context.output.Write(json_ ? std::move(json).Finish() : text));
      return first;
    }
  }

  absl::Status Prune(const CommandContext& context) {
    // Without this a mistaken path would get a file `lock`.
    RETURN_IF_ERROR(CheckpointsAt(context.io, path_).status());
    if (!context.io.Info(JoinPath(path_, kCheckpointsFolder)).ok()) {
      return absl::InvalidArgumentError(
          StrCat("cannot prune '", path_, "': it is one checkpoint; give the folder of its run"));
    }
    ASSIGN_OR_RETURN(const RunLock lock, RunLock::Acquire(context.io, path_));
    ASSIGN_OR_RETURN(const PruneResult result, PruneCheckpoints(context.io, lock, keep_));
    if (json_) {
      JsonWriter json;
      json.BeginObject();
      WritePaths("kept", result.kept, json);
      WritePaths("removed", result.removed, json);
      WritePaths("damaged", result.damaged, json);
      json.EndObject();
      return context.output.Write(std::move(json).Finish());
    }
    std::string text;
    for (const std::string& path : result.removed) text += StrCat("removed ", path, "\n");
    for (const std::string& path : result.damaged) {
      text += StrCat("damaged, not counted: ", path, "\n");
    }
    for (const std::string& path : result.kept) text += StrCat("kept ", path, "\n");
    return context.output.Write(text);
  }

  std::string action_;
  std::string path_;
  int64_t keep_ = kLeastKept;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCheckpointCommand() { return std::make_unique<CheckpointCommand>(); }

}  // namespace horizon
