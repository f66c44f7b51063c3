#include "runtime/data/tokenise_sample.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "runtime/data/encode_chat.h"

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

absl::Status TokeniseChat(const std::vector<ChatTurn>& turns, const TokeniseOptions& options,
                          TokenLine& line) {
  line.ids.clear();
  const ChatEncoder encoder = {
      .tokenizer = *options.tokenizer, .format = *options.chat, .end_id = options.end_id};
  std::vector<bool> is_answer;
  RETURN_IF_ERROR(EncodeChat(encoder, RenderChat(*options.chat, turns), line.ids, is_answer));
  RETURN_IF_ERROR(CheckIds(options, line.ids));
  line.labels = line.ids;
  if (options.train_on_prompt) return absl::OkStatus();
  for (size_t i = 0; i < line.labels.size(); ++i) {
    if (!is_answer[i]) line.labels[i] = -100;
  }
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
  RETURN_IF_ERROR(options.chat.status());
  return CheckChatTokens(*options.chat, *options.tokenizer);
}

absl::Status TokeniseSample(const Sample& sample, const TokeniseOptions& options, TokenLine& line) {
  if (sample.kind == DataKind::kTokens) {
    line = sample.tokens;
    return absl::OkStatus();
  }
  if (IsConversation(sample.kind)) return TokeniseChat(sample.turns, options, line);
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
