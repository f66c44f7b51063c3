#include "runtime/data/token_line.h"

#include <charconv>
#include <string>
#include <system_error>

#include "common/json.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kNeeds = "a line is an object {\"input_ids\": [...], \"labels\": [...]}";
// One object that holds arrays.
constexpr int kDepth = 8;

absl::Status Refuse(std::string_view reason) {
  return absl::InvalidArgumentError(std::string(reason));
}

// Takes the pieces of a line as they come; whatever stands at the wrong place is refused there.
class LineHandler final : public JsonHandler {
 public:
  LineHandler(const TokenLimits& limits, TokenLine& sample) : limits_(limits) {
    sample.ids.clear();
    sample.labels.clear();
    ids_ = {.name = "input_ids", .values = &sample.ids};
    labels_ = {.name = "labels", .values = &sample.labels};
  }

  absl::Status OnBeginObject() override {
    if (in_object_) return Misplaced("an object");
    in_object_ = true;
    return absl::OkStatus();
  }
  absl::Status OnEndObject() override { return absl::OkStatus(); }

  absl::Status OnKey(std::string_view key) override {
    if (key == ids_.name) return Begin(ids_);
    if (key == labels_.name) return Begin(labels_);
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
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(literal.data(), literal.data() + literal.size(), number);
    if (error != std::errc() || end != literal.data() + literal.size()) {
      return Refuse(
          StrCat(field_->name, "[", place, "] is ", Quoted(literal), "; it must be an integer"));
    }
    const bool is_label = field_ == &labels_;
    if (number >= limits_.vocab || (number < 0 && !is_label)) {
      return Refuse(StrCat(field_->name, "[", place, "] is ", number,
                           "; the model's vocabulary has the ids 0 to ", limits_.vocab - 1,
                           is_label ? ", and a negative label is ignored" : ""));
    }
    if (place < limits_.sequence) {
      field_->values->push_back(number < 0 ? -100 : static_cast<int32_t>(number));
    }
    return absl::OkStatus();
  }

  absl::Status OnString(std::string_view text) override { return Misplaced("a string"); }
  absl::Status OnBool(bool value) override { return Misplaced("true or false"); }
  absl::Status OnNull() override { return Misplaced("null"); }

  // What only the whole line shows.
  absl::Status Finish() {
    if (!ids_.seen) return Refuse(StrCat("input_ids is missing; ", kNeeds));
    if (ids_.count == 0) return Refuse("input_ids is empty; a sample has at least one token");
    if (ids_.count > limits_.sequence) {
      return Refuse(StrCat("the sample has ", ids_.count, " tokens, more than the sequence of ",
                           limits_.sequence, "; cut it or use --sequence ", ids_.count));
    }
    if (!labels_.seen) {
      *labels_.values = *ids_.values;
    } else if (labels_.count != ids_.count) {
      return Refuse(StrCat("input_ids has ", ids_.count, " tokens and labels has ", labels_.count,
                           "; there must be one label for each token"));
    }
    return absl::OkStatus();
  }

 private:
  struct Field {
    std::string_view name;
    std::vector<int32_t>* values = nullptr;
    int64_t count = 0;
    bool seen = false;
  };

  absl::Status Begin(Field& field) {
    if (field.seen) return Refuse(StrCat(field.name, " stands there twice"));
    field.seen = true;
    field_ = &field;
    return absl::OkStatus();
  }

  absl::Status Misplaced(std::string_view what) const {
    if (field_ == nullptr) return Refuse(StrCat("found ", what, "; ", kNeeds));
    return Refuse(StrCat(field_->name, " holds ", what, "; it must be an array of integers"));
  }

  TokenLimits limits_;
  Field ids_;
  Field labels_;
  Field* field_ = nullptr;  // the one whose value is being read
  bool in_object_ = false;
  bool in_array_ = false;
};

}  // namespace

absl::Status ParseTokenLine(std::string_view text, const TokenLimits& limits, TokenLine& line) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Refuse("the line is empty");
  LineHandler handler(limits, line);
  // The parser puts a file and a line of its own before errors of syntax; ours are the caller's.
  constexpr std::string_view kPrefix = "line:1: ";
  const absl::Status parsed = ParseJsonEvents("line", text, kDepth, handler);
  if (!parsed.ok()) {
    std::string_view message(parsed.message().data(), parsed.message().size());
    if (message.substr(0, kPrefix.size()) == kPrefix) message.remove_prefix(kPrefix.size());
    return Refuse(message);
  }
  return handler.Finish();
}

}  // namespace horizon
