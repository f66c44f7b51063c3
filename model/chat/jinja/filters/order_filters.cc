#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/filters/jinja_filters.h"
#include "model/chat/jinja/jinja_parameters.h"
#include "model/chat/jinja/python/python_characters.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

JinjaValue IgnoreCase(JinjaRun& run, const JinjaValue& value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::kString)) return value;
  return run.MakeString(ChangeCase(value.string(), LetterCase::kLower));
}

struct Keyed {
  JinjaValue key;
  JinjaValue item;
};

// Stable, and every comparison after a failure says "not less".
void SortByKey(JinjaRun& run, std::vector<Keyed>& items, bool reverse) {
  run.Work(items.size() * 16);
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    if (!run.Work(0)) return false;
    return reverse ? PythonOrder(run, JinjaOperator::kLess, b.key, a.key)
                   : PythonOrder(run, JinjaOperator::kLess, a.key, b.key);
  });
}

std::vector<JinjaValue> WithoutKeys(std::vector<Keyed> items) {
  std::vector<JinjaValue> values;
  values.reserve(items.size());
  for (Keyed& item : items) values.push_back(std::move(item.item));
  return values;
}

// The key of sort: one attribute, several between commas, or the item itself.
JinjaValue SortKey(JinjaRun& run, const JinjaValue& item, const JinjaValue& attribute,
                   bool case_sensitive) {
  std::vector<JinjaValue> keys;
  if (!attribute.is(Kind::kString)) {
    keys.push_back(IgnoreCase(run, GetPath(run, item, attribute, nullptr), case_sensitive));
    return run.MakeList(std::move(keys));
  }
  std::string_view rest = attribute.string().text();
  while (true) {
    const size_t end = std::min(rest.find(','), rest.size());
    keys.push_back(IgnoreCase(run, GetPath(run, item, run.MakeText(rest.substr(0, end)), nullptr),
                              case_sensitive));
    if (end == rest.size()) return run.MakeList(std::move(keys));
    rest.remove_prefix(end + 1);
  }
}

JinjaValue Sort(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "sort", arguments, {"reverse", "case_sensitive", "attribute"},
                              0);
  std::vector<Keyed> items;
  for (const JinjaValue& item : TakeItems(run, value)) {
    items.push_back(
        {SortKey(run, item, given.Or(2, JinjaValue::None()), given.Truth(1, false)), item});
  }
  if (!run.failed()) SortByKey(run, items, given.Truth(0, false));
  return run.MakeList(WithoutKeys(std::move(items)));
}

JinjaValue DictSort(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "dictsort", arguments, {"case_sensitive", "by", "reverse"}, 0);
  const TracedText by = given.Text(1, "key");
  if (by.text() != "key" && by.text() != "value") {
    return run.Fail("You can only sort by either \"key\" or \"value\"");
  }
  if (value.is(Kind::kUndefined)) return run.Fail(value.hint());
  if (!value.is(Kind::kDict)) {
    return run.Fail(StrCat("'", PythonTypeName(value), "' object has no attribute 'items'"));
  }
  std::vector<Keyed> items;
  for (const auto& [key, item] : value.dict().entries) {
    items.push_back({IgnoreCase(run, by.text() == "key" ? key : item, given.Truth(0, false)),
                     run.MakeTuple({key, item})});
  }
  SortByKey(run, items, given.Truth(2, false));
  return run.MakeList(WithoutKeys(std::move(items)));
}

template <bool kMax>
JinjaValue Extreme(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "min", arguments, {"case_sensitive", "attribute"}, 0);
  std::optional<Keyed> best;
  for (const JinjaValue& item : TakeItems(run, value)) {
    if (run.failed()) return {};
    Keyed keyed{IgnoreCase(run, GetPath(run, item, given.Or(1, JinjaValue::None()), nullptr),
                           given.Truth(0, false)),
                item};
    if (!best.has_value() || PythonOrder(run, kMax ? JinjaOperator::kGreater : JinjaOperator::kLess,
                                         keyed.key, best->key)) {
      best = std::move(keyed);
    }
  }
  return best.has_value() ? best->item
                          : JinjaValue::Undefined("No aggregated item, sequence was empty.");
}

JinjaValue Unique(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "unique", arguments, {"case_sensitive", "attribute"}, 0);
  std::vector<JinjaValue> seen;
  std::vector<JinjaValue> kept;
  for (const JinjaValue& item : TakeItems(run, value)) {
    const JinjaValue key = IgnoreCase(
        run, GetPath(run, item, given.Or(1, JinjaValue::None()), nullptr), given.Truth(0, false));
    if (key.is(Kind::kList) || key.is(Kind::kDict)) {
      return run.Fail(StrCat("unhashable type: '", PythonTypeName(key), "'"));
    }
    if (!run.Work(seen.size() * 16)) return {};
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const JinjaValue& one) { return PythonEquals(one, key); });
    if (known) continue;
    seen.push_back(key);
    kept.push_back(item);
  }
  return run.MakeIterator(std::move(kept), "generator");
}

JinjaValue GroupBy(JinjaRun& run, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaParameters given(run, "groupby", arguments, {"attribute", "default", "case_sensitive"},
                              1);
  const JinjaValue otherwise = given.Or(1, JinjaValue::None());
  const JinjaValue* fallback = otherwise.is(Kind::kNone) ? nullptr : &otherwise;
  const bool case_sensitive = given.Truth(2, false);
  std::vector<Keyed> items;
  for (const JinjaValue& item : TakeItems(run, value)) {
    items.push_back(
        {IgnoreCase(run, GetPath(run, item, given[0], fallback), case_sensitive), item});
  }
  SortByKey(run, items, false);
  std::vector<JinjaValue> groups;
  for (size_t begin = 0; begin < items.size() && !run.failed();) {
    size_t end = begin;
    std::vector<JinjaValue> members;
    while (end < items.size() && PythonEquals(items[begin].key, items[end].key)) {
      members.push_back(items[end++].item);
    }
    JinjaValue key =
        case_sensitive ? items[begin].key : GetPath(run, items[begin].item, given[0], fallback);
    groups.push_back(run.MakeSequence(
        Kind::kTuple,
        {.items = {std::move(key), run.MakeList(std::move(members))}, .type = "group"}));
    begin = end;
  }
  return run.MakeList(std::move(groups));
}

constexpr std::pair<std::string_view, JinjaMethod> kFilters[] = {
    {"dictsort", DictSort},  {"groupby", GroupBy}, {"max", Extreme<true>},
    {"min", Extreme<false>}, {"sort", Sort},       {"unique", Unique},
};

}  // namespace

JinjaFilterTable OrderFilters() { return kFilters; }

}  // namespace horizon
