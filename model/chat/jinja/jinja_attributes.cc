#include "model/chat/jinja/jinja_attributes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

class MethodObject : public JinjaObject {
 public:
  MethodObject(JinjaMethod method, JinjaValue self, std::string_view name)
      : method_(method), self_(std::move(self)), name_(name) {}
  std::string_view TypeName() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  JinjaValue Call(JinjaRun& run, const JinjaArguments& arguments) override {
    return method_(run, self_, arguments);
  }

 private:
  JinjaMethod method_;
  JinjaValue self_;
  std::string name_;
};

std::string TypeRepr(const JinjaValue& value) {
  return value.is(Kind::kNone) ? "None" : StrCat("'", PythonTypeName(value), " object'");
}

JinjaValue NoAttribute(const JinjaValue& value, std::string_view name) {
  return JinjaValue::Undefined(StrCat(TypeRepr(value), " has no attribute ", PythonRepr(name)));
}

// What would change a list or dict, which the sandbox refuses when it is called.
bool IsMutator(Kind kind, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOfLists = {
      "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  static constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem",
                                                               "setdefault", "update"};
  if (kind == Kind::kList)
    return std::find(kOfLists.begin(), kOfLists.end(), name) != kOfLists.end();
  return kind == Kind::kDict && std::find(kOfDicts.begin(), kOfDicts.end(), name) != kOfDicts.end();
}

std::optional<JinjaValue> RangeAttribute(const JinjaSequence& range, std::string_view name) {
  if (name == "start") return JinjaValue::Integer(range.start);
  if (name == "stop") return JinjaValue::Integer(range.stop);
  if (name == "step") return JinjaValue::Integer(range.step);
  return std::nullopt;
}

// One bound of a slice within [0, size], or [-1, size - 1] for negative steps.
int64_t SliceBound(const JinjaValue& bound, int64_t otherwise, int64_t size, bool forward) {
  if (bound.is(Kind::kNone)) return otherwise;
  int64_t place = bound.integer();
  if (place < 0) place = std::max<int64_t>(place, -size - 1) + size;
  return forward ? std::clamp<int64_t>(place, 0, size) : std::clamp<int64_t>(place, -1, size - 1);
}

}  // namespace

JinjaValue JinjaObject::Call(JinjaRun& run, const JinjaArguments& arguments) {
  return run.Fail(StrCat("'", TypeName(), "' object is not callable"));
}

std::optional<JinjaValue> JinjaObject::Attribute(JinjaRun& run, std::string_view name) {
  return std::nullopt;
}

std::optional<TracedText> JinjaObject::Repr(JinjaRun& run) { return std::nullopt; }

JinjaValue MakeMethod(JinjaMethod method, JinjaValue self, std::string_view name) {
  return JinjaValue::Object(std::make_shared<MethodObject>(method, std::move(self), name));
}

std::optional<JinjaValue> FindAttribute(JinjaRun& run, const JinjaValue& value,
                                        std::string_view name) {
  if (value.is(Kind::kObject)) return value.object().Attribute(run, name);
  JinjaMethod method = nullptr;
  if (value.is(Kind::kString)) {
    method = FindStringMethod(name);
  } else if (value.is(Kind::kRange)) {
    if (std::optional<JinjaValue> part = RangeAttribute(value.items(), name)) return part;
    method = FindContainerMethod(value.kind(), name);
  } else if (IsMutator(value.kind(), name) || name == "__class__") {
    return JinjaValue::Undefined(StrCat("access to attribute ", PythonRepr(name), " of '",
                                        PythonTypeName(value), "' object is unsafe."));
  } else if (value.is(Kind::kTuple) && value.items().type == "group" &&
             (name == "grouper" || name == "list")) {
    return value.items().items[name == "grouper" ? 0 : 1];
  } else {
    method = FindContainerMethod(value.kind(), name);
  }
  if (method == nullptr) return std::nullopt;
  return MakeMethod(method, value, name);
}

JinjaValue GetAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name) {
  if (run.failed()) return {};
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (std::optional<JinjaValue> found = FindAttribute(run, value, name)) return *found;
  if (value.is(Kind::kDict)) {
    if (const JinjaValue* item = value.dict().Find(name)) return *item;
  }
  return NoAttribute(value, name);
}

JinjaValue GetItem(JinjaRun& run, const JinjaValue& value, const JinjaValue& key) {
  if (run.failed()) return {};
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (value.is(Kind::kDict)) {
    if (const JinjaValue* item = value.dict().Find(key)) return *item;
  } else if (key.is_integral()) {
    int64_t index = key.integer();
    if (value.is(Kind::kString)) {
      const std::string& text = value.string().text();
      run.Work(text.size());
      const auto count = static_cast<int64_t>(CountCharacters(text));
      if (index < 0) index += count;
      if (index >= 0 && index < count) {
        const size_t begin = PlaceOfCharacter(text, static_cast<size_t>(index));
        const size_t length = PlaceOfCharacter(std::string_view(text).substr(begin), 1);
        return run.MakeString(value.string().Slice(begin, begin + length));
      }
    } else if (value.is(Kind::kList) || value.is(Kind::kTuple) || value.is(Kind::kRange)) {
      const std::vector<JinjaValue>& items = value.items().items;
      const auto count = static_cast<int64_t>(items.size());
      if (index < 0) index += count;
      if (index >= 0 && index < count) return items[static_cast<size_t>(index)];
    }
  }
  if (key.is(Kind::kString)) {
    if (std::optional<JinjaValue> found = FindAttribute(run, value, key.string().text())) {
      return *found;
    }
    return NoAttribute(value, key.string().text());
  }
  return JinjaValue::Undefined(
      StrCat(TypeRepr(value), " has no element ", PythonRepr(run, key).text()));
}

