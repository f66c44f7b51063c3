#include "runtime/data/token_line.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kNeeds =
    "a line is an object {\"input_ids\": [...], \"labels\": [...], \"attention_mask\": [...]}";
constexpr std::string_view kMask = "attention_mask";
// One object that holds arrays.
constexpr int kDepth = 8;

absl::Status Refuse(std::string_view reason) {
  return absl::InvalidArgumentError(std::string(reason));
}

// Where the tokens lie between padding: places `begin` to `end` of `count`.
struct Block {
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> count;  // nothing: there is no mask
  bool Has(int64_t place) const { return place >= begin && place < end; }
};

// What the fields of a line have in common: whatever stands at the wrong place is refused there.
class ArraysHandler : public JsonHandler {
 public:
  absl::Status OnBeginObject() override {
    if (in_object_) return Misplaced("an object");
    in_object_ = true;
    return absl::OkStatus();
  }
  absl::Status OnEndObject() override { return absl::OkStatus(); }

  absl::Status OnKey(std::string_view key) override {
    for (Field* field : {&ids_, &labels_, &mask_}) {
      if (key != field->name) continue;
      if (field->seen) return Refuse(StrCat(field->name, " stands there twice"));
      field->seen = true;
      field_ = field;
      return absl::OkStatus();
    }
    return Refuse(StrCat("unknown key ", Quoted(key), "; ", kNeeds));
  }

  absl::Status OnBeginArray() override {
    if (field_ == nullptr || in_array_) return Misplaced("an array");
    in_array_ = true;
    return absl::OkStatus();
  }
  absl::Status OnEndArray() override {
    in_array_ = false;
    field_ = nullptr;
    return absl::OkStatus();
  }

  absl::Status OnNumber(std::string_view literal) override {
    if (!in_array_) return Misplaced("a number");
    const int64_t place = field_->count++;
    if (!Wants(*field_)) return absl::OkStatus();
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(literal.data(), literal.data() + literal.size(), number);
    if (error != std::errc() || end != literal.data() + literal.size()) {
      return Refuse(
          StrCat(field_->name, "[", place, "] is ", Quoted(literal), "; it must be an integer"));
    }
    return OnInteger(*field_, place, number);
  }

  absl::Status OnString(std::string_view text) override { return Misplaced("a string"); }
  absl::Status OnBool(bool value) override { return Misplaced("true or false"); }
  absl::Status OnNull() override { return Misplaced("null"); }

 protected:
  struct Field {
    std::string_view name;
    int64_t count = 0;
    bool seen = false;
  };
  // Whether the numbers of a field are looked at, and one of them.
  virtual bool Wants(const Field& field) const = 0;
  virtual absl::Status OnInteger(const Field& field, int64_t place, int64_t number) = 0;

  Field ids_ = {.name = "input_ids"};
  Field labels_ = {.name = "labels"};
  Field mask_ = {.name = kMask};

 private:
  absl::Status Misplaced(std::string_view what) const {
    if (field_ == nullptr) return Refuse(StrCat("found ", what, "; ", kNeeds));
    return Refuse(StrCat(field_->name, " holds ", what, "; it must be an array of integers"));
  }

  Field* field_ = nullptr;  // the one whose value is being read
  bool in_object_ = false;
  bool in_array_ = false;
};

// The mask alone: it may stand behind the ids, of which only those that it leaves are kept.
class MaskHandler final : public ArraysHandler {
 public:
  Block block = {.begin = 0, .end = 0};

  absl::Status Finish() {
    if (!mask_.seen) {
      block = {};
      return absl::OkStatus();
    }
    block.count = mask_.count;
    if (block.end > block.begin || mask_.count == 0) return absl::OkStatus();
    return Refuse("attention_mask has no 1; a sample has at least one token");
  }

