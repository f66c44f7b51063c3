#include "model/chat/jinja/filters/jinja_filters.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

JinjaMethod FindFilter(std::string_view name) {
  for (const JinjaFilterTable table :
       {TextFilters(), LayoutFilters(), NumberFilters(), SequenceFilters(), OrderFilters()}) {
    for (const auto& [known, filter] : table) {
      if (known == name) return filter;
    }
  }
  return nullptr;
}

}  // namespace

bool IsJinjaFilter(std::string_view name) { return FindFilter(name) != nullptr; }

JinjaValue ApplyFilter(JinjaRun& run, std::string_view name, const JinjaValue& value,
                       const JinjaArguments& arguments) {
  if (run.failed()) return {};
  const JinjaMethod filter = FindFilter(name);
  if (filter == nullptr) return run.Fail(StrCat("No filter named ", PythonRepr(name), "."));
  return filter(run, value, arguments);
}

JinjaValue GetPath(JinjaRun& run, const JinjaValue& item, const JinjaValue& attribute,
                   const JinjaValue* otherwise) {
  const auto step = [&](const JinjaValue& from, const JinjaValue& key) {
    JinjaValue found = GetItem(run, from, key);
    return found.is(Kind::kUndefined) && otherwise != nullptr ? *otherwise : found;
  };
  if (attribute.is(Kind::kNone)) return item;
  if (!attribute.is(Kind::kString)) return step(item, attribute);
  JinjaValue value = item;
  std::string_view rest = attribute.string().text();
  while (!run.failed()) {
    const size_t end = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, end);
    int64_t index = 0;
    const bool is_number =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos &&
        std::from_chars(part.data(), part.data() + part.size(), index).ec == std::errc();
    value = step(value, is_number ? JinjaValue::Integer(index) : run.MakeText(part));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return value;
}

}  // namespace horizon
