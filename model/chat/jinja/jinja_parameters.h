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

// The arguments of one call in the order of its parameters, as Python assigns them. Fails for too
// many, unknown, doubled or missing ones (the first `required` have no default).
class JinjaParameters {
 public:
  JinjaParameters(JinjaRun& run, std::string_view function, const JinjaArguments& arguments,
                  std::initializer_list<std::string_view> names, size_t required);

  bool given(size_t index) const { return values_[index].has_value(); }
  // Given and not None.
  bool set(size_t index) const {
    return given(index) && !values_[index]->is(JinjaValue::Kind::kNone);
  }
  const JinjaValue& operator[](size_t index) const { return *values_[index]; }
  JinjaValue Or(size_t index, const JinjaValue& otherwise) const;
  // The argument as that type, `otherwise` if it is not given; others fail.
  int64_t Integer(size_t index, int64_t otherwise) const;
  TracedText Text(size_t index, std::string_view otherwise) const;
  // Whether it counts as true.
  bool Truth(size_t index, bool otherwise) const;

 private:
  JinjaRun& run_;
  std::string function_;
  std::vector<std::optional<JinjaValue>> values_;
};

}  // namespace horizon
