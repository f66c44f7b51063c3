// Whatever the text, a tokenizer takes it: byte-level ids spell the text again, ids are valid, and
// streams add up to the whole.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/text/unicode_text.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

using SpecialTokens = Tokenizer::SpecialTokens;

// A byte-level tokenizer like GPT-2's with a few merges, and one with byte fallback and a metaspace
// like Llama-2's.
std::string ByteLevelJson() {
  std::string vocab;
  int id = 0;
  const auto add = [&](const std::string& token) {
    vocab += (id == 0 ? "\"" : ",\"") + token + "\":" + std::to_string(id);
    ++id;
  };
  for (int byte = 0; byte < 256; ++byte) {
    const bool seen = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    if (!seen) continue;
    std::string token;
    AppendCharacter(static_cast<char32_t>(byte), token);
    add(byte == '"' || byte == '\\' ? "\\" + token : token);
  }
  for (char32_t c = 0x100; c < 0x144; ++c) {
    std::string token;
    AppendCharacter(c, token);
    add(token);
  }
  for (const char* token : {"ab", "abab", "aa", "\xC4\xA0\xC4\xA0", "th", "the"}) add(token);
  return R"({"added_tokens":[{"id":900,"content":"<s>","special":true},
      {"id":901,"content":"solo","single_word":true,"lstrip":true}],
      "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},
      "model":{"vocab":{)" +
         vocab + R"(},"merges":["a b","ab ab","a a",")" + "\xC4\xA0 \xC4\xA0" +
         R"(","t h","th e"]}})";
}

std::string FallbackJson() {
  std::string vocab = R"("<unk>":0,"a":1,"b":2,"ab":3,"_":4,"_a":5)";
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    vocab += std::string(",\"<0x") + kDigits[byte / 16] + kDigits[byte % 16] +
             ">\":" + std::to_string(10 + byte);
  }
  return R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},
      {"type":"Replace","pattern":{"String":" "},"content":"_"}]},
      "decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},
      "model":{"unk_token":"<unk>","byte_fallback":true,"vocab":{)" +
         vocab + R"(},"merges":["a b","_ a"]}})";
}

// Pieces whose sums are equal, a special token among them, and byte fallback for some.
std::string UnigramJson() {
  return R"({"added_tokens":[{"id":1,"content":"<s>","special":true}],
      "normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"}]},
      "pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":false},
      "decoder":{"type":"Metaspace","replacement":"_"},
      "model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0],["<s>",0],
      ["a",-2],["b",-2],["ab",-4],["aa",-3.5],["_",-1],["_a",-2.5],["abab",-8],["<0xC3>",0],
      ["<0xA9>",0],["s",-1],["<",-1],[">",-1]]}})";
}

// Offsets are whole characters of a text that is UTF-8, and special tokens are not quoted.
void TryOffsets(const Tokenizer& tokenizer, std::string_view text,
                const std::vector<int32_t>& expected) {
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;
  CHECK(tokenizer.EncodeWithOffsets(text, {}, ids, offsets).ok());
  CHECK(ids == expected && offsets.size() == ids.size());
  for (const ByteRange& range : offsets) {
    CHECK(range.begin < range.end && range.end <= text.size());
  }
  const std::vector<ByteRange> all = {{0, text.size()}};
  ids.clear();
  offsets.clear();
  CHECK(tokenizer.EncodeWithOffsets(text, {.quoted = all}, ids, offsets).ok());
  CHECK(offsets.size() == ids.size());
  for (const int32_t id : ids) CHECK(!tokenizer.IsSpecial(id));
}

std::vector<int32_t> TryText(const Tokenizer& tokenizer, std::string_view text, AddedTokens added) {
  std::vector<int32_t> ids;
  CHECK(tokenizer.Encode(text, {.added = added}, ids).ok());
  for (const int32_t id : ids) CHECK(id >= 0 && id < tokenizer.id_limit());
  TextStream stream(tokenizer);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.Push(id);
  CHECK(streamed + stream.Finish() == tokenizer.Decode(ids, SpecialTokens::kSkip));
  return ids;
}

void TryAll(std::string_view text) {
  static const std::unique_ptr<Tokenizer> byte_level = *ParseTokenizer(ByteLevelJson(), "level");
  static const std::unique_ptr<Tokenizer> fallback = *ParseTokenizer(FallbackJson(), "fallback");
  static const std::unique_ptr<Tokenizer> unigram = *ParseTokenizer(UnigramJson(), "unigram");
  static const std::unique_ptr<Tokenizer> bytes = MakeByteTokenizer();
  std::string storage;
  const std::string valid(WithValidUtf8(text, storage));
  const std::vector<int32_t> ids = TryText(*byte_level, text, AddedTokens::kNone);
  CHECK(byte_level->Decode(ids, SpecialTokens::kSkip) == valid);
  TryOffsets(*byte_level, text, TryText(*byte_level, text, AddedTokens::kAll));
  TryOffsets(*fallback, text, TryText(*fallback, text, AddedTokens::kAll));
  TryOffsets(*unigram, text, TryText(*unigram, text, AddedTokens::kAll));
  CHECK(TryText(*bytes, text, AddedTokens::kNone).size() == text.size());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Streams decode again and again; long texts are for other tests.
  horizon::TryAll(std::string_view(reinterpret_cast<const char*>(data), size).substr(0, 4096));
  return 0;
}
