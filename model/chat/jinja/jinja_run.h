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

// One rendering: its first error, what it used of its limits, and where it writes. An error is told
// with Fail() or Exhaust() and kept; from then on Step() is false, everything returns soon, and
// what it returns does not matter.
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
  // What Jinja would raise, at the line of the last step. Returns undefined.
  JinjaValue Fail(std::string_view reason);
  // A limit was reached.
  JinjaValue Exhaust(std::string_view reason);

  // Counts a step of the node at `line`. False once something failed.
  bool Step(int line);
  // Counts the work on a text or list of this size, where one step does a lot of it.
  bool Work(size_t size);
  // The line of what fails next.
  void set_line(int line) { line_ = line; }
  int line() const { return line_; }

  // Nesting of statements, expressions and calls; every Enter() is followed by Leave().
  bool Enter();
  void Leave() { --depth_; }

  // The most bytes a text may have.
  size_t most_text() const { return most_text_; }
  // Values that count towards the bound on memory.
  JinjaValue MakeString(TracedText text);
  JinjaValue MakeText(std::string_view text) { return MakeString(TracedText(text, {})); }
  JinjaValue MakeList(std::vector<JinjaValue> items) {
    return MakeSequence(JinjaValue::Kind::kList, {.items = std::move(items)});
  }
  JinjaValue MakeTuple(std::vector<JinjaValue> items) {
    return MakeSequence(JinjaValue::Kind::kTuple, {.items = std::move(items)});
  }
  // `type`: the name of the iterator's type in Python.
  JinjaValue MakeIterator(std::vector<JinjaValue> items, std::string_view type) {
    return MakeSequence(JinjaValue::Kind::kIterator, {.items = std::move(items), .type = type});
  }
  JinjaValue MakeSequence(JinjaValue::Kind kind, JinjaSequence sequence);
  JinjaValue MakeDict(JinjaValue::Entries entries, int32_t message = -1);
  // Objects and scopes that may refer to themselves are let go of when the run ends.
  JinjaValue MakeObject(std::shared_ptr<JinjaObject> object);
  void Keep(std::shared_ptr<JinjaScope> scope);

  // Writes to where output goes at the moment, with the message and generation block of the moment.
  void Write(const TracedText& text);
  // Sends output to `text` from now on; returns where it went before.
  TracedText* Redirect(TracedText* text) { return std::exchange(output_, text); }
  // The message that the innermost loop over messages is at; -1: none.
  int32_t message = -1;
  // How many generation blocks are around what runs.
  int generations = 0;

 private:
  const JinjaVariables& variables_;
  const JinjaOptions& options_;
  std::string_view name_;
  absl::Status status_;
  int line_ = 1;
  int depth_ = 0;
  int64_t steps_ = 0;
  size_t most_text_ = 0;
  std::shared_ptr<int64_t> memory_ = std::make_shared<int64_t>(0);  // bytes that values hold
  TracedText* output_ = nullptr;
  std::vector<std::shared_ptr<JinjaObject>> objects_;
  std::vector<std::shared_ptr<JinjaScope>> scopes_;
};

// Builds a text that may become too long: then it tells the run and stays as it is.
class JinjaTextBuilder {
 public:
  explicit JinjaTextBuilder(JinjaRun& run) : run_(run) {}
  void Append(const TracedText& text) {
    if (Fits(text.size())) text_.Append(text);
  }
  // Text of the template's own.
  void Append(std::string_view text) { Append(text, {}); }
  void Append(std::string_view text, TextOrigin origin) {
    if (Fits(text.size())) text_.Append(text, origin);
  }
  // Bytes [begin, end) of a text.
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
