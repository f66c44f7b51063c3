#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/documents/document.h"
#include "model/chat/jinja/traced_text.h"

namespace horizon {

class JinjaObject;
struct JinjaDict;
struct JinjaSequence;

// Counts the memory that one value holds against a counter of its rendering, so that the total can
// be limited. The bytes are added when the value is made and subtracted when its last copy is
// destroyed.
class JinjaMemoryCharge {
 public:
  JinjaMemoryCharge() = default;
  JinjaMemoryCharge(std::shared_ptr<int64_t> counter, int64_t bytes);
  JinjaMemoryCharge(JinjaMemoryCharge&& other) noexcept;
  JinjaMemoryCharge& operator=(JinjaMemoryCharge&& other) noexcept;
  ~JinjaMemoryCharge();

 private:
  std::shared_ptr<int64_t> counter_;
  int64_t bytes_ = 0;
};

// A value in a template, like a Python object in a variable. Cheap to copy, because texts, lists
// and dicts are shared and immutable (the sandbox of transformers refuses to change them, too).
//
//   JinjaValue::Dict({{JinjaValue::Template("role"), JinjaValue::Quoted("user", 0)}})
class JinjaValue {
 public:
  enum class Kind : uint8_t {
    kUndefined,  // as in Jinja: prints nothing, is false, and raises on most other uses
    kNone,
    kBool,
    kInteger,
    kFloat,
    kString,
    kList,
    kTuple,
    kRange,     // range(...)
    kView,      // dict.keys(), .values(), .items(): has a length but no index
    kIterator,  // the result of filters such as map: can be iterated once
    kDict,
    kObject,  // functions, macros, namespaces, loop, ...
  };
  using Entries = std::vector<std::pair<JinjaValue, JinjaValue>>;

  JinjaValue() = default;  // undefined, without a hint

  // An undefined value. Using it raises `hint`, such as "'x' is undefined".
  static JinjaValue Undefined(std::string hint);
  static JinjaValue None() { return JinjaValue(Kind::kNone); }
  static JinjaValue Bool(bool value);
  static JinjaValue Integer(int64_t value);
  static JinjaValue Float(double value);
  static JinjaValue String(TracedText text);
  static JinjaValue String(TracedText text, JinjaMemoryCharge charge);
  // Text that is quoted from a record and therefore never counts as markup. `message` is the number
  // of its message; -1: none.
  static JinjaValue Quoted(std::string_view text, int32_t message);
  // Text that counts as written by the template itself, such as bos_token.
  static JinjaValue Template(std::string_view text);
  // The same string as Markup, the type that the filters `safe` and `escape` of Jinja return: a
  // string that is added to it with + is escaped for HTML first.
  JinjaValue AsMarkup() const;
  static JinjaValue List(std::vector<JinjaValue> items);
  static JinjaValue Tuple(std::vector<JinjaValue> items);
  // Keeps the order of the entries. Of equal keys, the first position and the last value are kept,
  // as in Python.
  static JinjaValue Dict(Entries entries);
  // The dict of message number `message` of the conversation. When a loop visits it (also through
  // slices, filtered or reversed lists of messages), the text written meanwhile belongs to that
  // message.
  static JinjaValue Message(Entries entries, int32_t message);
  // Converts a parsed document. Every string, key or value, becomes Quoted with `message`. An
  // object becomes a Message if `message` >= 0.
  static JinjaValue FromDocument(const Value& value, int32_t message);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const;    // bool, integer or float
  bool is_integral() const;  // bool or integer
  bool is_markup() const { return kind_ == Kind::kString && integer_ != 0; }
  bool is_sequence() const;  // list, tuple, range, view or iterator

  // Each accessor may only be called for the kinds that have it (CHECK).
  const std::string& hint() const;     // undefined
  int64_t integer() const;             // bool, integer
  double real() const;                 // bool, integer, float
  const TracedText& string() const;    // string
  const JinjaSequence& items() const;  // is_sequence()
  const JinjaDict& dict() const;       // dict
  JinjaObject& object() const;         // object
  std::shared_ptr<JinjaObject> shared_object() const;

  // The number of the message that this dict is; -1 for every other value.
  int32_t message() const;
  // How deep lists and dicts are nested in it; 0 for a value that holds no others.
  int depth() const;
  // The operator `is` of Python.
  bool SameAs(const JinjaValue& other) const;

  // For the interpreter itself.
  static JinjaValue Sequence(Kind kind, JinjaSequence sequence);
  static JinjaValue Dict(JinjaDict dict);
  static JinjaValue Object(std::shared_ptr<JinjaObject> object);

 private:
  struct Text;
  explicit JinjaValue(Kind kind) : kind_(kind) {}
  template <typename T>
  static JinjaValue Shared(Kind kind, T payload);

  Kind kind_ = Kind::kUndefined;
  int64_t integer_ = 0;  // for a string: 1 if it is Markup
  double real_ = 0;
  // std::string (a hint), Text, JinjaSequence, JinjaDict or JinjaObject, as kind_ says.
  std::shared_ptr<void> payload_;
};

// The variables that a template is rendered with.
using JinjaVariables = std::map<std::string, JinjaValue, std::less<>>;

// The payload of a list, tuple, range, view or iterator.
struct JinjaSequence {
  std::vector<JinjaValue> items;
  // The Python type of a view or iterator, such as "dict_items"; "group" for the tuples that
  // groupby makes.
  std::string_view type;
  // The bounds of a range.
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  // How many items were taken from an iterator.
  mutable size_t taken = 0;
  int depth = 1;  // set by JinjaValue
  JinjaMemoryCharge charge;
};

// The payload of a dict.
struct JinjaDict {
  JinjaValue::Entries entries;  // keys are unique
  int32_t message = -1;
  int depth = 1;                                         // set by JinjaValue
  std::unordered_map<std::string_view, size_t> by_text;  // string keys -> index in entries
  JinjaMemoryCharge charge;

  // The value of a key, or nullptr.
  const JinjaValue* Find(std::string_view key) const;
  const JinjaValue* Find(const JinjaValue& key) const;
};

}  // namespace horizon
