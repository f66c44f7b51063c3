#include "model/chat/loss_mask.h"

#include <algorithm>
#include <iterator>

#include "model/chat/answer_header.h"

namespace horizon {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// A range of bytes that the template wrote while its loop was at one message.
struct Stretch {
  int32_t message = -1;
  size_t begin = 0;
  size_t end = 0;
  bool is_cut = false;  // the rest of the text written for this message belongs to others
};

std::vector<Stretch> StretchesOf(const TracedText& text) {
  std::vector<Stretch> stretches;
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    if (!stretches.empty() && stretches.back().message == run.origin.message) {
      stretches.back().end = run.end;
    } else {
      stretches.push_back({run.origin.message, begin, run.end});
    }
    begin = run.end;
  }
  return stretches;
}

// Joins two stretches of one message, and the text between them that was written for no message.
std::vector<Stretch> JoinStretches(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> joined;
  for (const Stretch& each : stretches) {
    const size_t size = joined.size();
    if (each.message >= 0 && size >= 2 && joined[size - 1].message < 0 &&
        joined[size - 2].message == each.message) {
      joined.pop_back();
      joined.back().end = each.end;
    } else {
      joined.push_back(each);
    }
  }
  return joined;
}

// The range from the first to the last byte of `stretch`, at or after `from`, that is quoted from
// the record. Both ends are `none` if no byte is quoted.
ByteRange WordsOf(const TracedText& text, const Stretch& stretch, size_t from, size_t none) {
  ByteRange words = {none, none};
  bool found = false;
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    const size_t first = std::max({begin, stretch.begin, from});
    const size_t last = std::min(run.end, stretch.end);
    begin = run.end;
    if (!run.origin.quoted || first >= last) continue;
    if (!found) words.begin = first;
    words.end = last;
    found = true;
  }
  return words;
}

// Shortens a stretch to the bytes that belong to its own message (AnswerMarks::own_bytes).
Stretch Cut(Stretch stretch, const AnswerMarks& marks) {
  for (const auto& [message, bytes] : marks.own_bytes) {
    if (message != stretch.message) continue;
    stretch.end = std::min(stretch.end, stretch.begin + bytes);
    stretch.is_cut = true;
  }
  return stretch;
}

// Where a message begins if the text `before` its first stretch was written for no message: after
// the tail of the conversation up to there (AnswerMarks::tails).
size_t BeginBehind(const TracedText& text, const Stretch& before, const Stretch& stretch,
                   const AnswerMarks& marks) {
  const std::string_view loose =
      std::string_view(text.text()).substr(before.begin, stretch.begin - before.begin);
  for (const auto& [message, tail] : marks.tails) {
    if (message == stretch.message && loose.starts_with(tail)) return before.begin + tail.size();
  }
  return stretch.begin;
}

// Collects which tokens are trained, answer by answer.
class LossMaskBuilder {
 public:
  LossMaskBuilder(const EncodedChat& chat, const AnswerMarks& marks, const Tokenizer& tokenizer)
      : chat_(chat), marks_(marks), tokenizer_(tokenizer) {
    mask_.trained.resize(chat.ids.size(), false);
  }

  // Marks the text inside {% generation %}, except in messages that are not trained.
  void AddGenerations(const std::vector<ChatMessage>& messages) {
    size_t begin = 0;
    for (const TextRun& run : chat_.text.runs()) {
      const int32_t message = run.origin.message;
      const bool excluded = message >= 0 &&
                            messages[static_cast<size_t>(message)].role() == "assistant" &&
                            !messages[static_cast<size_t>(message)].trained;
      if (run.origin.generation && !excluded) MarkTrained({begin, run.end});
      begin = run.end;
    }
    for (size_t i = 0; i < chat_.ids.size(); ++i) {
      if (mask_.trained[i] && (IsEnd(chat_.ids[i]) || tokenizer_.IsSpecial(chat_.ids[i]))) {
        mask_.last_end = i;
      }
    }
  }

  // Marks the text that was written for an assistant's message. Only the first stretch of a message
  // has a header.
  void AddAnswer(const Stretch& stretch, bool is_first) {
    const std::string_view written =
        std::string_view(chat_.text.text()).substr(stretch.begin, stretch.end - stretch.begin);
    const ByteRange quoted = WordsOf(chat_.text, stretch, stretch.begin, stretch.end);
    const size_t header =
        is_first ? HeaderLength(written, quoted.begin - stretch.begin, marks_.opening) : 0;
    const size_t begin = stretch.begin + header;
    const size_t words_end = WordsOf(chat_.text, stretch, begin, begin).end;
    const std::optional<size_t> end = FindEnd(stretch, words_end);
    if (end.has_value()) {
      MarkTrained({begin, std::max(begin, chat_.offsets[*end].end)});
      mask_.trained[*end] = true;
      mask_.last_end = std::max(mask_.last_end.value_or(0), *end);
      return;
    }
    // Trailing white space separates the message from the next one and is not trained.
    const size_t last = written.find_last_not_of(kSpaces);
    const size_t written_end = stretch.begin + (last == std::string_view::npos ? 0 : last + 1);
    MarkTrained({begin, std::max({begin, words_end, written_end})});
  }

