#include "model/chat/jinja/jinja_run.h"

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_error.h"
#include "model/chat/jinja/jinja_scope.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

// What a list of n items, a dict entry or an object takes in memory, about.
constexpr int64_t kItemBytes = sizeof(JinjaValue);
constexpr int64_t kEntryBytes = 160;
constexpr int64_t kValueBytes = 160;
constexpr int64_t kObjectBytes = 512;
// All values together may take this many times the bound on one text.
constexpr int64_t kTextsInMemory = 4;
// Bytes of text that count as one step.
constexpr size_t kBytesPerStep = 64;

}  // namespace

JinjaRun::JinjaRun(const JinjaVariables& variables, const JinjaOptions& options,
                   std::string_view name)
    : variables_(variables),
      options_(options),
      name_(name),
      max_text_bytes_(static_cast<size_t>(options.limits.output.value())) {}

JinjaRun::~JinjaRun() {
  for (const std::shared_ptr<JinjaScope>& scope : scopes_) scope->variables.clear();
  for (const std::shared_ptr<JinjaScope>& scope : scopes_) scope->parent = nullptr;
  for (const std::shared_ptr<JinjaObject>& object : objects_) object->Release();
}

JinjaValue JinjaRun::Fail(std::string_view reason) {
  if (!failed()) status_ = JinjaError(name_, line_, reason);
  return {};
}

JinjaValue JinjaRun::Exhaust(std::string_view reason) {
  if (!failed()) status_ = absl::ResourceExhaustedError(StrCat(name_, ":", line_, ": ", reason));
  return {};
}

bool JinjaRun::Step(int line) {
  if (failed()) return false;
  line_ = line;
  return Work(0);
}

bool JinjaRun::Work(size_t size) {
  steps_ += 1 + static_cast<int64_t>(size / kBytesPerStep);
  if (steps_ > options_.limits.steps) {
    Exhaust(StrCat("the template takes more than ", options_.limits.steps, " steps"));
  } else if (*memory_ > kTextsInMemory * static_cast<int64_t>(max_text_bytes_)) {
    Exhaust(StrCat("the template holds more than ",
                   ToString(options_.limits.output * static_cast<uint64_t>(kTextsInMemory)),
                   " in its variables"));
  }
  return !failed();
}

bool JinjaRun::Enter() {
  ++depth_;
  if (depth_ > options_.limits.depth) {
    Exhaust(StrCat("statements, expressions and macros are nested deeper than ",
                   options_.limits.depth, " levels"));
  }
  return !failed();
}

bool JinjaTextBuilder::Fits(size_t more) {
  if (run_.failed()) return false;
  if (more <= run_.max_text_bytes() && text_.size() <= run_.max_text_bytes() - more) return true;
  run_.Exhaust(StrCat("a text becomes longer than ", ToString(run_.options().limits.output)));
  return false;
}

JinjaValue JinjaRun::MakeString(TracedText text) {
  if (failed()) return {};
  if (text.size() > max_text_bytes_) {
    return Exhaust(StrCat("a text becomes longer than ", ToString(options_.limits.output)));
  }
  const size_t bytes = text.size() + text.runs().size() * sizeof(TextRun);
  Work(bytes);
  JinjaMemoryCharge charge(memory_, static_cast<int64_t>(bytes) + kValueBytes);
  return JinjaValue::String(std::move(text), std::move(charge));
}

JinjaValue JinjaRun::MakeSequence(JinjaValue::Kind kind, JinjaSequence sequence) {
  if (failed()) return {};
  Work(sequence.items.size() * 4);
  sequence.charge = JinjaMemoryCharge(
      memory_, kValueBytes + kItemBytes * static_cast<int64_t>(sequence.items.capacity()));
  JinjaValue value = JinjaValue::Sequence(kind, std::move(sequence));
  if (value.depth() > options_.limits.depth) {
    return Exhaust(StrCat("values are nested deeper than ", options_.limits.depth, " levels"));
  }
  return value;
}

JinjaValue JinjaRun::MakeDict(JinjaValue::Entries entries, int32_t number) {
  if (failed()) return {};
  for (const auto& [key, value] : entries) {
    if (key.is(JinjaValue::Kind::kList) || key.is(JinjaValue::Kind::kDict)) {
      return Fail(StrCat("unhashable type: '", PythonTypeName(key), "'"));
    }
  }
  Work(entries.size() * 16);
  JinjaDict dict;
  dict.message = number;
  dict.charge =
      JinjaMemoryCharge(memory_, kValueBytes + kEntryBytes * static_cast<int64_t>(entries.size()));
  dict.entries = std::move(entries);
  JinjaValue value = JinjaValue::Dict(std::move(dict));
  if (value.depth() > options_.limits.depth) {
    return Exhaust(StrCat("values are nested deeper than ", options_.limits.depth, " levels"));
  }
  return value;
}

JinjaValue JinjaRun::MakeObject(std::shared_ptr<JinjaObject> object) {
  *memory_ += kObjectBytes;
  objects_.push_back(object);
  return JinjaValue::Object(std::move(object));
}

void JinjaRun::Keep(std::shared_ptr<JinjaScope> scope) {
  *memory_ += kObjectBytes;
  scopes_.push_back(std::move(scope));
}

void JinjaRun::Write(const TracedText& text) {
  if (failed() || output_ == nullptr) return;
  if (text.size() > max_text_bytes_ || output_->size() > max_text_bytes_ - text.size()) {
    Exhaust(StrCat("a text becomes longer than ", ToString(options_.limits.output)));
    return;
  }
  Work(text.size());
  size_t begin = 0;
  for (const TextRun& run : text.runs()) {
    TextOrigin origin = run.origin;
    if (message >= 0) origin.message = message;
    if (generations > 0) origin.generation = true;
    output_->Append(std::string_view(text.text()).substr(begin, run.end - begin), origin);
    begin = run.end;
  }
}

}  // namespace horizon
