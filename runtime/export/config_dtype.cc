#include "runtime/export/config_dtype.h"

#include <cstddef>
#include <vector>

#include "common/documents/json_members.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kFile[] = "config.json";

enum class IfMissing { kAdd, kLeave };

absl::StatusOr<std::string> SetType(std::string_view config, const std::string& value,
                                    IfMissing if_missing) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, FindJsonMembers(kFile, config));
  std::string text(config);
  bool found = false;
  // From the end, so that the places before stay what they are.
  for (size_t i = members.size(); i-- > 0;) {
    const auto& [key, begin, end] = members[i];
    if (key == "torch_dtype" || key == "dtype") {
      text.replace(begin, end - begin, value);
      found = true;
    } else if (if_missing == IfMissing::kAdd && key == "text_config" && config[begin] == '{') {
      ASSIGN_OR_RETURN(const std::string inner,
                       SetType(config.substr(begin, end - begin), value, IfMissing::kLeave));
      text.replace(begin, end - begin, inner);
    }
  }
  if (!found && if_missing == IfMissing::kAdd) {
    text.insert(config.find('{') + 1,
                StrCat("\n  \"torch_dtype\": ", value, members.empty() ? "\n" : ","));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> WithDtype(std::string_view config, std::string_view dtype) {
  return SetType(config, StrCat("\"", dtype, "\""), IfMissing::kAdd);
}

}  // namespace horizon
