#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "model/tokenizer/quoted_ranges.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// Bytes are their own ids; the tokens below follow. Ids are easy to tell in the head, and every
// part of EncodeOptions shows in them.
class FakeTokenizer final : public Tokenizer {
 public:
  static constexpr std::array<std::string_view, 10> kTokens = {
      "<|im_start|>",
      "<|im_end|>",
      "<|begin_of_text|>",
      "<|start_header_id|>",
      "<|end_header_id|>",
      "<|eot_id|>",
      "<s>",
      "</s>",
      "<|end|>",  // ends a text
      "<think>",  // the one that is not special
  };
  static constexpr int32_t kFirst = 256;
  static constexpr int32_t kEnd = kFirst + 8;
  static constexpr int32_t kStartMark = kFirst + 10;  // put before the start of a text if wanted
  static constexpr int64_t kVocab = kFirst + 11;

  struct Options {
    bool marks_start = false;
    std::vector<int32_t> prefix;
    size_t tokens = kTokens.size();  // how many of them it has
    std::string refused = "\x01";    // a text with it cannot be encoded
  };
  FakeTokenizer() = default;
  explicit FakeTokenizer(Options options) : options_(std::move(options)) {}

  absl::Status Encode(std::string_view text, const EncodeOptions& options,
                      std::vector<int32_t>& ids) const override {
    std::vector<ByteRange> offsets;
    return EncodeWithOffsets(text, options, ids, offsets);
  }
  absl::Status EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                 std::vector<int32_t>& ids,
                                 std::vector<ByteRange>& offsets) const override {
    if (text.find(options_.refused) != std::string_view::npos) {
      return absl::ResourceExhaustedError("the expression gave up");
    }
    if (options_.marks_start && options.position == TextPosition::kStart) {
      ids.push_back(kStartMark);
      offsets.push_back({0, text.empty() ? size_t{0} : size_t{1}});
    }
    for (size_t at = 0; at < text.size(); at = offsets.back().end) {
      int32_t token = TokenAt(text.substr(at), options.added);
      ByteRange bytes = {at, at + (token < kFirst ? 1 : TokenOf(token).size())};
      const bool is_control =
          IsSpecial(token) || std::find(options.control_ids.begin(), options.control_ids.end(),
                                        token) != options.control_ids.end();
      if (token >= kFirst && is_control && Overlaps(bytes, options.quoted)) {
        token = static_cast<unsigned char>(text[at]);
        bytes.end = at + 1;
      }
      ids.push_back(token);
      offsets.push_back(bytes);
    }
    return absl::OkStatus();
  }
  std::span<const int32_t> Prefix() const override { return options_.prefix; }
  std::span<const int32_t> Suffix() const override { return {}; }
  std::string Decode(std::span<const int32_t> ids, SpecialTokens special) const override {
    std::string text;
    for (const int32_t id : ids) {
      if (id < kFirst) {
        text.push_back(static_cast<char>(id));
      } else if (special == SpecialTokens::kSpell || !IsSpecial(id)) {
        text += TokenOf(id);
      }
    }
    return text;
  }
  int64_t id_limit() const override { return kVocab; }
  std::optional<int32_t> IdOf(std::string_view token) const override {
    for (size_t i = 0; i < options_.tokens; ++i) {
      if (kTokens[i] == token) return kFirst + static_cast<int32_t>(i);
    }
    return std::nullopt;
  }
  std::string_view TokenOf(int32_t id) const override {
    const auto index = static_cast<size_t>(id - kFirst);
    return id >= kFirst && index < options_.tokens ? kTokens[index] : std::string_view();
  }
  bool IsSpecial(int32_t id) const override { return id >= kFirst && id != kFirst + 9; }
  std::vector<int32_t> AddedIds() const override {
    std::vector<int32_t> ids(options_.tokens);
    std::iota(ids.begin(), ids.end(), kFirst);
    return ids;
  }
  uint64_t fingerprint() const override { return 7 + options_.tokens; }

 private:
  int32_t TokenAt(std::string_view text, AddedTokens added) const {
    for (size_t i = 0; i < options_.tokens && added != AddedTokens::kNone; ++i) {
      const int32_t id = kFirst + static_cast<int32_t>(i);
      if (added == AddedTokens::kNotSpecial && IsSpecial(id)) continue;
      if (text.substr(0, kTokens[i].size()) == kTokens[i]) return id;
    }
    return static_cast<unsigned char>(text.front());
  }

  Options options_;
};

}  // namespace horizon
