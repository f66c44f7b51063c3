#include <array>
#include <numeric>

#include "common/status_macros.h"
#include "model/tokenizer/quoted_ranges.h"
#include "model/tokenizer/text/unicode_text.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {
namespace {

constexpr int32_t kBytes = 256;
constexpr std::array<std::string_view, 3> kSpecial = {"<|begin|>", "<|end|>", "<|pad|>"};
constexpr uint64_t kFingerprint = 0x62797465732D3031ULL;  // "bytes-01"

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i);
  }

  absl::Status Encode(std::string_view text, const EncodeOptions& options,
                      std::vector<int32_t>& ids) const override {
    return Visit(text, options, [&](int32_t id, ByteRange) { ids.push_back(id); });
  }

  absl::Status EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                 std::vector<int32_t>& ids,
                                 std::vector<ByteRange>& offsets) const override {
    return Visit(text, options, [&](int32_t id, ByteRange bytes) {
      ids.push_back(id);
      offsets.push_back(bytes);
    });
  }

  std::span<const int32_t> Prefix() const override { return {}; }
  std::span<const int32_t> Suffix() const override { return {}; }

  std::string Decode(std::span<const int32_t> ids, SpecialTokens special) const override {
    std::string bytes;
    for (const int32_t id : ids) {
      if (special == SpecialTokens::kSpell || !IsSpecial(id)) bytes.append(TokenOf(id));
    }
    std::string storage;
    return std::string(WithValidUtf8(bytes, storage));
  }

  size_t UncertainBytes(std::span<const int32_t> ids) const override {
    return Decode(ids, SpecialTokens::kSkip).ends_with(kReplacementCharacter)
               ? kReplacementCharacter.size()
               : 0;
  }

  int64_t id_limit() const override { return kBytes + static_cast<int64_t>(kSpecial.size()); }

  std::optional<int32_t> IdOf(std::string_view token) const override {
    if (token.size() == 1) return static_cast<unsigned char>(token[0]);
    const std::optional<int32_t> special = SpecialAt(token);
    return special.has_value() && TokenOf(*special) == token ? special : std::nullopt;
  }

  std::string_view TokenOf(int32_t id) const override {
    if (id < 0 || id >= id_limit()) return {};
    if (id >= kBytes) return kSpecial[static_cast<size_t>(id - kBytes)];
    return std::string_view(bytes_.data(), bytes_.size()).substr(static_cast<size_t>(id), 1);
  }

  bool IsSpecial(int32_t id) const override { return id >= kBytes && id < id_limit(); }
  std::vector<int32_t> AddedIds() const override {
    std::vector<int32_t> ids(kSpecial.size());
    std::iota(ids.begin(), ids.end(), kBytes);
    return ids;
  }
  uint64_t fingerprint() const override { return kFingerprint; }

 private:
  // Calls on_token(id, its bytes) for the tokens of a text.
  template <typename OnToken>
  absl::Status Visit(std::string_view text, const EncodeOptions& options, OnToken on_token) const {
    RETURN_IF_ERROR(CheckQuotedRanges(options.quoted, text.size()));
    for (size_t at = 0; at < text.size();) {
      std::optional<int32_t> special =
          options.added == AddedTokens::kAll ? SpecialAt(text.substr(at)) : std::nullopt;
      ByteRange bytes = {at, at + 1};
      if (special.has_value()) {
        bytes.end = at + TokenOf(*special).size();
        if (Overlaps(bytes, options.quoted)) special.reset();
      }
      if (!special.has_value()) bytes.end = at + 1;
      on_token(special.value_or(static_cast<unsigned char>(text[at])), bytes);
      at = bytes.end;
    }
    return absl::OkStatus();
  }

  // The special token that `text` begins with.
  static std::optional<int32_t> SpecialAt(std::string_view text) {
    if (!text.starts_with("<|")) return std::nullopt;
    for (size_t i = 0; i < kSpecial.size(); ++i) {
      if (text.starts_with(kSpecial[i])) return kBytes + static_cast<int32_t>(i);
    }
    return std::nullopt;
  }

  std::array<char, kBytes> bytes_;
};

}  // namespace

std::unique_ptr<Tokenizer> MakeByteTokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace horizon