 private:
  bool Wants(const Field& field) const override { return &field == &mask_; }
  absl::Status OnInteger(const Field& field, int64_t place, int64_t number) override {
    if (number != 0 && number != 1) {
      return Refuse(StrCat(kMask, "[", place, "] is ", number, "; it must be 0 or 1"));
    }
    if (number == 0) return absl::OkStatus();
    if (block.end == block.begin) {
      block.begin = place;
    } else if (block.end != place) {
      return Refuse(StrCat(kMask, "[", block.end,
                           "] is 0 between ones; padding stands before or behind the tokens"));
    }
    block.end = place + 1;
    return absl::OkStatus();
  }
};

// The ids and labels in `block`.
class LineHandler final : public ArraysHandler {
 public:
  LineHandler(const TokenLimits& limits, const Block& block, TokenLine& into)
      : limits_(limits), block_(block), line_(into) {
    into.ids.clear();
    into.labels.clear();
    into.last_end.reset();
  }

  // What only the whole line shows.
  absl::Status Finish() {
    if (!ids_.seen) return Refuse(StrCat("input_ids is missing; ", kNeeds));
    if (ids_.count == 0) return Refuse("input_ids is empty; a sample has at least one token");
    if (block_.count.has_value() && *block_.count != ids_.count) {
      return Refuse(StrCat("input_ids has ", ids_.count, " tokens and attention_mask has ",
                           *block_.count, "; there must be one for each token"));
    }
    const int64_t tokens = std::min(block_.end, ids_.count) - block_.begin;
    if (tokens > limits_.sequence) {
      return Refuse(StrCat("the sample has ", tokens, " tokens, more than the sequence of ",
                           limits_.sequence, "; cut it or use --sequence ", tokens));
    }
    if (!labels_.seen) {
      line_.labels = line_.ids;
    } else if (labels_.count != ids_.count) {
      return Refuse(StrCat("input_ids has ", ids_.count, " tokens and labels has ", labels_.count,
                           "; there must be one label for each token"));
    }
    return absl::OkStatus();
  }

 private:
  bool Wants(const Field& field) const override { return &field != &mask_; }
  absl::Status OnInteger(const Field& field, int64_t place, int64_t number) override {
    const bool is_label = &field == &labels_;
    // Padding is often -1 or past the vocabulary.
    if (!block_.Has(place)) return absl::OkStatus();
    if (number >= limits_.vocab || (number < 0 && !is_label)) {
      return Refuse(StrCat(field.name, "[", place, "] is ", number,
                           "; the model's vocabulary has the ids 0 to ", limits_.vocab - 1,
                           is_label ? ", and a negative label is ignored" : ""));
    }
    if (place - block_.begin >= limits_.sequence) return absl::OkStatus();
    std::vector<int32_t>& values = is_label ? line_.labels : line_.ids;
    values.push_back(number < 0 ? kIgnoredLabel : static_cast<int32_t>(number));
    return absl::OkStatus();
  }

  const TokenLimits limits_;
  const Block block_;
  TokenLine& line_;
};

// The parser puts a file and a line of its own before errors of syntax; ours are the caller's.
absl::Status Parse(std::string_view text, JsonHandler& handler) {
  constexpr std::string_view kPrefix = "line:1: ";
  const absl::Status parsed = ParseJsonEvents("line", text, kDepth, handler);
  if (parsed.ok()) return absl::OkStatus();
  std::string_view message(parsed.message().data(), parsed.message().size());
  if (message.substr(0, kPrefix.size()) == kPrefix) message.remove_prefix(kPrefix.size());
  return Refuse(message);
}

}  // namespace

absl::Status ParseTokenLine(std::string_view text, const TokenLimits& limits, TokenLine& line) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Refuse("the line is empty");
  Block block;
  if (text.find(kMask) != std::string_view::npos) {
    MaskHandler mask;
    RETURN_IF_ERROR(Parse(text, mask));
    RETURN_IF_ERROR(mask.Finish());
    block = mask.block;
  }
  LineHandler handler(limits, block, line);
  RETURN_IF_ERROR(Parse(text, handler));
  return handler.Finish();
}

}  // namespace horizon