  LossMask Finish() && { return std::move(mask_); }

 private:
  bool IsEnd(int32_t id) const {
    return std::find(marks_.end_ids.begin(), marks_.end_ids.end(), id) != marks_.end_ids.end();
  }
  bool IsQuoted(size_t byte) const {
    return byte < chat_.text.size() && chat_.text.OriginAt(byte).quoted;
  }
  bool MayEnd(int32_t id) const {
    return IsEnd(id) || (tokenizer_.IsSpecial(id) && id != marks_.begin_id);
  }

  // Finds the token that ends an answer; the last quoted words of the answer end at `words_end`.
  // Among the answer's own tokens it is the first of end_ids, or else the first special token. If
  // there is neither, it is the first special token that follows the answer before any other
  // quoted text.
  std::optional<size_t> FindEnd(const Stretch& stretch, size_t words_end) const {
    std::optional<size_t> special;
    for (size_t i = 0; i < chat_.ids.size(); ++i) {
      const ByteRange& bytes = chat_.offsets[i];
      // A token may take along the spaces that the last words end with.
      if (bytes.end <= words_end || bytes.begin == bytes.end) continue;
      const bool own = bytes.begin < stretch.end;
      if (!own && (stretch.is_cut || special.has_value() || IsQuoted(bytes.begin))) break;
      if (own && IsEnd(chat_.ids[i])) return i;
      if (!own && chat_.ids[i] == marks_.begin_id && !IsEnd(chat_.ids[i])) break;
      if (!special.has_value() && MayEnd(chat_.ids[i])) special = i;
    }
    return special;
  }

  void MarkTrained(const ByteRange& range) {
    for (size_t i = 0; i < chat_.ids.size(); ++i) {
      const ByteRange& bytes = chat_.offsets[i];
      if (bytes.begin < range.end && bytes.end > range.begin) mask_.trained[i] = true;
    }
  }

  const EncodedChat& chat_;
  const AnswerMarks& marks_;
  const Tokenizer& tokenizer_;
  LossMask mask_;
};

}  // namespace

bool FollowsUnattributedText(const TracedText& text, int32_t message) {
  const std::vector<Stretch> stretches = StretchesOf(text);
  const auto found = std::find_if(stretches.begin(), stretches.end(),
                                  [&](const Stretch& each) { return each.message == message; });
  return found != stretches.end() && found != stretches.begin() && std::prev(found)->message < 0;
}

std::string TailOf(const TracedText& text) {
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    if (run.origin.quoted) begin = run.end;
  }
  return text.text().substr(begin);
}

bool IsWritten(const TracedText& text, int32_t message) {
  const std::span<const TextRun> runs = text.runs();
  return std::any_of(runs.begin(), runs.end(),
                     [&](const TextRun& run) { return run.origin.message == message; });
}

size_t OwnBytes(const EncodedChat& chat, const TracedText& alone, int32_t message) {
  const auto written_for = [&](const TracedText& text) {
    const std::vector<Stretch> stretches = StretchesOf(text);
    const auto found = std::find_if(stretches.begin(), stretches.end(),
                                    [&](const Stretch& each) { return each.message == message; });
    return found == stretches.end() ? Stretch{} : *found;
  };
  const Stretch whole = written_for(chat.text);
  const Stretch own = written_for(alone);
  const size_t most = std::min(whole.end - whole.begin, own.end - own.begin);
  size_t same = 0;
  while (same < most && chat.text.text()[whole.begin + same] == alone.text()[own.begin + same]) {
    ++same;
  }
  size_t bytes = 0;
  for (const ByteRange& token : chat.offsets) {
    if (token.end > whole.begin && token.end <= whole.begin + same) {
      bytes = std::max(bytes, token.end - whole.begin);
    }
  }
  return bytes;
}

LossMask MakeLossMask(const Conversation& conversation, const EncodedChat& chat,
                      const AnswerMarks& marks, const Tokenizer& tokenizer) {
  LossMaskBuilder builder(chat, marks, tokenizer);
  if (marks.has_generation) {
    builder.AddGenerations(conversation.messages);
    return std::move(builder).Finish();
  }
  int32_t before = -1;
  const std::vector<Stretch> stretches = JoinStretches(StretchesOf(chat.text));
  for (size_t i = 0; i < stretches.size(); ++i) {
    Stretch stretch = stretches[i];
    if (stretch.message < 0) continue;
    if (conversation.messages[static_cast<size_t>(stretch.message)].trained) {
      if (i > 0 && stretches[i - 1].message < 0) {
        stretch.begin = BeginBehind(chat.text, stretches[i - 1], stretch, marks);
      }
      builder.AddAnswer(Cut(stretch, marks), stretch.message != before);
    }
    before = stretch.message;
  }
  return std::move(builder).Finish();
}

}  // namespace horizon
