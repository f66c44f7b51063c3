#include "runtime/export/config_dtype.h"

#include <cstddef>
#include <vector>

#include "common/documents/json_members.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kFile[] = "config.json";
constexpr std::string_view kQuantization = "quantization_config";

enum class IfMissing { kAdd, kLeave };

absl::StatusOr<std::string> SetType(std::string_view config, const std::string& value,
                                    IfMissing if_missing) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, FindJsonMembers(kFile, config));
  std::string text(config);
  bool found = false;
  // From the end, so that the places before stay what they are.
  for (size_t i = members.size(); i-- > 0;) {
    const JsonMember& member = members[i];
    const size_t length = member.end - member.begin;
    if (member.key == "torch_dtype" || member.key == "dtype") {
      text.replace(member.begin, length, value);
      found = true;
    } else if (if_missing == IfMissing::kAdd && member.key == "text_config" &&
               config[member.begin] == '{') {
      ASSIGN_OR_RETURN(const std::string inner,
                       SetType(config.substr(member.begin, length), value, IfMissing::kLeave));
      text.replace(member.begin, length, inner);
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
  ASSIGN_OR_RETURN(const std::string plain, WithoutJsonMember(kFile, config, kQuantization));
  return SetType(plain, StrCat("\"", dtype, "\""), IfMissing::kAdd);
}

}  // namespace horizon
