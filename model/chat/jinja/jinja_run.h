#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "model/chat/jinja/jinja_object.h"
#include "model/chat/jinja/jinja_template.h"
#include "model/chat/jinja/jinja_value.h"

namespace horizon {

struct JinjaScope;

// The state of one rendering: its first error, how much of its limits it has used, and where its
// output goes. Functions report an error with Fail() or Exhaust(). The first error is kept; from
// then on Step() returns false, all functions return soon, and what they return does not matter.
class JinjaRun {
 public:
  JinjaRun(const JinjaVariables& variables, const JinjaOptions& options, std::string_view name);
  ~JinjaRun();
  JinjaRun(const JinjaRun&) = delete;
  JinjaRun& operator=(const JinjaRun&) = delete;

  const JinjaVariables& variables() const { return variables_; }
  const JinjaOptions& options() const { return options_; }

  const absl::Status& status() const { return status_; }
  bool failed() const { return !status_.ok(); }
  // Reports an error that Jinja would raise, at the line of the last step. Returns undefined.
  JinjaValue Fail(std::string_view reason);
  // Reports that a limit was reached. Returns undefined.
  JinjaValue Exhaust(std::string_view reason);

  // Counts a step of the node at `line`. Returns false after an error.
  bool Step(int line);
  // Counts the work on a text or list of this size, for steps that do a lot of it. Returns false
  // after an error.
  bool Work(size_t size);
  // Sets the line that the next error is reported at.
  void set_line(int line) { line_ = line; }
  int line() const { return line_; }

  // Counts the nesting of statements, expressions and calls. Every Enter() must be followed by
  // Leave(), even if it returned false.
  bool Enter();
  void Leave() { --depth_; }

  // The largest size of a text in bytes.
  size_t max_text_bytes() const { return max_text_bytes_; }
  // Make values that count towards the memory limit.
  JinjaValue MakeString(TracedText text);
  JinjaValue MakeText(std::string_view text) { return MakeString(TracedText(text, {})); }
  JinjaValue MakeList(std::vector<JinjaValue> items) {
    return MakeSequence(JinjaValue::Kind::kList, {.items = std::move(items)});
  }
  JinjaValue MakeTuple(std::vector<JinjaValue> items) {
    return MakeSequence(JinjaValue::Kind::kTuple, {.items = std::move(items)});
  }
  // `type` is the Python name of the iterator's type.
  JinjaValue MakeIterator(std::vector<JinjaValue> items, std::string_view type) {
    return MakeSequence(JinjaValue::Kind::kIterator, {.items = std::move(items), .type = type});
  }
  JinjaValue MakeSequence(JinjaValue::Kind kind, JinjaSequence sequence);
  JinjaValue MakeDict(JinjaValue::Entries entries, int32_t message = -1);
  // Keeps an object or a scope that may refer to itself, and drops its references when the run
  // ends.
  JinjaValue MakeObject(std::shared_ptr<JinjaObject> object);
  void Keep(std::shared_ptr<JinjaScope> scope);

  // Appends to the current output. The text gets the current message and generation block as its
  // origin.
  void Write(const TracedText& text);
  // Sends output to `text` from now on and returns the previous destination.
  TracedText* Redirect(TracedText* text) { return std::exchange(output_, text); }
  // The message that the innermost loop over messages is at; -1: none.
  int32_t message = -1;
  // How many generation blocks enclose the statement that is being executed.
  int generations = 0;

 private:
  const JinjaVariables& variables_;
  const JinjaOptions& options_;
  std::string_view name_;
  absl::Status status_;
  int line_ = 1;
  int depth_ = 0;
  int64_t steps_ = 0;
  size_t max_text_bytes_ = 0;
  std::shared_ptr<int64_t> memory_ = std::make_shared<int64_t>(0);  // bytes held by values
  TracedText* output_ = nullptr;
  std::vector<std::shared_ptr<JinjaObject>> objects_;
  std::vector<std::shared_ptr<JinjaScope>> scopes_;
};

// Builds a text that may become too long. In that case it reports the error to the run, and the
// text no longer grows.
class JinjaTextBuilder {
 public:
  explicit JinjaTextBuilder(JinjaRun& run) : run_(run) {}
  void Append(const TracedText& text) {
    if (Fits(text.size())) text_.Append(text);
  }
  // Appends text of the template itself.
  void Append(std::string_view text) { Append(text, {}); }
  void Append(std::string_view text, TextOrigin origin) {
    if (Fits(text.size())) text_.Append(text, origin);
  }
  // Appends bytes [begin, end) of a text.
  void AppendPart(const TracedText& text, size_t begin, size_t end) {
    if (Fits(end - begin)) text_.Append(text.Slice(begin, end));
  }
  size_t size() const { return text_.size(); }
  TracedText Finish() { return std::move(text_); }
  JinjaValue FinishString() { return run_.MakeString(std::move(text_)); }

 private:
  bool Fits(size_t more);
  JinjaRun& run_;
  TracedText text_;
};

}  // namespace horizon
