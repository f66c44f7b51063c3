#include "model/chat/built_in_format.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<BuiltInFormat>, 4> kWords = {{{BuiltInFormat::kChatMl, "chatml"},
                                                            {BuiltInFormat::kLlama3, "llama3"},
                                                            {BuiltInFormat::kMistral, "mistral"},
                                                            {BuiltInFormat::kPlain, "plain"}}};

// @BEGIN@ and @END@ stand for the tokens that begin and end a text.
constexpr std::string_view kRefuseTools = R"({%- if tools %}
    {{- raise_exception('the chat format FORMAT does not write tools') }}
{%- endif %}
{%- for message in messages %}
    {%- if message.tool_calls %}
        {{- raise_exception('the chat format FORMAT does not write tool calls') }}
    {%- endif %}
    {%- if message.content is not string %}
        {{- raise_exception('the chat format FORMAT writes content that is a string only') }}
    {%- endif %}
{%- endfor %}
)";

constexpr std::string_view kChatMl = R"({{- @BEGIN@ }}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)";

constexpr std::string_view kLlama3 = R"({{- '<|begin_of_text|>' }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' }}
    {{- message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

constexpr std::string_view kMistral = R"({%- set ns = namespace(system='', last=-1) %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.system = message.content + '\n\n' %}
    {%- elif message.role == 'user' %}
        {%- set ns.last = loop.index0 %}
    {%- elif message.role != 'assistant' %}
        {{- raise_exception('the chat format mistral writes system, user and assistant only') }}
    {%- endif %}
{%- endfor %}
{{- @BEGIN@ }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '[INST] ' + (ns.system if loop.index0 == ns.last else '') + message.content + '[/INST]' }}
    {%- elif message.role == 'assistant' %}
        {{- ' ' + message.content | trim + @END@ }}
    {%- endif %}
{%- endfor %}
)";

constexpr std::string_view kPlain = R"({{- @BEGIN@ }}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- message.content + @END@ }}
    {%- else %}
        {{- message.content + '\n' }}
    {%- endif %}
{%- endfor %}
)";

std::string ReplaceAll(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A text as a literal of Jinja.
std::string Literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + "'";
}

std::string TokenLiteral(const ModelTokenizer& model, std::optional<int32_t> id) {
  return Literal(id.has_value() ? model.tokenizer->TokenOf(*id) : "");
}

std::string_view TextOf(BuiltInFormat format) {
  switch (format) {
    case BuiltInFormat::kChatMl:
      return kChatMl;
    case BuiltInFormat::kLlama3:
      return kLlama3;
    case BuiltInFormat::kMistral:
      return kMistral;
    case BuiltInFormat::kPlain:
      return kPlain;
  }
  return "";
}

absl::Status CheckTokens(BuiltInFormat format, const ModelTokenizer& model) {
  std::vector<std::string_view> tokens;
  if (format == BuiltInFormat::kChatMl) tokens = {"<|im_start|>", "<|im_end|>"};
  if (format == BuiltInFormat::kLlama3) {
    tokens = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
  }
  const auto lacks = [&](std::string_view what) {
    return absl::InvalidArgumentError(
        StrCat("the chat format ", ToString(format), " needs ", what,
               ", which the model's tokenizer does not have; choose another with --chat-format (",
               WordChoices<BuiltInFormat>(), ")"));
  };
  for (const std::string_view token : tokens) {
    if (!model.tokenizer->IdOf(token).has_value()) {
      return lacks(StrCat("the token ", Quoted(token)));
    }
  }
  if (format != BuiltInFormat::kMistral) return absl::OkStatus();
  if (!model.begin_id.has_value()) return lacks("a token that begins a text");
  if (!model.end_id.has_value()) return lacks("a token that ends a text");
  return absl::OkStatus();
}

}  // namespace

std::span<const EnumWord<BuiltInFormat>> WordsOf(BuiltInFormat) { return kWords; }

absl::StatusOr<ChatTemplateText> BuiltInTemplate(BuiltInFormat format,
                                                 const ModelTokenizer& model) {
  RETURN_IF_ERROR(CheckTokens(format, model));
  std::optional<int32_t> begin = model.begin_id;
  // The other formats always have one.
  if (format == BuiltInFormat::kChatMl || format == BuiltInFormat::kPlain) {
    const std::span<const int32_t> prefix = model.tokenizer->Prefix();
    begin = prefix.empty() ? std::nullopt : std::optional(prefix.front());
  }
  std::string text =
      StrCat(ReplaceAll(std::string(kRefuseTools), "FORMAT", ToString(format)), TextOf(format));
  text = ReplaceAll(std::move(text), "@BEGIN@", TokenLiteral(model, begin));
  text = ReplaceAll(std::move(text), "@END@", TokenLiteral(model, model.end_id));
  return ChatTemplateText{.name = "default",
                          .text = std::move(text),
                          .where = StrCat("--chat-format ", ToString(format))};
}

}  // namespace horizon
