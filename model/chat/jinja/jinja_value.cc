#include "model/chat/jinja/jinja_value.h"

#include <algorithm>

#include "common/check.h"
#include "model/chat/jinja/jinja_object.h"
#include "model/chat/jinja/python/python_compare.h"

namespace horizon {

struct JinjaValue::Text {
  TracedText text;
  JinjaMemoryCharge charge;
};

template <typename T>
JinjaValue JinjaValue::Shared(Kind kind, T payload) {
  JinjaValue value(kind);
  value.payload_ = std::make_shared<T>(std::move(payload));
  return value;
}

JinjaValue JinjaValue::Undefined(std::string hint) {
  return Shared(Kind::kUndefined, std::move(hint));
}

JinjaValue JinjaValue::Bool(bool value) {
  JinjaValue made(Kind::kBool);
  made.integer_ = value ? 1 : 0;
  return made;
}

JinjaValue JinjaValue::Integer(int64_t value) {
  JinjaValue made(Kind::kInteger);
  made.integer_ = value;
  return made;
}

JinjaValue JinjaValue::Float(double value) {
  JinjaValue made(Kind::kFloat);
  made.real_ = value;
  return made;
}

JinjaValue JinjaValue::String(TracedText text) { return String(std::move(text), {}); }

JinjaValue JinjaValue::String(TracedText text, JinjaMemoryCharge charge) {
  return Shared(Kind::kString, Text{std::move(text), std::move(charge)});
}

JinjaValue JinjaValue::AsMarkup() const {
  JinjaValue markup = *this;
  if (kind_ == Kind::kString) markup.integer_ = 1;
  return markup;
}

JinjaValue JinjaValue::Quoted(std::string_view text, int32_t message) {
  return String(TracedText(text, {.quoted = true, .message = message}));
}

JinjaValue JinjaValue::Template(std::string_view text) { return String(TracedText(text, {})); }

JinjaValue JinjaValue::List(std::vector<JinjaValue> items) {
  return Sequence(Kind::kList, {.items = std::move(items)});
}

JinjaValue JinjaValue::Tuple(std::vector<JinjaValue> items) {
  return Sequence(Kind::kTuple, {.items = std::move(items)});
}

JinjaValue JinjaValue::Sequence(Kind kind, JinjaSequence sequence) {
  sequence.depth = 1;
  for (const JinjaValue& item : sequence.items) {
    sequence.depth = std::max(sequence.depth, item.depth() + 1);
  }
  return Shared(kind, std::move(sequence));
}

JinjaValue JinjaValue::Dict(Entries entries) {
  JinjaDict dict;
  dict.entries = std::move(entries);
  return Dict(std::move(dict));
}

JinjaValue JinjaValue::Message(Entries entries, int32_t message) {
  JinjaDict dict;
  dict.entries = std::move(entries);
  dict.message = message;
  return Dict(std::move(dict));
}

JinjaValue JinjaValue::Dict(JinjaDict dict) {
  Entries given = std::move(dict.entries);
  dict.entries = {};
  dict.entries.reserve(given.size());
  dict.by_text.clear();
  dict.depth = 1;
  for (auto& [key, value] : given) {
    dict.depth = std::max({dict.depth, key.depth() + 1, value.depth() + 1});
    if (const JinjaValue* there = dict.Find(key); there != nullptr) {
      const size_t place = static_cast<size_t>(
          std::find_if(dict.entries.begin(), dict.entries.end(),
                       [&](const auto& entry) { return &entry.second == there; }) -
          dict.entries.begin());
      dict.entries[place].second = std::move(value);
      continue;
    }
    dict.entries.emplace_back(std::move(key), std::move(value));
    const JinjaValue& kept = dict.entries.back().first;
    if (kept.is(Kind::kString)) {
      dict.by_text.emplace(kept.string().text(), dict.entries.size() - 1);
    }
  }
  return Shared(Kind::kDict, std::move(dict));
}

JinjaValue JinjaValue::Object(std::shared_ptr<JinjaObject> object) {
  JinjaValue value(Kind::kObject);
  value.payload_ = std::move(object);
  return value;
}

namespace {

JinjaValue Convert(const Value& value, int32_t message);

JinjaValue::Entries ConvertEntries(const Value::Object& object, int32_t message) {
  JinjaValue::Entries entries;
  entries.reserve(object.size());
  for (const auto& [key, item] : object) {
    entries.emplace_back(JinjaValue::Quoted(key, message), Convert(item, message));
  }
  return entries;
}

JinjaValue Convert(const Value& value, int32_t message) {
  if (const bool* boolean = value.As<bool>()) return JinjaValue::Bool(*boolean);
  if (const int64_t* integer = value.As<int64_t>()) return JinjaValue::Integer(*integer);
  if (const double* real = value.As<double>()) return JinjaValue::Float(*real);
  if (const std::string* text = value.As<std::string>()) return JinjaValue::Quoted(*text, message);
  if (const Value::Array* array = value.As<Value::Array>()) {
    std::vector<JinjaValue> items;
    items.reserve(array->size());
    for (const Value& item : *array) items.push_back(Convert(item, message));
    return JinjaValue::List(std::move(items));
  }
  if (const Value::Object* object = value.As<Value::Object>()) {
    return JinjaValue::Dict(ConvertEntries(*object, message));
  }
  return JinjaValue::None();
}

}  // namespace

JinjaValue JinjaValue::FromDocument(const Value& value, int32_t message) {
  if (const Value::Object* object = value.As<Value::Object>(); object != nullptr && message >= 0) {
    return Message(ConvertEntries(*object, message), message);
  }
  return Convert(value, message);
}

bool JinjaValue::is_number() const { return is_integral() || kind_ == Kind::kFloat; }
bool JinjaValue::is_integral() const { return kind_ == Kind::kBool || kind_ == Kind::kInteger; }
bool JinjaValue::is_sequence() const { return kind_ >= Kind::kList && kind_ <= Kind::kIterator; }

const std::string& JinjaValue::hint() const {
  static const std::string kNone = "the value is undefined";
  CHECK(kind_ == Kind::kUndefined);
  return payload_ == nullptr ? kNone : *static_cast<const std::string*>(payload_.get());
}

int64_t JinjaValue::integer() const {
  CHECK(is_integral());
  return integer_;
}

double JinjaValue::real() const {
  CHECK(is_number());
  return kind_ == Kind::kFloat ? real_ : static_cast<double>(integer_);
}

const TracedText& JinjaValue::string() const {
  CHECK(kind_ == Kind::kString);
  return static_cast<const Text*>(payload_.get())->text;
}

const JinjaSequence& JinjaValue::items() const {
  CHECK(is_sequence());
  return *static_cast<const JinjaSequence*>(payload_.get());
}

const JinjaDict& JinjaValue::dict() const {
  CHECK(kind_ == Kind::kDict);
  return *static_cast<const JinjaDict*>(payload_.get());
}

JinjaObject& JinjaValue::object() const {
  CHECK(kind_ == Kind::kObject);
  return *static_cast<JinjaObject*>(payload_.get());
}

std::shared_ptr<JinjaObject> JinjaValue::shared_object() const {
  CHECK(kind_ == Kind::kObject);
  return std::static_pointer_cast<JinjaObject>(payload_);
}

int32_t JinjaValue::message() const { return kind_ == Kind::kDict ? dict().message : -1; }

int JinjaValue::depth() const {
  if (is_sequence()) return items().depth;
  return kind_ == Kind::kDict ? dict().depth : 0;
}

bool JinjaValue::SameAs(const JinjaValue& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
    case Kind::kInteger:
      return integer_ == other.integer_;
    case Kind::kFloat:
      return false;
    case Kind::kString:
      return string().text() == other.string().text();
    case Kind::kObject:
      return shared_object() == other.shared_object();
    default:
      return payload_ == other.payload_;
  }
}

const JinjaValue* JinjaDict::Find(std::string_view key) const {
  const auto found = by_text.find(key);
  return found == by_text.end() ? nullptr : &entries[found->second].second;
}

const JinjaValue* JinjaDict::Find(const JinjaValue& key) const {
  if (key.is(JinjaValue::Kind::kString)) return Find(std::string_view(key.string().text()));
  for (const auto& [one, value] : entries) {
    if (PythonEquals(one, key)) return &value;
  }
  return nullptr;
}

JinjaMemoryCharge::JinjaMemoryCharge(std::shared_ptr<int64_t> counter, int64_t bytes)
    : counter_(std::move(counter)), bytes_(bytes) {
  if (counter_ != nullptr) *counter_ += bytes_;
}

JinjaMemoryCharge::JinjaMemoryCharge(JinjaMemoryCharge&& other) noexcept
    : counter_(std::move(other.counter_)), bytes_(other.bytes_) {}

JinjaMemoryCharge& JinjaMemoryCharge::operator=(JinjaMemoryCharge&& other) noexcept {
  std::swap(counter_, other.counter_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

JinjaMemoryCharge::~JinjaMemoryCharge() {
  if (counter_ != nullptr) *counter_ -= bytes_;
}

}  // namespace horizon
