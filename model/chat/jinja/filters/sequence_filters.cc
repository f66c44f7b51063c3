#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/filters/jinja_tests.h"
#include "model/chat/jinja/jinja_operators.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

JinjaValue First(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "first", arguments, {}, 0);
  if (value.is(Kind::kIterator)) {
    const JinjaSequence& sequence = value.items();
    if (sequence.taken < sequence.items.size()) return sequence.items[sequence.taken++];
  } else if (std::vector<JinjaValue> items = TakeItems(run, value); !items.empty()) {
    return items.front();
  }
  return JinjaValue::Undefined("No first item, sequence was empty.");
}

JinjaValue Last(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "last", arguments, {}, 0);
  if (value.is(Kind::kIterator)) {
    return run.Fail(StrCat("'", PythonTypeName(value), "' object is not reversible"));
  }
  std::vector<JinjaValue> items = TakeItems(run, value);
  if (items.empty()) return JinjaValue::Undefined("No last item, sequence was empty.");
  return items.back();
}

JinjaValue Length(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "length", arguments, {}, 0);
  const std::optional<int64_t> length = FindLength(value);
  if (!length.has_value()) {
    return run.Fail(StrCat("object of type '", PythonTypeName(value), "' has no len()"));
  }
  return JinjaValue::Integer(*length);
}

JinjaValue ToList(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "list", arguments, {}, 0);
  return run.MakeList(TakeItems(run, value));
}

JinjaValue Items(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "items", arguments, {}, 0);
  std::vector<JinjaValue> pairs;
  if (value.is(Kind::kDict)) {
    for (const auto& [key, item] : value.dict().entries)
      pairs.push_back(run.MakeTuple({key, item}));
  } else if (!value.is(Kind::kUndefined)) {
    return run.Fail("Can only get item pairs from a mapping.");
  }
  return run.MakeIterator(std::move(pairs), "generator");
}

JinjaValue Reverse(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "reverse", arguments, {}, 0);
  if (value.is(Kind::kString)) {
    return GetSlice(run, value, JinjaValue::None(), JinjaValue::None(), JinjaValue::Integer(-1));
  }
  std::vector<JinjaValue> items = TakeItems(run, value);
  std::reverse(items.begin(), items.end());
  if (value.is(Kind::kIterator)) return run.MakeList(std::move(items));
  return run.MakeIterator(std::move(items), "list_reverseiterator");
}

JinjaValue Join(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "join", arguments, {"d", "attribute"}, 0);
  const TracedText separator = given.given(0) ? PythonStr(run, given[0]) : TracedText();
  JinjaTextBuilder text(run);
  bool first = true;
  for (const JinjaValue& item : TakeItems(run, value)) {
    if (run.failed()) break;
    if (!first) text.Append(separator);
    first = false;
    text.Append(PythonStr(run, given.set(1) ? GetPath(run, item, given[1], nullptr) : item));
  }
  return text.FinishString();
}

JinjaValue Map(JinjaRun& run, const JinjaValue& value, const JinjaArguments& given_arguments) {
  JinjaArguments arguments = given_arguments;  // without what is for `map` itself
  std::vector<JinjaValue> results;
  if (!PythonTruth(run, value)) return run.MakeIterator({}, "generator");
  JinjaValue attribute;
  JinjaValue otherwise = JinjaValue::None();
  const bool by_attribute = arguments.positional.empty() && !arguments.named.empty();
  std::string name;
  if (by_attribute) {
    for (const auto& [known, given] : arguments.named) {
      if (known == "attribute") {
        attribute = given;
      } else if (known == "default") {
        otherwise = given;
      } else {
        return run.Fail(StrCat("Unexpected keyword argument ", PythonRepr(known)));
      }
    }
    if (attribute.is(Kind::kUndefined)) return run.Fail("map requires a filter argument");
  } else {
    if (arguments.positional.empty()) return run.Fail("map requires a filter argument");
    if (!arguments.positional[0].is(Kind::kString)) {
      return run.Fail("map takes the name of a filter");
    }
    name = arguments.positional[0].string().text();
    arguments.positional.erase(arguments.positional.begin());
  }
  for (const JinjaValue& item : TakeItems(run, value)) {
    if (!run.Work(0)) return {};
    results.push_back(by_attribute ? GetPath(run, item, attribute,
                                             otherwise.is(Kind::kNone) ? nullptr : &otherwise)
                                   : ApplyFilter(run, name, item, arguments));
  }
  return run.MakeIterator(std::move(results), "generator");
}

