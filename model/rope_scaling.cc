#include "model/rope_scaling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/documents/json_members.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kFile[] = "config.json";
constexpr std::string_view kYarn = "yarn:";
constexpr double kLargestFactor = 1024;

bool CanBeScaled(const ModelSpec& spec) {
  return spec.ropes.size() == 1 && spec.ropes.front().kind == RopeKind::kDefault &&
         spec.ropes.front().query_scale_beta == 0;
}

std::string Number(double value) { return absl::StrFormat("%.17g", value); }

// The keys to set: those of the text part, where the config is that of a multimodal model.
absl::StatusOr<std::string> SetScaling(std::string_view config, const ModelSpec& spec,
                                       const RopeScaling& scaling) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, FindJsonMembers(kFile, config));
  const auto find = [&](std::string_view key) -> const JsonMember* {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const JsonMember& member) { return member.key == key; });
    return found == members.end() ? nullptr : &*found;
  };
  std::string text(config);
  if (const JsonMember* part = find("text_config"); part != nullptr && config[part->begin] == '{') {
    ASSIGN_OR_RETURN(
        const std::string inner,
        SetScaling(config.substr(part->begin, part->end - part->begin), spec, scaling));
    return text.replace(part->begin, part->end - part->begin, inner);
  }
  // In the newer spelling theta stands inside the settings.
  const JsonMember* parameters = find("rope_parameters");
  const bool newer = parameters != nullptr && config[parameters->begin] == '{';
  const std::string settings =
      StrCat("{\"rope_type\": \"yarn\", \"factor\": ", Number(scaling.factor),
             ", \"original_max_position_embeddings\": ", spec.max_positions,
             newer ? StrCat(", \"rope_theta\": ", Number(spec.ropes.front().theta)) : "", "}");
  const auto positions =
      static_cast<int64_t>(std::floor(static_cast<double>(spec.max_positions) * scaling.factor));
  const std::pair<std::string, std::string> wanted[] = {
      {newer ? "rope_parameters" : "rope_scaling", settings},
      {"max_position_embeddings", StrCat(positions)}};
  struct Change {
    size_t begin;
    size_t end;
    std::string text;
  };
  std::vector<Change> changes;
  for (const auto& [key, value] : wanted) {
    if (const JsonMember* member = find(key)) {
      changes.push_back({member->begin, member->end, value});
    } else {
      const size_t begin = config.find('{') + 1;
      changes.push_back(
          {begin, begin, StrCat("\n  \"", key, "\": ", value, members.empty() ? "\n" : ",")});
    }
  }
  // From the end, so that the places before stay what they are.
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.begin > b.begin; });
  for (const Change& change : changes) {
    text.replace(change.begin, change.end - change.begin, change.text);
  }
  return text;
}

}  // namespace

absl::StatusOr<RopeScaling> ParseRopeScaling(std::string_view text) {
  RopeScaling scaling;
  const std::string_view number = text.substr(text.starts_with(kYarn) ? kYarn.size() : text.size());
  const char* const end = number.data() + number.size();
  const std::from_chars_result read = std::from_chars(number.data(), end, scaling.factor);
  if (number.empty() || read.ec != std::errc() || read.ptr != end) {
    return absl::InvalidArgumentError(
        StrCat("--rope-scaling needs yarn:FACTOR, for example yarn:4; found ", Quoted(text)));
  }
  if (!(scaling.factor > 1 && scaling.factor <= kLargestFactor)) {
    return absl::InvalidArgumentError(StrCat(
        "--rope-scaling ", text, ": the factor must be above 1 and at most ", kLargestFactor));
  }
  return scaling;
}

absl::StatusOr<std::string> WithRopeScaling(std::string_view config, const ModelSpec& spec,
                                            const RopeScaling& scaling) {
  if (!CanBeScaled(spec)) {
    const bool one = spec.ropes.size() == 1;
    return absl::InvalidArgumentError(StrCat(
        "--rope-scaling: the config.json of ", spec.name,
        one ? StrCat(" scales its rotary positions already (", ToString(spec.ropes.front().kind),
                     "): leave the option out")
            : std::string(" has several rotary embeddings, or none; only one can be scaled")));
  }
  return SetScaling(config, spec, scaling);
}

std::string AdviceForLongSequence(const ModelSpec& spec, int64_t sequence) {
  if (!CanBeScaled(spec) || spec.max_positions < 1) return "; use a shorter sequence";
  const int64_t factor = (sequence - 1) / spec.max_positions + 1;
  if (static_cast<double>(factor) > kLargestFactor) return "; use a shorter sequence";
  return StrCat("; use a shorter sequence, or stretch the positions with --rope-scaling yarn:",
                factor);
}

}  // namespace horizon
