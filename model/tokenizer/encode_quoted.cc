// Chats: texts of which some bytes were quoted from a record. transformers'
// apply_chat_template(sanitize_control_tokens=True) cuts the text at every control token that is
// quoted whole, encodes those as plain text, and encodes every part but the first behind a line
// break whose ids it drops, so that nothing is put before it (encode_marked_chat in
// utils/chat_template_utils.py, 5.23.0). The ids here are those.
#include <algorithm>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/pipeline_tokenizer.h"
#include "model/tokenizer/quoted_ranges.h"

namespace horizon {
namespace {

using Found = AddedTokenFinder::Found;

constexpr std::string_view kLineBreak = "\n";

// The token that begins first, of two the longer one.
Found Leftmost(const Found& a, const Found& b) {
  if (a.token == nullptr || b.token == nullptr) return a.token == nullptr ? b : a;
  if (a.begin != b.begin) return a.begin < b.begin ? a : b;
  return a.end < b.end ? b : a;
}

// How many bytes of a word its first character has, or what there is of it in a word of bytes.
size_t FirstCharacterSize(std::string_view word) {
  size_t size = 1;
  while (size < word.size() && (static_cast<unsigned char>(word[size]) & 0xC0U) == 0x80U) ++size;
  return size;
}

}  // namespace

absl::Status PipelineTokenizer::EncodeQuoted(const AlignedText& whole, Call& call) const {
  const EncodeOptions& options = call.options;
  AddedTokenFinder others;
  for (const int32_t id : options.control_ids) {
    const auto added = added_by_id_.find(id);
    if (added != added_by_id_.end()) others.Add(SpelledAsInFile(*added->second));
  }
  const std::string_view text = whole.text;
  size_t done = 0;
  const auto encode_to = [&](size_t end, AddedTokens which) {
    const AlignedText piece = whole.Slice(text.substr(done, end - done));
    const bool is_first = done == 0 && which == options.added;
    done = end;
    if (piece.text.empty()) return absl::OkStatus();
    if (is_first) return EncodePart(piece, which, options.position, call);
    return EncodeBehindBreak(piece, which, call);
  };
  for (size_t from = 0; from < text.size();) {
    Found found;
    if (options.added == AddedTokens::kAll) found = special_.Find(text, from);
    if (options.added != AddedTokens::kNone) found = Leftmost(found, others.Find(text, from));
    if (found.token == nullptr) break;
    from = found.end;
    const std::string_view spelling = text.substr(found.begin, found.end - found.begin);
    if (!Overlaps(whole.OriginOf(spelling), options.quoted)) continue;
    RETURN_IF_ERROR(encode_to(found.begin, options.added));
    RETURN_IF_ERROR(encode_to(found.end, AddedTokens::kNone));
  }
  return encode_to(text.size(), options.added);
}

absl::Status PipelineTokenizer::EncodeBehindBreak(const AlignedText& piece, AddedTokens which,
                                                  Call& call) const {
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;
  Call own{.options = call.options, .scratch = call.scratch, .ids = ids, .offsets = &offsets};
  RETURN_IF_ERROR(EncodePart({.text = kLineBreak}, call.options.added, TextPosition::kStart, own));
  const std::vector<int32_t> line_break = ids;
  ids.clear();
  offsets.clear();
  const std::string text = StrCat(kLineBreak, piece.text);
  Alignment alignment;
  alignment.Reset(piece);
  alignment.Take(kLineBreak.size(), 0, 0);
  alignment.Keep(0, piece.text.size());
  alignment.Finish();
  RETURN_IF_ERROR(
      EncodePart({.text = text, .ranges = alignment.data()}, which, TextPosition::kStart, own));
  if (ids.size() < line_break.size() ||
      !std::equal(line_break.begin(), line_break.end(), ids.begin())) {
    return EncodePart(piece, which, TextPosition::kStart, call);
  }
  const auto dropped = static_cast<std::ptrdiff_t>(line_break.size());
  call.ids.insert(call.ids.end(), ids.begin() + dropped, ids.end());
  call.offsets->insert(call.offsets->end(), offsets.begin() + dropped, offsets.end());
  return absl::OkStatus();
}

// A model can spell a special token that is also in its own vocabulary ("</s>" of a Unigram model),
// where transformers gives up. In quoted text its first character and the rest are words of their
// own. `covered` are the bytes of `word` that the ids from `first` on stand for.
absl::Status PipelineTokenizer::RespellQuoted(std::string_view word,
                                              std::span<const ByteRange> covered,
                                              const AlignedText& source, size_t first,
                                              Call& call) const {
  const auto is_forged = [&](int32_t id, const ByteRange& origin) {
    return IsSpecial(id) && id != parts_.unknown_id && Overlaps(origin, call.options.quoted);
  };
  const auto begin = static_cast<std::ptrdiff_t>(first);
  const std::vector<int32_t> ids(call.ids.begin() + begin, call.ids.end());
  const std::vector<ByteRange> origins(call.offsets->begin() + begin, call.offsets->end());
  call.ids.resize(first);
  call.offsets->resize(first);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!is_forged(ids[i], origins[i])) {
      call.ids.push_back(ids[i]);
      call.offsets->push_back(origins[i]);
      continue;
    }
    const std::string_view forged =
        word.substr(covered[i].begin, covered[i].end - covered[i].begin);
    const size_t head = FirstCharacterSize(forged);
    if (head == forged.size()) {
      return absl::InvalidArgumentError(StrCat("the quoted text ", Quoted(forged),
                                               " has no other id than that of a special token"));
    }
    RETURN_IF_ERROR(EncodeAligned(forged.substr(0, head), source, call));
    RETURN_IF_ERROR(EncodeAligned(forged.substr(head), source, call));
  }
  return absl::OkStatus();
}

}  // namespace horizon