template <bool kAttribute, bool kKeeps>
JinjaValue Select(JinjaRun& run, const JinjaValue& value, const JinjaArguments& given_arguments) {
  JinjaArguments arguments = given_arguments;  // without what is for the filter itself
  if (!PythonTruth(run, value)) return run.MakeIterator({}, "generator");
  JinjaValue attribute = JinjaValue::None();
  std::vector<JinjaValue>& positional = arguments.positional;
  if (kAttribute) {
    if (positional.empty()) return run.Fail("Missing parameter for attribute name");
    attribute = positional.front();
    positional.erase(positional.begin());
  }
  const bool has_test = !positional.empty();
  std::string test;
  if (has_test) {
    if (!positional.front().is(Kind::kString)) return run.Fail("a filter takes the name of a test");
    test = positional.front().string().text();
    positional.erase(positional.begin());
  }
  std::vector<JinjaValue> selected;
  for (const JinjaValue& item : TakeItems(run, value)) {
    if (!run.Work(0)) return {};
    const JinjaValue asked = GetPath(run, item, attribute, nullptr);
    const bool holds = has_test ? ApplyTest(run, test, asked, arguments) : PythonTruth(run, asked);
    if (holds == kKeeps) selected.push_back(item);
  }
  return run.MakeIterator(std::move(selected), "generator");
}

JinjaValue Batch(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = given.Integer(0, 1);
  std::vector<JinjaValue> batches;
  std::vector<JinjaValue> batch;
  if (size > 1'000'000) return run.Exhaust("a batch has more than a million items");
  for (JinjaValue& item : TakeItems(run, value)) {
    if (static_cast<int64_t>(batch.size()) == size) {
      batches.push_back(run.MakeList(std::exchange(batch, {})));
    }
    batch.push_back(std::move(item));
  }
  if (!batch.empty()) {
    while (given.set(1) && static_cast<int64_t>(batch.size()) < size) batch.push_back(given[1]);
    batches.push_back(run.MakeList(std::move(batch)));
  }
  return run.MakeIterator(std::move(batches), "generator");
}

JinjaValue Slice(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "slice", arguments, {"slices", "fill_with"}, 1);
  const int64_t slices = given.Integer(0, 1);
  const std::vector<JinjaValue> items = TakeItems(run, value);
  if (slices == 0) return run.Fail("integer division or modulo by zero");
  if (slices > 1'000'000) return run.Exhaust("a list is cut into more than a million slices");
  std::vector<JinjaValue> parts;
  const auto length = static_cast<int64_t>(items.size());
  const int64_t each = slices > 0 ? length / slices : 0;
  const int64_t longer = slices > 0 ? length % slices : 0;
  int64_t at = 0;
  for (int64_t i = 0; i < slices && !run.failed(); ++i) {
    const int64_t end = at + each + (i < longer ? 1 : 0);
    std::vector<JinjaValue> part(items.begin() + at, items.begin() + end);
    if (given.set(1) && i >= longer) part.push_back(given[1]);
    parts.push_back(run.MakeList(std::move(part)));
    at = end;
  }
  return run.MakeIterator(std::move(parts), "generator");
}

JinjaValue Sum(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "sum", arguments, {"attribute", "start"}, 0);
  JinjaValue sum = given.Or(1, JinjaValue::Integer(0));
  if (sum.is(Kind::kString)) return run.Fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const JinjaValue& item : TakeItems(run, value)) {
    if (run.failed()) break;
    sum = ApplyBinary(run, JinjaOperator::kAdd, sum,
                      given.set(0) ? GetPath(run, item, given[0], nullptr) : item);
  }
  return sum;
}

JinjaValue Default(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "default", arguments, {"default_value", "boolean"}, 0);
  const bool replaced =
      value.is(Kind::kUndefined) || (given.Truth(1, false) && !PythonTruth(run, value));
  return replaced ? given.Or(0, run.MakeText("")) : value;
}

JinjaValue Attribute(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "attr", arguments, {"name"}, 1);
  const TracedText name = given.Text(0, "");
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (std::optional<JinjaValue> found = FindAttribute(run, value, name.text())) return *found;
  return JinjaValue::Undefined(
      StrCat("'", PythonTypeName(value), " object' has no attribute ", PythonRepr(name.text())));
}

constexpr std::pair<std::string_view, JinjaMethod> kFilters[] = {
    {"attr", Attribute},
    {"batch", Batch},
    {"count", Length},
    {"d", Default},
    {"default", Default},
    {"first", First},
    {"items", Items},
    {"join", Join},
    {"last", Last},
    {"length", Length},
    {"list", ToList},
    {"map", Map},
    {"reject", Select<false, false>},
    {"rejectattr", Select<true, false>},
    {"reverse", Reverse},
    {"select", Select<false, true>},
    {"selectattr", Select<true, true>},
    {"slice", Slice},
    {"sum", Sum},
};

}  // namespace

JinjaFilterTable SequenceFilters() { return kFilters; }

}  // namespace horizon
