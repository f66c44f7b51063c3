#include "app/answers/exact_match.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "app/answers/answer_match.h"
#include "common/progress.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "model/chat/chat_encoder.h"
#include "runtime/data/records/read_conversation.h"
#include "runtime/data/records/record_stream.h"
#include "runtime/data/sample.h"
#include "runtime/inference/generator.h"

namespace horizon {
namespace {

// What a message says in words; a list of parts is joined.
absl::StatusOr<std::string> WordsOf(const ChatMessage& message) {
  const Value* content = message.Find("content");
  std::string words;
  if (content != nullptr) RETURN_IF_ERROR(ReadTextParts(*content, "content", words));
  return words;
}

// The last answer of a conversation is expected behind the messages before it.
absl::StatusOr<Question> QuestionOf(Conversation& conversation, const TokeniseOptions& options) {
  if (conversation.messages.back().role() != "assistant" || conversation.messages.size() < 2) {
    return absl::InvalidArgumentError(
        "the last message is not the assistant's: there is no answer to compare with");
  }
  Question question;
  ASSIGN_OR_RETURN(question.expected, WordsOf(conversation.messages.back()));
  conversation.messages.pop_back();
  ASSIGN_OR_RETURN(question.text, WordsOf(conversation.messages.back()));
  RETURN_IF_ERROR(options.chat.status());
  ASSIGN_OR_RETURN(EncodedChat prompt, options.chat->Encode(conversation, GenerationPrompt::kWith));
  question.prompt = std::move(prompt.ids);
  return question;
}

// A prompt without a template: the model goes on with it.
absl::StatusOr<Question> PromptOf(const Sample& sample, const TokeniseOptions& options) {
  Question question;
  question.text = sample.text.substr(0, sample.prompt_bytes);
  question.expected = sample.text.substr(sample.prompt_bytes);
  const std::span<const int32_t> prefix = options.tokenizer->Prefix();
  question.prompt.assign(prefix.begin(), prefix.end());
  RETURN_IF_ERROR(options.tokenizer->Encode(question.text, {}, question.prompt));
  if (question.prompt.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  return question;
}

absl::StatusOr<Question> ReadQuestion(const DataRecord& record, std::optional<DataKind>& kind,
                                      const TokeniseOptions& options) {
  if (!record.problem.empty()) return absl::InvalidArgumentError(record.problem);
  if (!kind.has_value()) {
    ASSIGN_OR_RETURN(kind, DetectKind(record.text));
    RETURN_IF_ERROR(CheckKind(*kind, options));
  }
  if (!IsConversation(*kind) && *kind != DataKind::kPromptCompletion) {
    return absl::InvalidArgumentError(
        StrCat("a record of kind ", std::string(ToString(*kind)),
               " has no question to answer: --exact-match needs conversations"));
  }
  Sample sample;
  RETURN_IF_ERROR(ParseSample(record.text, *kind,
                              {.sequence = options.sequence, .vocab = options.vocab}, sample));
  if (sample.conversation.messages.empty()) return PromptOf(sample, options);
  return QuestionOf(sample.conversation, options);
}

// For people: further lines below the first, and nothing that moves the terminal's cursor.
std::string Shown(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n') {
      shown += "\n            ";
    } else {
      shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return shown;
}

void Count(const Question& question, const std::string& answer, int64_t show, MatchReport& report) {
  const bool same_text = SameText(answer, question.expected);
  const std::optional<double> expected = LastNumber(question.expected);
  const bool same_number = expected.has_value() && LastNumber(answer) == expected;
  ++report.questions;
  report.same_text += same_text ? 1 : 0;
  report.numbers += expected.has_value() ? 1 : 0;
  report.same_number += same_number ? 1 : 0;
  const bool wrong = expected.has_value() ? !same_number : !same_text;
  if (wrong && static_cast<int64_t>(report.wrong.size()) < show) {
    report.wrong.push_back({question.text, question.expected, answer});
  }
}

}  // namespace

absl::StatusOr<Questions> ReadQuestions(Io& io, const DataFiles& files,
                                        const MatchOptions& options) {
  Questions questions;
  for (const std::string& path : files.paths) {
    ASSIGN_OR_RETURN(RecordStream stream, RecordStream::Open(io, path));
    if (stream.layout() == DataLayout::kText) {
      return absl::InvalidArgumentError(
          StrCat(path, " is plain text: --exact-match needs conversations"));
    }
    std::optional<DataKind> kind = files.kind;
    if (kind.has_value()) RETURN_IF_ERROR(CheckKind(*kind, files.tokenise));
    DataRecord record;
    while (static_cast<int64_t>(questions.list.size()) < options.limit) {
      ASSIGN_OR_RETURN(const bool more, stream.Next(record));
      if (!more) break;
      absl::StatusOr<Question> question = ReadQuestion(record, kind, files.tokenise);
      if (question.ok()) {
        questions.list.push_back(*std::move(question));
      } else if (files.on_bad_line == OnBadLine::kSkip &&
                 absl::IsInvalidArgument(question.status())) {
        ++questions.bad_lines;
      } else {
        return absl::Status(
            question.status().code(),
            StrCat(stream.Where(record), ": ", std::string(question.status().message())));
      }
    }
  }
  return questions;
}

absl::StatusOr<MatchReport> AnswerQuestions(const CommandContext& context,
                                            const InferenceFlags& flags, const ChosenDevice& device,
                                            const ModelSpec& spec,
                                            const ParameterStore::Source& source,
                                            const MatchOptions& options, const Questions& questions,
                                            const Tokenizer& tokenizer) {
  MatchReport report{.bad_lines = questions.bad_lines};
  std::vector<const Question*> asked;
  size_t longest = 1;
  for (const Question& question : questions.list) {
    if (static_cast<int64_t>(question.prompt.size()) >= spec.max_positions) {
      ++report.too_long;
      Count(question, "", 0, report);
      continue;
    }
    asked.push_back(&question);
    longest = std::max(longest, question.prompt.size());
  }
  if (asked.empty()) return report;
  GenerationSetup setup{
      .device = device.name.kind,
      .compute_type = flags.compute_type(),
      .batch = std::min<int64_t>(options.batch, static_cast<int64_t>(asked.size())),
      .capacity = std::min(spec.max_positions, static_cast<int64_t>(longest) + options.max_tokens),
      .longest_prompt = static_cast<int64_t>(longest)};
  ASSIGN_OR_RETURN(const InferencePlace place,
                   PrepareInference(context, flags, device, spec, [&](const StreamPlan& plan) {
                     GenerationSetup with_plan = setup;
                     with_plan.plan = plan;
                     return GenerationBytes(spec, with_plan);
                   }));
  setup.plan = place.plan.plan;
  ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator,
                   Generator::Create(spec, setup, place.Environment(context)));
  RETURN_IF_ERROR(generator->store().Fill(source));
  Progress progress(context.log, context.clock,
                    {.what = "answering the questions", .total = asked.size()});
  for (size_t begin = 0; begin < asked.size(); begin += static_cast<size_t>(setup.batch)) {
    const size_t end = std::min(asked.size(), begin + static_cast<size_t>(setup.batch));
    std::vector<std::vector<int32_t>> prompts;
    for (size_t i = begin; i < end; ++i) prompts.push_back(asked[i]->prompt);
    ASSIGN_OR_RETURN(const std::vector<Answer> answers,
                     generator->Generate(prompts, {.max_tokens = options.max_tokens,
                                                   .end_ids = questions.end_ids}));
    for (size_t i = begin; i < end; ++i) {
      Count(*asked[i], tokenizer.Decode(answers[i - begin].ids, Tokenizer::SpecialTokens::kSkip),
            options.show, report);
    }
    progress.Update(end);
  }
  return report;
}

std::string MatchText(const MatchReport& report) {
  std::string text =
      StrCat("exact match ", Percent(Share(report.same_text, report.questions), 1), ": ",
             report.same_text, " of ", report.questions, " answers have the expected text\n");
  if (report.numbers > 0) {
    text += StrCat("number match ", Percent(Share(report.same_number, report.numbers), 1), ": ",
                   report.same_number, " of ", report.numbers,
                   " answers end with the expected number\n");
  }
  if (report.too_long > 0) {
    text += StrCat(report.too_long, " questions leave no room for an answer\n");
  }
  for (const MatchReport::Wrong& wrong : report.wrong) {
    text += StrCat("  question  ", Shown(wrong.question), "\n  expected  ", Shown(wrong.expected),
                   "\n  answer    ", Shown(wrong.answer), "\n");
  }
  return text;
}

void WriteMatches(const MatchReport& report, JsonWriter& json) {
  json.BeginObject().Key("questions").Integer(report.questions);
  json.Key("same_text").Integer(report.same_text);
  json.Key("same_text_share").Number(Share(report.same_text, report.questions));
  json.Key("numbers").Integer(report.numbers).Key("same_number").Integer(report.same_number);
  json.Key("same_number_share").Number(Share(report.same_number, report.numbers));
  json.Key("too_long").Integer(report.too_long).Key("bad_lines").Integer(report.bad_lines);
  json.Key("wrong").BeginArray();
  for (const MatchReport::Wrong& wrong : report.wrong) {
    json.BeginObject().Key("question").String(wrong.question);
    json.Key("expected").String(wrong.expected).Key("answer").String(wrong.answer).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace horizon
