#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/answers/exact_match.h"
#include "app/commands/commands.h"
#include "app/options/data_options.h"
#include "app/options/inference_options.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "runtime/data/training_data.h"
#include "runtime/inference/evaluate.h"
#include "runtime/parameters/model_source.h"
#include "schedule/build/build_schedule.h"

namespace horizon {
namespace {

class EvalCommand : public Command {
 public:
  std::string_view name() const override { return "eval"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Measure loss and perplexity of a model on data, and count right answers";
  }
  std::string_view details() const override {
    return "The loss is the mean over all tokens that training would learn; in conversations these "
           "are the answers. With --exact-match, the model also answers the last question of every "
           "conversation by greedy decoding. It reports two scores: exact text match, and match of "
           "the last number.";
  }
  OptionList Options() override {
    OptionList list;
    const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
    add({.name = "model",
         .value = &model_,
         .unit = "folder",
         .help = "Hugging Face folder with config.json, safetensors and tokenizer.json",
         .required = true,
         .words = WordKind::kFolder});
    add({.name = "data",
         .value = &files_,
         .unit = "file or folder",
         .help = "Data to evaluate on; may be given several times",
         .required = true,
         .words = WordKind::kFile});
    add({.name = "sequence",
         .value = &sequence_,
         .unit = "tokens",
         .help = "Sequence length of a row in tokens (default 1024, or the model's limit)",
         .minimum = 2,
         .maximum = int64_t{1} << 28});
    add({.name = "micro-batch",
         .value = &micro_batch_,
         .unit = "rows",
         .help = "Rows computed at once",
         .minimum = 1,
         .maximum = 1 << 16});
    data_.AddTo(list);
    add({.name = "exact-match",
         .value = &exact_match_,
         .help = "Answer the questions too, and count the right answers",
         .group = "Answers"});
    add({.name = "max-tokens",
         .value = &match_.max_tokens,
         .unit = "tokens",
         .help = "Most tokens of an answer",
         .minimum = 1,
         .maximum = int64_t{1} << 30,
         .group = "Answers"});
    add({.name = "limit",
         .value = &match_.limit,
         .unit = "questions",
         .help = "Number of questions to answer at most",
         .minimum = 1,
         .maximum = 1'000'000,
         .group = "Answers"});
    add({.name = "batch",
         .value = &match_.batch,
         .unit = "questions",
         .help = "Questions answered at once",
         .minimum = 1,
         .maximum = 4096,
         .group = "Answers"});
    add({.name = "show",
         .value = &match_.show,
         .unit = "answers",
         .help = "Number of wrong answers to show",
         .minimum = 0,
         .maximum = 1000,
         .group = "Answers"});
    inference_.AddTo(list);
    add({.name = "json", .value = &json_, .help = "Answer in JSON"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_));
    const ModelSpec& spec = config.spec;
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, inference_.device));
    ASSIGN_OR_RETURN(DataSettings settings, data_.ToSettings(context, ".horizon-tokens"));
    settings.shuffle = false;
    ASSIGN_OR_RETURN(const ModelTokenizer tokenizer,
                     TokenizerFor(context.io, settings.tokenizer, model_));
    const int64_t sequence = sequence_.value_or(std::min<int64_t>(1024, spec.max_positions));
    ASSIGN_OR_RETURN(DataOptions options,
                     DataOptionsFrom(context.io, settings, tokenizer, spec, sequence));
    ASSIGN_OR_RETURN(options.files.paths, DataFilesOf(context.io, context.log, files_));
    std::optional<Questions> questions;
    if (exact_match_) {
      ASSIGN_OR_RETURN(questions, ReadQuestions(context.io, options.files, match_));
      // Prompts that are texts need no template.
      const absl::StatusOr<ChatEncoder>& chat = options.files.tokenise.chat;
      ASSIGN_OR_RETURN(questions->end_ids,
                       EndIdsOf(context.io, model_, tokenizer, chat.ok() ? &*chat : nullptr));
    }
    ASSIGN_OR_RETURN(const ParameterStore::Source source,
                     OpenModelSource(context.io, model_, spec));
    ASSIGN_OR_RETURN(
        TrainingData data,
        OpenEvaluationData(context.io, options, LoggingListener(context.clock, context.log)));
    ASSIGN_OR_RETURN(const Evaluation loss,
                     EvaluateLoss(context, device, spec, sequence, source, data));
    MatchReport matches;
    if (exact_match_) {
      ASSIGN_OR_RETURN(matches, AnswerQuestions(context, inference_, device, spec, source, match_,
                                                *questions, *tokenizer.tokenizer));
    }
    return context.output.Write(json_ ? Json(loss, data.eval_statistics, matches)
                                      : Text(loss, data.eval_statistics, matches));
  }

