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

// Memory that values of one rendering hold, so that it can be bounded. Counted when a value is made
// and given back when the last copy of it is gone.
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

// A value of a template: what Python would hold in a variable. Cheap to copy, since texts, lists
// and dicts are shared and never change once made (the sandbox of transformers refuses to change
// them, too).
//
//   JinjaValue::Dict({{JinjaValue::Template("role"), JinjaValue::Quoted("user", 0)}})
class JinjaValue {
 public:
  enum class Kind : uint8_t {
    kUndefined,  // Jinja's: prints nothing, is false, and raises when something is asked of it
    kNone,
    kBool,
    kInteger,
    kFloat,
    kString,
    kList,
    kTuple,
    kRange,     // range(...)
    kView,      // dict.keys(), .values(), .items(): has a length and no items by number
    kIterator,  // what filters such as map give: can be walked through once
    kDict,
    kObject,  // functions, macros, namespaces, loop, ...
  };
  using Entries = std::vector<std::pair<JinjaValue, JinjaValue>>;

  JinjaValue() = default;  // undefined, with no name

  // An undefined value whose use raises `hint`, such as "'x' is undefined".
  static JinjaValue Undefined(std::string hint);
  static JinjaValue None() { return JinjaValue(Kind::kNone); }
  static JinjaValue Bool(bool value);
  static JinjaValue Integer(int64_t value);
  static JinjaValue Float(double value);
  static JinjaValue String(TracedText text);
  static JinjaValue String(TracedText text, JinjaMemoryCharge charge);
  // Words of a record, which never count as markup; `message`: -1 if they belong to none.
  static JinjaValue Quoted(std::string_view text, int32_t message);
  // Text that counts as the template's own, such as bos_token.
  static JinjaValue Template(std::string_view text);
  // The same string as Markup, of which Jinja's filters `safe` and `escape` make their results:
  // what is added to one with + is escaped for HTML first.
  JinjaValue AsMarkup() const;
  static JinjaValue List(std::vector<JinjaValue> items);
  static JinjaValue Tuple(std::vector<JinjaValue> items);
  // In this order; of equal keys the last value and the first place stay, as in Python.
  static JinjaValue Dict(Entries entries);
  // A dict that is message number `message` of the conversation: loops over it (in slices, filtered
  // or reversed lists of messages as well) give text that is written to that message.
  static JinjaValue Message(Entries entries, int32_t message);
  // Every string, key or value, is Quoted with `message`. An object is a Message if `message` >= 0.
  static JinjaValue FromDocument(const Value& value, int32_t message);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const;    // bool, integer or float
  bool is_integral() const;  // bool or integer
  bool is_markup() const { return kind_ == Kind::kString && integer_ != 0; }
  bool is_sequence() const;  // list, tuple, range, view or iterator

  // Each of these only for the kinds that have it (CHECK).
  const std::string& hint() const;     // undefined
  int64_t integer() const;             // bool, integer
  double real() const;                 // bool, integer, float
  const TracedText& string() const;    // string
  const JinjaSequence& items() const;  // is_sequence()
  const JinjaDict& dict() const;       // dict
  JinjaObject& object() const;         // object
  std::shared_ptr<JinjaObject> shared_object() const;

  // The number of the message that this dict is; -1 for everything else.
  int32_t message() const;
  // How deep lists and dicts are nested in it; 0 for what holds no others.
  int depth() const;
  // Python's `is`.
  bool SameAs(const JinjaValue& other) const;

  // For what the interpreter makes itself.
  static JinjaValue Sequence(Kind kind, JinjaSequence sequence);
  static JinjaValue Dict(JinjaDict dict);
  static JinjaValue Object(std::shared_ptr<JinjaObject> object);

 private:
  struct Text;
  explicit JinjaValue(Kind kind) : kind_(kind) {}
  template <typename T>
  static JinjaValue Shared(Kind kind, T payload);

  Kind kind_ = Kind::kUndefined;
  int64_t integer_ = 0;  // of a string: 1 for Markup
  double real_ = 0;
  // std::string (a hint), Text, JinjaSequence, JinjaDict or JinjaObject, as kind_ says.
  std::shared_ptr<void> payload_;
};

// The variables that a template is rendered with.
using JinjaVariables = std::map<std::string, JinjaValue, std::less<>>;

struct JinjaSequence {
  std::vector<JinjaValue> items;
  // "dict_items" and so on, for views and iterators; "group" for what groupby makes of tuples.
  std::string_view type;
  // Of a range.
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  // Of an iterator: how many items were taken from it.
  mutable size_t taken = 0;
  int depth = 1;  // set by JinjaValue
  JinjaMemoryCharge charge;
};

struct JinjaDict {
  JinjaValue::Entries entries;  // keys differ
  int32_t message = -1;
  int depth = 1;                                         // set by JinjaValue
  std::unordered_map<std::string_view, size_t> by_text;  // of keys that are strings, into entries
  JinjaMemoryCharge charge;

  // The value of a key, or nullptr.
  const JinjaValue* Find(std::string_view key) const;
  const JinjaValue* Find(const JinjaValue& key) const;
};

}  // namespace horizon
