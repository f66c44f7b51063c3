#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/options/data_options.h"
#include "app/options/inference_options.h"
#include "common/documents/json.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/chat/chat_encoder.h"
#include "model/load_model_spec.h"
#include "runtime/inference/generator.h"
#include "runtime/parameters/model_source.h"

namespace horizon {
namespace {

constexpr Bytes kLongestPrompt = 16_MiB;

double InSeconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

class GenerateCommand : public Command {
 public:
  std::string_view name() const override { return "generate"; }
  CommandGroup group() const override { return CommandGroup::kTrain; }
  std::string_view summary() const override {
    return "Continue a text, or answer a question, with a model";
  }
  std::string_view details() const override {
    return "The generated text goes to standard output token by token, without the prompt; figures "
           "go to the log. Weights that do not fit in device memory are streamed for every token. "
           "With --temperature 0 the most likely token is always taken; otherwise tokens are drawn "
           "at random, and the same --seed gives the same text whatever the memory, link or "
           "threads.";
  }
  OptionList Options() override {
    OptionList list;
    AddTextOptions(list);
    AddSamplingOptions(list);
    inference_.AddTo(list);
    list.options.push_back({.name = "json", .value = &json_, .help = "Answer in JSON, at the end"});
    return list;
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const ModelConfig config, LoadModelSpec(context.io, model_));
    RETURN_IF_ERROR(PrepareText(context, config.spec));
    ASSIGN_OR_RETURN(const ParameterStore::Source source,
                     OpenModelSource(context.io, model_, config.spec));
    const auto prompt = static_cast<int64_t>(prompt_ids_.size());
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, inference_.device));
    GenerationSetup setup{.device = device.name.kind,
                          .compute_type = inference_.compute_type(),
                          .longest_prompt = prompt};
    ASSIGN_OR_RETURN(setup.capacity, CapacityFor(config.spec, prompt));
    ASSIGN_OR_RETURN(
        const InferencePlace place,
        PrepareInference(context, inference_, device, config.spec, [&](const StreamPlan& plan) {
          GenerationSetup with_plan = setup;
          with_plan.plan = plan;
          return GenerationBytes(config.spec, with_plan);
        }));
    setup.plan = place.plan.plan;
    ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator,
                     Generator::Create(config.spec, setup, place.Environment(context)));
    RETURN_IF_ERROR(generator->store().Fill(source));
    return Generate(context, *generator);
  }

 private:
  void AddTextOptions(OptionList& list) {
    const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
    add({.name = "model",
         .value = &model_,
         .unit = "folder",
         .help = "Hugging Face folder with config.json, safetensors and tokenizer.json",
         .required = true,
         .words = WordKind::kFolder});
    add({.name = "prompt", .value = &prompt_, .unit = "text", .help = "Text to continue"});
    add({.name = "prompt-file",
         .value = &prompt_file_,
         .unit = "file",
         .help = "File with the text to continue"});
    add({.name = "chat",
         .value = &chat_,
         .help = "Treat the prompt as a user's message, formatted by the model's chat template"});
    add({.name = "system",
         .value = &system_,
         .unit = "text",
         .help = "System message before the prompt (with --chat)"});
    data_.chat.AddTo(list);
    add({.name = "tokenizer",
         .value = &data_.tokenizer,
         .unit = "which",
         .help = "Tokenizer: the model folder's tokenizer.json, or one token per byte",
         .choices = {"model", "byte"}});
    add({.name = "max-tokens",
         .value = &options_.max_tokens,
         .unit = "tokens",
         .help = "Most tokens to generate",
         .minimum = 1,
         .maximum = int64_t{1} << 30});
  }

  void AddSamplingOptions(OptionList& list) {
    const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
    SamplingOptions& sampling = options_.sampling;
    add({.name = "temperature",
         .value = &sampling.temperature,
         .unit = "factor",
         .help = "Sampling temperature; 0 always takes the most likely token",
         .group = "Sampling"});
    add({.name = "top-k",
         .value = &sampling.top_k,
         .unit = "tokens",
         .help = "Sample from this many of the most likely tokens only; 0 samples from all",
         .minimum = 0,
         .group = "Sampling"});
    add({.name = "top-p",
         .value = &sampling.top_p,
         .unit = "share",
         .help = "Sample from the fewest most likely tokens whose probabilities sum to this share",
         .group = "Sampling"});
    add({.name = "repetition-penalty",
         .value = &sampling.repetition_penalty,
         .unit = "factor",
         .help = "Repetition penalty; above 1, tokens that the text already has become less likely",
         .group = "Sampling"});
    add({.name = "seed",
         .value = &seed_,
         .unit = "number",
         .help = "Random seed for sampling",
         .minimum = 0,
         .group = "Sampling"});
  }

  // Reads and checks all that is cheap, before any weight is read.
  absl::Status PrepareText(const CommandContext& context, const ModelSpec& spec) {
    options_.sampling.seed = static_cast<uint64_t>(seed_);
    RETURN_IF_ERROR(ValidateSampling(options_.sampling));
    if (prompt_.has_value() == prompt_file_.has_value()) {
      return absl::InvalidArgumentError("give the prompt by one of --prompt and --prompt-file");
    }
    if (system_.has_value() && !chat_) {
      return absl::InvalidArgumentError("--system belongs to a conversation: add --chat");
    }
    std::string text = prompt_.value_or("");
    if (prompt_file_.has_value()) {
      ASSIGN_OR_RETURN(text, ReadTextFile(context.io, *prompt_file_, kLongestPrompt));
    }
    ASSIGN_OR_RETURN(tokenizer_, TokenizerFor(context.io, data_.tokenizer_choice(), model_));
    if (tokenizer_.tokenizer == nullptr) {
      return absl::NotFoundError(
          StrCat(model_, " has no tokenizer.json: add it, or use --tokenizer byte"));
    }
    if (tokenizer_.tokenizer->id_limit() > spec.vocab && data_.tokenizer == "byte") {
      return absl::InvalidArgumentError(
          StrCat("--tokenizer byte has ", tokenizer_.tokenizer->id_limit(),
                 " tokens; the vocabulary of ", spec.name, " has ", spec.vocab));
    }
    RETURN_IF_ERROR(chat_ ? EncodeConversation(context, text) : EncodeText(context.io, text));
    if (prompt_ids_.empty()) {
      return absl::InvalidArgumentError(
          "the prompt has no tokens: a model needs one to go on with");
    }
    return absl::OkStatus();
  }

  absl::Status EncodeText(Io& io, const std::string& text) {
    const Tokenizer& tokenizer = *tokenizer_.tokenizer;
    prompt_ids_.assign(tokenizer.Prefix().begin(), tokenizer.Prefix().end());
    RETURN_IF_ERROR(tokenizer.Encode(text, {}, prompt_ids_));
    ASSIGN_OR_RETURN(options_.end_ids, EndIdsOf(io, model_, tokenizer_, nullptr));
    return absl::OkStatus();
  }

  absl::Status EncodeConversation(const CommandContext& context, const std::string& text) {
    ASSIGN_OR_RETURN(const ChatChoice choice, data_.chat.ToChoice(context));
    ASSIGN_OR_RETURN(const ChatEncoder chat, MakeChatEncoder(tokenizer_, choice));
    Conversation conversation;
    if (system_.has_value()) conversation.messages.push_back(TextMessage("system", *system_));
    conversation.messages.push_back(TextMessage("user", text));
    ASSIGN_OR_RETURN(EncodedChat prompt, chat.Encode(conversation, GenerationPrompt::kWith));
    prompt_ids_ = std::move(prompt.ids);
    ASSIGN_OR_RETURN(options_.end_ids, EndIdsOf(context.io, model_, tokenizer_, &chat));
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> CapacityFor(const ModelSpec& spec, int64_t prompt) const {
    if (prompt >= spec.max_positions) {
      return absl::InvalidArgumentError(StrCat("the prompt has ", prompt, " tokens; ", spec.name,
                                               " has ", spec.max_positions,
                                               " positions, for prompt and answer together"));
    }
    return std::min(spec.max_positions, prompt + options_.max_tokens);
  }

  absl::Status Generate(const CommandContext& context, Generator& generator) {
    const StopSignals signals;
    TextStream stream(*tokenizer_.tokenizer);
    std::string text;
    absl::Status written;
    const auto give = [&](const std::string& piece) {
      text += piece;
      if (!json_ && !piece.empty()) {
        // A program gets what the model wrote; a terminal would obey it.
        written = context.output.on_terminal() ? context.output.Write(piece)
                                               : context.output.WriteRaw(piece);
      }
      return written.ok();
    };
    const std::vector<std::vector<int32_t>> prompts = {prompt_ids_};
    ASSIGN_OR_RETURN(const std::vector<Answer> answers,
                     generator.Generate(prompts, options_, [&](size_t, int32_t id) {
                       return give(stream.Push(id)) && !signals.requested();
                     }));
    if (written.ok()) give(stream.Finish());
    RETURN_IF_ERROR(written);
    if (json_) return context.output.Write(Json(answers[0], text, generator.times()));
    RETURN_IF_ERROR(context.output.Write("\n"));
    context.log.Info(Figures(answers[0], generator.times()));
    return absl::OkStatus();
  }

  static double Rate(int64_t tokens, Nanoseconds time) {
    return time.count() > 0 ? static_cast<double>(tokens) / InSeconds(time) : 0;
  }

  static std::string Figures(const Answer& answer, const GenerationTimes& times) {
    std::string text = StrCat(answer.ids.size(), " tokens (", std::string(ToString(answer.reason)),
                              "); prompt of ", times.prompt_tokens, " tokens in ",
                              ToString(Seconds{InSeconds(times.prompt)}));
    if (times.answer_tokens > 0) {
      const int64_t tenths = std::lround(10 * Rate(times.answer_tokens, times.answer));
      text += StrCat(", then ", tenths / 10, ".", tenths % 10, " tokens/s");
    }
    return text;
  }

  std::string Json(const Answer& answer, const std::string& text,
                   const GenerationTimes& times) const {
    JsonWriter json;
    json.BeginObject().Key("text").String(text).Key("ids").BeginArray();
    for (const int32_t id : answer.ids) json.Integer(id);
    json.EndArray().Key("finish").String(ToString(answer.reason));
    json.Key("prompt_ids").BeginArray();
    for (const int32_t id : prompt_ids_) json.Integer(id);
    json.EndArray().Key("prompt_seconds").Number(InSeconds(times.prompt));
    json.Key("answer_seconds").Number(InSeconds(times.answer));
    json.Key("tokens_per_second").Number(Rate(times.answer_tokens, times.answer)).EndObject();
    return std::move(json).Finish();
  }

  std::string model_;
  std::optional<std::string> prompt_;
  std::optional<std::string> prompt_file_;
  bool chat_ = false;
  std::optional<std::string> system_;
  DataFlags data_;
  InferenceFlags inference_;
  // Near what chat models recommend of themselves.
  GenerateOptions options_{.sampling = {.temperature = 0.7, .top_p = 0.95}};
  int64_t seed_ = 0;
  bool json_ = false;
  // Made by PrepareText.
  ModelTokenizer tokenizer_;
  std::vector<int32_t> prompt_ids_;
};

}  // namespace

std::unique_ptr<Command> MakeGenerateCommand() { return std::make_unique<GenerateCommand>(); }

}  // namespace horizon