JinjaValue GetSlice(JinjaRun& run, const JinjaValue& value, const JinjaValue& begin,
                    const JinjaValue& end, const JinjaValue& step) {
  if (run.failed()) return {};
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  const bool is_text = value.is(Kind::kString);
  if (value.is(Kind::kDict)) return run.Fail("unhashable type: 'slice'");
  if (!is_text && !value.is(Kind::kList) && !value.is(Kind::kTuple) && !value.is(Kind::kRange)) {
    return run.Fail(StrCat("'", PythonTypeName(value), "' object is not subscriptable"));
  }
  for (const JinjaValue* bound : {&begin, &end, &step}) {
    if (!bound->is(Kind::kNone) && !bound->is_integral()) {
      return run.Fail("slice indices must be integers or None or have an __index__ method");
    }
  }
  const int64_t stride = step.is(Kind::kNone) ? 1 : step.integer();
  if (stride == 0) return run.Fail("slice step cannot be zero");
  std::vector<size_t> places;
  if (is_text) places = CharacterPlaces(value.string().text());
  const auto size = static_cast<int64_t>(is_text ? places.size() - 1 : value.items().items.size());
  run.Work(static_cast<size_t>(size));
  const bool forward = stride > 0;
  const int64_t first = SliceBound(begin, forward ? 0 : size - 1, size, forward);
  const int64_t last = SliceBound(end, forward ? size : -1, size, forward);
  if (is_text && stride == 1) {
    const size_t from = places[static_cast<size_t>(first)];
    return run.MakeString(
        value.string().Slice(from, std::max(from, places[static_cast<size_t>(last)])));
  }
  TracedText text;
  JinjaSequence part;
  for (int64_t i = first; forward ? i < last : i > last;) {
    const auto place = static_cast<size_t>(i);
    if (is_text) {
      text.Append(value.string().Slice(places[place], places[place + 1]));
    } else {
      part.items.push_back(value.items().items[place]);
    }
    if (__builtin_add_overflow(i, stride, &i)) break;
  }
  if (is_text) return run.MakeString(std::move(text));
  if (value.is(Kind::kRange)) {
    const JinjaSequence& range = value.items();
    part.step = range.step * stride;
    part.start = range.start + first * range.step;
    part.stop = range.start + last * range.step;
  }
  return run.MakeSequence(value.kind(), std::move(part));
}

std::vector<JinjaValue> TakeItems(JinjaRun& run, const JinjaValue& value) {
  std::vector<JinjaValue> items;
  if (run.failed() || value.is(Kind::kUndefined)) return items;
  if (value.is(Kind::kString)) {
    const TracedText& text = value.string();
    const std::vector<size_t> places = CharacterPlaces(text.text());
    for (size_t i = 0; i + 1 < places.size() && !run.failed(); ++i) {
      items.push_back(run.MakeString(text.Slice(places[i], places[i + 1])));
    }
  } else if (value.is(Kind::kDict)) {
    for (const auto& [key, item] : value.dict().entries) items.push_back(key);
  } else if (value.is(Kind::kIterator)) {
    const JinjaSequence& sequence = value.items();
    items.assign(sequence.items.begin() + static_cast<std::ptrdiff_t>(sequence.taken),
                 sequence.items.end());
    sequence.taken = sequence.items.size();
  } else if (value.is_sequence()) {
    items = value.items().items;
  } else {
    run.Fail(StrCat("'", PythonTypeName(value), "' object is not iterable"));
  }
  run.Work(items.size() * 4);
  return items;
}

std::optional<int64_t> FindLength(const JinjaValue& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return static_cast<int64_t>(CountCharacters(value.string().text()));
    case Kind::kDict:
      return static_cast<int64_t>(value.dict().entries.size());
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      return static_cast<int64_t>(value.items().items.size());
    default:
      return std::nullopt;
  }
}

JinjaValue CallValue(JinjaRun& run, const JinjaValue& callee, const JinjaArguments& arguments) {
  if (run.failed()) return {};
  if (callee.is(Kind::kUndefined)) return run.Fail(callee.hint());
  if (!callee.is(Kind::kObject)) {
    return run.Fail(StrCat("'", PythonTypeName(callee), "' object is not callable"));
  }
  const std::shared_ptr<JinjaObject> object = callee.shared_object();
  JinjaValue result = run.Enter() ? object->Call(run, arguments) : JinjaValue();
  run.Leave();
  return result;
}

}  // namespace horizon
