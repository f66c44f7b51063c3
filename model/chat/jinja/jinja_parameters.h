#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/jinja/jinja_object.h"
#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// Matches the arguments of one call to the parameters of a function, as Python does. Fails for too
// many, unknown, duplicate or missing arguments; the first `required` parameters have no default:
//
//   const JinjaParameters given(run, "replace", arguments, {"old", "new", "count"}, 2);
//   const int64_t count = given.Integer(2, -1);
class JinjaParameters {
 public:
  JinjaParameters(JinjaRun& run, std::string_view function, const JinjaArguments& arguments,
                  std::initializer_list<std::string_view> names, size_t required);

  bool given(size_t index) const { return values_[index].has_value(); }
  // Whether the argument is given and not None.
  bool set(size_t index) const {
    return given(index) && !values_[index]->is(JinjaValue::Kind::kNone);
  }
  const JinjaValue& operator[](size_t index) const { return *values_[index]; }
  // The argument, or `otherwise` if it is not given.
  JinjaValue Or(size_t index, const JinjaValue& otherwise) const;
  // The argument as this type, or `otherwise` if it is not given. Fails for another type.
  int64_t Integer(size_t index, int64_t otherwise) const;
  TracedText Text(size_t index, std::string_view otherwise) const;
  // Whether the argument counts as true in Python.
  bool Truth(size_t index, bool otherwise) const;

 private:
  JinjaRun& run_;
  std::string function_;
  std::vector<std::optional<JinjaValue>> values_;
};

}  // namespace horizon
