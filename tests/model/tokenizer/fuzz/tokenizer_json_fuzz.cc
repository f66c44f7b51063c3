// Whatever the bytes, a tokenizer.json is judged; and one that is accepted encodes and decodes
// without another check, with ids of its own vocabulary only.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr std::array<std::string_view, 4> kTexts = {"", "a b ab <s> x y \xE2\x96\x81 A1",
                                                    "caf\xC3\xA9 \xF0\x9F\x91\x8D \xFF'S",
                                                    "aaaaaaaaaaaaaaaaaaaaaaaa b\n\n  c"};

// Offsets lie in the text, and no special token but the unknown one stands for quoted text.
void TryOffsets(const Tokenizer& tokenizer, std::string_view text,
                const std::vector<int32_t>& expected) {
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;
  CHECK(tokenizer.EncodeWithOffsets(text, {}, ids, offsets).ok());
  CHECK(ids == expected && offsets.size() == ids.size());
  const std::vector<ByteRange> quoted = {{text.size() / 3, text.size()}};
  const absl::Status status = tokenizer.EncodeWithOffsets(text, {.quoted = quoted}, ids, offsets);
  CHECK(status.ok() || status.code() == absl::StatusCode::kResourceExhausted ||
        status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(offsets.size() == ids.size());
  for (const ByteRange& range : offsets) {
    CHECK(range.begin <= range.end && range.end <= text.size());
  }
}

void TryTokenizer(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  const absl::Status status = tokenizer.Encode(text, {}, ids);
  // An expression of the file may give up on a text.
  CHECK(status.ok() || status.code() == absl::StatusCode::kResourceExhausted);
  for (const int32_t id : ids) {
    CHECK(id >= 0 && id < tokenizer.id_limit());
    // A token may have two ids.
    const std::string_view token = tokenizer.TokenOf(id);
    CHECK(!tokenizer.IdOf(token).has_value() || tokenizer.TokenOf(*tokenizer.IdOf(token)) == token);
    CHECK(tokenizer.IdOf(token).has_value());
  }
  if (status.ok()) TryOffsets(tokenizer, text, ids);
  const std::string decoded = tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSkip);
  CHECK(tokenizer.UncertainBytes(ids) <= decoded.size());
  TextStream stream(tokenizer);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.Push(id);
  streamed += stream.Finish();
  CHECK(streamed == decoded);
}

void TryJson(std::string_view text) {
  const absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ParseTokenizer(text, "fuzz.json");
  if (!tokenizer.ok()) {
    CHECK(tokenizer.status().code() == absl::StatusCode::kInvalidArgument ||
          tokenizer.status().code() == absl::StatusCode::kResourceExhausted);
    CHECK(tokenizer.status().message().size() < 2000);
    return;
  }
  for (const std::string_view one : kTexts) TryTokenizer(**tokenizer, one);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryJson({reinterpret_cast<const char*>(data), size});
  return 0;
}
