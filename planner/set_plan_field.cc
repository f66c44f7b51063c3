#include "planner/set_plan_field.h"

#include <algorithm>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::pair<std::string_view, std::string_view> kShort[] = {
    {"K", "anchor_interval"}, {"depth", "buffer_depth"}, {"slabs", "gradient_slabs"}};

// Fields of the file that a person does not choose with --set.
constexpr std::string_view kNotSet[] = {"version", "model", "model_fingerprint", "strategy"};

// Fields and words of a plan have '_' in files; on the command line '-' is as good.
std::string Underscored(std::string word) {
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

// A number, true or false as JSON has them; everything else is text, and so are sizes, which a
// person writes with their unit.
Value ValueFrom(std::string_view field, std::string_view text) {
  if (field.ends_with("_bytes")) return Value(std::string(text), 1);
  absl::StatusOr<Document> document = ParseJson("--set", text);
  const bool literal = document.ok() && (document->root.As<int64_t>() != nullptr ||
                                         document->root.As<double>() != nullptr ||
                                         document->root.As<bool>() != nullptr);
  return literal ? std::move(document->root) : Value(Underscored(std::string(text)), 1);
}

}  // namespace

absl::Status SetPlanField(std::string_view assignment, StreamPlan& plan,
                          std::vector<std::string>& fields) {
  const size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == assignment.size()) {
    return absl::InvalidArgumentError(
        StrCat("--set needs field=value, found ", Quoted(assignment)));
  }
  std::string field = Underscored(std::string(assignment.substr(0, equals)));
  for (const auto& [word, name] : kShort) {
    if (field == word) field = name;
  }
  if (field == "strategy") {
    // It also decides what the job is by default, and which other fields are searched.
    return absl::InvalidArgumentError(StrCat("--set ", assignment,
                                             ": the strategy is chosen with --strategy ",
                                             assignment.substr(equals + 1), ", not with --set"));
  }
  ASSIGN_OR_RETURN(const Document whole, ParseJson("--set", WritePlan(plan)));
  Value::Object members = *whole.root.As<Value::Object>();
  std::vector<std::string> known;
  for (const auto& [name, value] : members) {
    if (std::find(std::begin(kNotSet), std::end(kNotSet), name) == std::end(kNotSet)) {
      known.push_back(name);
    }
  }
  if (std::find(known.begin(), known.end(), field) == known.end()) {
    std::string all;
    for (const std::string& name : known) all += StrCat(all.empty() ? "" : ", ", name);
    const std::string suggestion = DidYouMean(field, known);
    return absl::InvalidArgumentError(
        StrCat("--set ", assignment, ": the plan has no field ", Quoted(field),
               suggestion.empty() ? StrCat("; there are ", all) : suggestion));
  }
  if (std::find(fields.begin(), fields.end(), field) != fields.end()) {
    return absl::InvalidArgumentError(StrCat("--set ", assignment, ": ", field, " is set twice"));
  }
  for (auto& [name, value] : members) {
    if (name == field) value = ValueFrom(name, assignment.substr(equals + 1));
  }
  const std::string option = StrCat("--set ", assignment);
  const Document changed{.file = option, .root = Value(members, 1)};
  absl::StatusOr<StreamPlan> read = ReadPlan(changed);
  if (!read.ok()) {
    // "--set K=0:1: anchor_interval: ...": an option has no lines.
    std::string message(read.status().message());
    const std::string place = StrCat(option, ":1: ");
    if (message.starts_with(place)) message.replace(0, place.size(), StrCat(option, ": "));
    return absl::InvalidArgumentError(message);
  }
  plan = *std::move(read);
  fields.push_back(std::move(field));
  return absl::OkStatus();
}

}  // namespace horizon
