#include "model/chat/loss_mask.h"

#include <algorithm>
#include <iterator>

namespace horizon {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// Where a tag begins that opens reasoning (<think>, [THINK], <|START_THINKING|>, <seed:think>);
// npos: nowhere.
size_t FindReasoningTag(std::string_view text) {
  const std::string lower = LowerCase(text);
  struct Brackets {
    std::string_view open;
    std::string_view close;
  };
  size_t first = std::string_view::npos;
  for (const Brackets& each : {Brackets{"<", ">"}, Brackets{"[", "]"}, Brackets{"◁", "▷"}}) {
    for (size_t at = lower.find(each.open); at != std::string::npos;
         at = lower.find(each.open, at + 1)) {
      const size_t end = lower.find(each.close, at);
      if (end == std::string::npos) break;
      const std::string_view tag =
          std::string_view(lower).substr(at + each.open.size(), end - at - each.open.size());
      const bool closes = tag.starts_with("/") || tag.starts_with("|/") ||
                          tag.find("end") != std::string_view::npos;
      bool reasons = false;
      for (const std::string_view word : {"think", "thought", "reason"}) {
        reasons = reasons || tag.find(word) != std::string_view::npos;
      }
      if (reasons && !closes) {
        first = std::min(first, at);
        break;
      }
    }
  }
  return first;
}

// Bytes of the text that were written while the template was at one message.
struct Stretch {
  int32_t message = -1;
  size_t begin = 0;
  size_t end = 0;
  bool is_cut = false;  // what follows within the same message belongs to others
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

// Text for no message between two stretches of one message belongs to it.
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

// The bytes of `stretch` that a record quotes: where they begin and end; both are `none` if there
// are none.
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

// The part of a stretch that is its message's own.
Stretch Cut(Stretch stretch, const AnswerMarks& marks) {
  for (const auto& [message, bytes] : marks.own_bytes) {
    if (message != stretch.message) continue;
    stretch.end = std::min(stretch.end, stretch.begin + bytes);
    stretch.is_cut = true;
  }
  return stretch;
}

// Where the first stretch of a message begins, behind `before`, which was written for none.
size_t BeginBehind(const TracedText& text, const Stretch& before, const Stretch& stretch,
                   const AnswerMarks& marks) {
  const std::string_view loose =
      std::string_view(text.text()).substr(before.begin, stretch.begin - before.begin);
  for (const auto& [message, tail] : marks.tails) {
    if (message == stretch.message && loose.starts_with(tail)) return before.begin + tail.size();
  }
  return stretch.begin;
}

class Masker {
 public:
  Masker(const EncodedChat& chat, const AnswerMarks& marks, const Tokenizer& tokenizer)
      : chat_(chat), marks_(marks), tokenizer_(tokenizer) {
    mask_.trained.resize(chat.ids.size(), false);
  }

  // What {% generation %} encloses, but for messages that are not to be learnt.
  void AddGenerations(const std::vector<ChatMessage>& messages) {
    size_t begin = 0;
    for (const TextRun& run : chat_.text.runs()) {
      const int32_t message = run.origin.message;
      const bool excluded = message >= 0 &&
                            messages[static_cast<size_t>(message)].role() == "assistant" &&
                            !messages[static_cast<size_t>(message)].trained;
      if (run.origin.generation && !excluded) Learn({begin, run.end});
      begin = run.end;
    }
    for (size_t i = 0; i < chat_.ids.size(); ++i) {
      if (mask_.trained[i] && (IsEnd(chat_.ids[i]) || tokenizer_.IsSpecial(chat_.ids[i]))) {
        mask_.last_end = i;
      }
    }
  }

  // What was written for an assistant's message. Only the first stretch of one has a header.
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
      Learn({begin, std::max(begin, chat_.offsets[*end].end)});
      mask_.trained[*end] = true;
      mask_.last_end = std::max(mask_.last_end.value_or(0), *end);
      return;
    }
    // The space behind the last words separates it from the next message.
    const size_t last = written.find_last_not_of(kSpaces);
    const size_t written_end = stretch.begin + (last == std::string_view::npos ? 0 : last + 1);
    Learn({begin, std::max({begin, words_end, written_end})});
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

  // The token that ends an answer whose last words end at `words_end`: of the answer's own the
  // first that ends texts, else the first special one; else the first special one that follows
  // before other words of the record do.
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

  void Learn(const ByteRange& learnt) {
    for (size_t i = 0; i < chat_.ids.size(); ++i) {
      const ByteRange& bytes = chat_.offsets[i];
      if (bytes.begin < learnt.end && bytes.end > learnt.begin) mask_.trained[i] = true;
    }
  }

  const EncodedChat& chat_;
  const AnswerMarks& marks_;
  const Tokenizer& tokenizer_;
  LossMask mask_;
};

// The header of a message in a template without a generation prompt: the role and its line.
size_t RoleLine(std::string_view written, size_t words) {
  constexpr std::string_view kRole = "assistant";
  const size_t role = LowerCase(written.substr(0, words)).find(kRole);
  if (role == std::string::npos) return 0;
  const size_t behind = role + kRole.size();
  size_t end = words;
  const size_t line = written.find('\n', behind);
  if (line != std::string_view::npos && line < words) {
    end = std::min(words, written.find_first_not_of('\n', line));
  } else if (words == written.size()) {
    // Without words of the record: what is written together with the role ("|>", ":").
    end = std::min(words, written.find_first_of("< \t", behind));
  } else {
    while (end > behind && written[end - 1] == ' ') --end;
  }
  const size_t tag = FindReasoningTag(written.substr(behind, end - behind));
  return tag == std::string_view::npos ? end : behind + tag;
}

}  // namespace

std::string OpeningOf(std::string_view without_prompt, std::string_view with_prompt) {
  const size_t most = std::min(without_prompt.size(), with_prompt.size());
  size_t same = 0;
  while (same < most && without_prompt[same] == with_prompt[same]) ++same;
  const std::string_view added = with_prompt.substr(same);
  return std::string(added.substr(0, FindReasoningTag(added)));
}

size_t HeaderLength(std::string_view written, size_t words, std::string_view opening) {
  if (!opening.empty() && written.starts_with(opening)) return opening.size();
  // A message may have another space around it, or begin with what both texts had in common.
  for (const std::string_view header : {opening, Trimmed(opening)}) {
    const size_t at = Trimmed(header).empty() ? std::string_view::npos : written.find(header);
    if (at != std::string_view::npos && at + header.size() <= words) return at + header.size();
  }
  return RoleLine(written, words);
}

bool FollowsLooseText(const TracedText& text, int32_t message) {
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
  Masker masker(chat, marks, tokenizer);
  if (marks.has_generation) {
    masker.AddGenerations(conversation.messages);
    return std::move(masker).Finish();
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
      masker.AddAnswer(Cut(stretch, marks), stretch.message != before);
    }
    before = stretch.message;
  }
  return std::move(masker).Finish();
}

}  // namespace horizon
