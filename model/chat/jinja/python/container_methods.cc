#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

JinjaValue View(JinjaRun& run, std::vector<JinjaValue> items, std::string_view type) {
  return run.MakeSequence(Kind::kView, {.items = std::move(items), .type = type});
}

JinjaValue Get(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  if (!arguments.named.empty()) return run.Fail("dict.get() takes no keyword arguments");
  const JinjaParameters given(run, "get", arguments, {"key", "default"}, 1);
  if (given[0].is(Kind::kList) || given[0].is(Kind::kDict)) {
    return run.Fail(StrCat("unhashable type: '", PythonTypeName(given[0]), "'"));
  }
  const JinjaValue* found = self.dict().Find(given[0]);
  return found != nullptr ? *found : given.Or(1, JinjaValue::None());
}

JinjaValue Items(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "items", arguments, {}, 0);
  std::vector<JinjaValue> items;
  for (const auto& [key, value] : self.dict().entries) items.push_back(run.MakeTuple({key, value}));
  return View(run, std::move(items), "dict_items");
}

JinjaValue Keys(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "keys", arguments, {}, 0);
  std::vector<JinjaValue> items;
  for (const auto& [key, value] : self.dict().entries) items.push_back(key);
  return View(run, std::move(items), "dict_keys");
}

JinjaValue Values(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "values", arguments, {}, 0);
  std::vector<JinjaValue> items;
  for (const auto& [key, value] : self.dict().entries) items.push_back(value);
  return View(run, std::move(items), "dict_values");
}

JinjaValue Copy(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters none(run, "copy", arguments, {}, 0);
  if (self.is(Kind::kDict)) return run.MakeDict(self.dict().entries, self.message());
  return run.MakeList(self.items().items);
}

JinjaValue Count(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "count", arguments, {"value"}, 1);
  int64_t count = 0;
  run.Work(self.items().items.size());
  for (const JinjaValue& item : self.items().items) count += PythonEquals(item, given[0]) ? 1 : 0;
  return JinjaValue::Integer(count);
}

JinjaValue Index(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "index", arguments, {"value", "start", "stop"}, 1);
  const std::vector<JinjaValue>& items = self.items().items;
  const auto size = static_cast<int64_t>(items.size());
  const auto bound = [size](int64_t place) {
    return std::clamp<int64_t>(place < 0 ? std::max<int64_t>(place, -size) + size : place, 0, size);
  };
  run.Work(items.size());
  const int64_t stop = bound(given.Integer(2, size));
  for (int64_t i = bound(given.Integer(1, 0)); i < stop; ++i) {
    if (PythonEquals(items[static_cast<size_t>(i)], given[0])) return JinjaValue::Integer(i);
  }
  return run.Fail(StrCat(PythonRepr(run, given[0]).text(), " is not in list"));
}

}  // namespace

JinjaMethod FindContainerMethod(Kind kind, std::string_view name) {
  static constexpr std::pair<std::string_view, JinjaMethod> kOfDicts[] = {
      {"get", Get}, {"items", Items}, {"keys", Keys}, {"values", Values}, {"copy", Copy}};
  static constexpr std::pair<std::string_view, JinjaMethod> kOfLists[] = {
      {"count", Count}, {"index", Index}, {"copy", Copy}};
  if (kind == Kind::kDict) {
    for (const auto& [known, method] : kOfDicts) {
      if (known == name) return method;
    }
  }
  if (kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kRange) {
    for (const auto& [known, method] : kOfLists) {
      if (known == name && (kind == Kind::kList || name != "copy")) return method;
    }
  }
  return nullptr;
}

}  // namespace horizon
