#include "model/chat/jinja/jinja_parameters.h"

#include <algorithm>
#include <utility>

#include "common/text/str_cat.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"

namespace horizon {

JinjaParameters::JinjaParameters(JinjaRun& run, std::string_view function,
                                 const JinjaArguments& arguments,
                                 std::initializer_list<std::string_view> names, size_t required)
    : run_(run), function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    run.Fail(StrCat(function, "() takes at most ", names.size(), " arguments, not ",
                    arguments.positional.size()));
  }
  for (size_t i = 0; i < std::min(arguments.positional.size(), names.size()); ++i) {
    values_[i] = arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      run.Fail(StrCat(function, "() got an unexpected keyword argument '", name, "'"));
      continue;
    }
    std::optional<JinjaValue>& place = values_[static_cast<size_t>(found - names.begin())];
    if (place.has_value()) {
      run.Fail(StrCat(function, "() got multiple values for argument '", name, "'"));
    }
    place = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (values_[i].has_value()) continue;
    run.Fail(StrCat(function, "() misses its argument '", names.begin()[i], "'"));
    values_[i] = JinjaValue();
  }
}

JinjaValue JinjaParameters::Or(size_t index, const JinjaValue& otherwise) const {
  return given(index) ? *values_[index] : otherwise;
}

int64_t JinjaParameters::Integer(size_t index, int64_t otherwise) const {
  if (!given(index)) return otherwise;
  if ((*this)[index].is_integral()) return (*this)[index].integer();
  run_.Fail(StrCat(function_, "() takes an integer, and '", PythonTypeName((*this)[index]),
                   "' object cannot be interpreted as one"));
  return otherwise;
}

TracedText JinjaParameters::Text(size_t index, std::string_view otherwise) const {
  if (!given(index)) return TracedText(otherwise, {});
  if ((*this)[index].is(JinjaValue::Kind::kString)) return (*this)[index].string();
  run_.Fail(StrCat(function_, "() takes a str, not ", PythonTypeName((*this)[index])));
  return {};
}

bool JinjaParameters::Truth(size_t index, bool otherwise) const {
  return given(index) ? PythonTruth(run_, (*this)[index]) : otherwise;
}

}  // namespace horizon
