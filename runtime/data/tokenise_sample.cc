#include "runtime/data/tokenise_sample.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

absl::Status CheckIds(const TokeniseOptions& options, const std::vector<int32_t>& ids) {
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](int32_t id) {
    return id < 0 || static_cast<int64_t>(id) >= options.vocab;
  });
  if (bad == ids.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("the text has the token ", Quoted(options.tokenizer->TokenOf(*bad)), " with the id ",
             *bad, "; the model's vocabulary has the ids 0 to ", options.vocab - 1));
}

absl::Status TokeniseText(std::string_view text, TextPosition position,
                          const TokeniseOptions& options, TokenLine& line) {
  line.ids.clear();
  line.labels.clear();
  if (text.empty()) return absl::OkStatus();
  if (position == TextPosition::kStart) {
    const std::span<const int32_t> prefix = options.tokenizer->Prefix();
    line.ids.assign(prefix.begin(), prefix.end());
  }
  RETURN_IF_ERROR(options.tokenizer->Encode(
      text, {.added = AddedTokens::kAll, .position = position}, line.ids));
  return CheckIds(options, line.ids);
}

// Labels where a token is trained; all of them with train_on_prompt.
void Label(const std::vector<bool>& trained, const TokeniseOptions& options, TokenLine& line) {
  line.labels = line.ids;
  if (options.train_on_prompt) return;
  for (size_t i = 0; i < line.labels.size(); ++i) {
    if (!trained[i]) line.labels[i] = kIgnoredLabel;
  }
}

absl::Status TokeniseChat(const Conversation& conversation, const TokeniseOptions& options,
                          TokenLine& line) {
  RETURN_IF_ERROR(options.chat.status());
  ASSIGN_OR_RETURN(ChatTokens tokens, options.chat->EncodeForTraining(conversation));
  line.ids = std::move(tokens.ids);
  RETURN_IF_ERROR(CheckIds(options, line.ids));
  Label(tokens.mask.trained, options, line);
  line.last_end = tokens.mask.last_end.has_value() ? static_cast<int64_t>(*tokens.mask.last_end)
                                                   : TokenLine::kNoEnd;
  return absl::OkStatus();
}

// A prompt and what follows it, as one text.
absl::Status TokeniseCompletion(const Sample& sample, const TokeniseOptions& options,
                                TokenLine& line) {
  const std::span<const int32_t> prefix = options.tokenizer->Prefix();
  line.ids.assign(prefix.begin(), prefix.end());
  std::vector<ByteRange> offsets(prefix.size());
  RETURN_IF_ERROR(options.tokenizer->EncodeWithOffsets(sample.text, {}, line.ids, offsets));
  RETURN_IF_ERROR(CheckIds(options, line.ids));
  std::vector<bool> trained(line.ids.size());
  for (size_t i = 0; i < trained.size(); ++i) trained[i] = offsets[i].end > sample.prompt_bytes;
  line.last_end = TokenLine::kNoEnd;
  if (options.end_id.has_value()) {
    // A completion may bring its own.
    if (line.ids.empty() || line.ids.back() != *options.end_id || !trained.back()) {
      line.ids.push_back(*options.end_id);
      trained.push_back(true);
    }
    line.last_end = static_cast<int64_t>(line.ids.size()) - 1;
  }
  Label(trained, options, line);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckKind(DataKind kind, const TokeniseOptions& options) {
  if (kind == DataKind::kTokens) return absl::OkStatus();
  if (options.tokenizer == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("data of the kind ", ToString(kind),
               " needs a tokenizer: name a model's folder with a tokenizer.json (--model), or "
               "choose --tokenizer byte"));
  }
  if (!IsConversation(kind)) return absl::OkStatus();
  return options.chat.status();
}

absl::Status TokeniseSample(const Sample& sample, const TokeniseOptions& options, TokenLine& line) {
  if (sample.kind == DataKind::kTokens) {
    line = sample.tokens;
    return absl::OkStatus();
  }
  line.last_end.reset();
  if (!sample.conversation.messages.empty()) {
    return TokeniseChat(sample.conversation, options, line);
  }
  if (sample.kind == DataKind::kPromptCompletion) return TokeniseCompletion(sample, options, line);
  RETURN_IF_ERROR(TokeniseText(sample.text, TextPosition::kStart, options, line));
  if (!line.ids.empty()) EndText(options, line);
  return absl::OkStatus();
}

absl::Status TokenisePiece(const DataRecord& piece, const TokeniseOptions& options,
                           TokenLine& line) {
  return TokeniseText(piece.text, piece.continues ? TextPosition::kContinues : TextPosition::kStart,
                      options, line);
}

void EndText(const TokeniseOptions& options, TokenLine& line) {
  if (options.end_id.has_value()) line.ids.push_back(*options.end_id);
}

}  // namespace horizon