 private:
  absl::StatusOr<Evaluation> EvaluateLoss(const CommandContext& context, const ChosenDevice& device,
                                          const ModelSpec& spec, int64_t sequence,
                                          const ParameterStore::Source& source,
                                          TrainingData& data) const {
    TrainingJob job;
    PlaceOn(device.name.kind, job);
    job.sequence = sequence;
    job.micro_batch = micro_batch_;
    job.compute_type = inference_.compute_type();
    job.optimizer_place = OptimizerPlace::kAfterStep;  // every strategy has it
    ASSIGN_OR_RETURN(
        const InferencePlace place,
        PrepareInference(context, inference_, device, spec,
                         [&](const StreamPlan& plan) -> absl::StatusOr<InferenceBytes> {
                           ASSIGN_OR_RETURN(const Schedule schedule,
                                            BuildSchedule(spec, job, plan, PassKind::kEvaluate));
                           const MemoryTotals& totals = schedule.memory.totals;
                           return InferenceBytes{
                               .device = totals[static_cast<size_t>(Memory::kDevice)],
                               .host = totals[static_cast<size_t>(Memory::kPinned)] +
                                       totals[static_cast<size_t>(Memory::kHost)]};
                         }));
    ASSIGN_OR_RETURN(
        const std::unique_ptr<ModelPass> pass,
        ModelPass::Create(
            {.spec = spec, .job = job, .plan = place.plan.plan, .kind = PassKind::kEvaluate},
            place.Environment(context)));
    RETURN_IF_ERROR(pass->store().Fill(source));
    const auto next = [&]() -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
      if (data.eval->at_end()) return std::nullopt;
      std::vector<TokenRecord> records(static_cast<size_t>(job.micro_batch_tokens()));
      RETURN_IF_ERROR(data.eval->Fill(records).status());
      return records;
    };
    return Evaluate(*pass, next);
  }

  std::string Text(const Evaluation& loss, const DataStatistics& data,
                   const MatchReport& matches) const {
    std::string text =
        StrCat("loss ", Fixed(loss.loss()), ", perplexity ", Fixed(loss.perplexity()), " over ",
               loss.counted, " tokens of ", data.samples, " samples\n");
    if (data.truncated > 0) {
      text += StrCat(data.truncated, " samples are longer than a row and were cut\n");
    }
    return exact_match_ ? text + MatchText(matches) : text;
  }

  // Four places behind the point.
  static std::string Fixed(double value) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.4f", value);
    return text;
  }

  std::string Json(const Evaluation& loss, const DataStatistics& data,
                   const MatchReport& matches) const {
    JsonWriter json;
    json.BeginObject().Key("loss").Number(loss.loss()).Key("perplexity").Number(loss.perplexity());
    json.Key("tokens").Integer(loss.counted).Key("samples").Integer(data.samples);
    json.Key("truncated").Integer(data.truncated).Key("bad_lines").Integer(data.bad_lines);
    if (exact_match_) {
      json.Key("exact_match");
      WriteMatches(matches, json);
    }
    json.EndObject();
    return std::move(json).Finish();
  }

  std::string model_;
  std::vector<std::string> files_;
  std::optional<int64_t> sequence_;
  int64_t micro_batch_ = 1;
  DataFlags data_;
  bool exact_match_ = false;
  MatchOptions match_;
  InferenceFlags inference_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeEvalCommand() { return std::make_unique<EvalCommand>(); }

}  // namespace horizon
