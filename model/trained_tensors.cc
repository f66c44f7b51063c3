#include "model/trained_tensors.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/files/disk_tensors.h"

namespace horizon {
namespace {

constexpr std::string_view kTiedHeadName = "lm_head.weight";

// All names a tensor goes by, its own first.
std::vector<std::string> NamesOf(const ModelSpec& spec, const TensorSpec& tensor) {
  std::vector<std::string> names = {tensor.name};
  if (tensor.fused.has_value()) names.push_back(tensor.fused->name);
  if (spec.tied && tensor.role == TensorRole::kTable) names.emplace_back(kTiedHeadName);
  if (spec.wrapper.empty()) return names;
  const size_t plain = names.size();
  for (size_t i = 0; i < plain; ++i) {
    for (const DiskNaming naming : {DiskNaming::kLanguageModel, DiskNaming::kNested}) {
      names.push_back(DiskName(names[i], naming));
    }
  }
  return names;
}

bool MatchesOne(const std::vector<std::string>& names, const std::string& pattern) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

// One list of patterns, and which of them have matched something so far.
class PatternList {
 public:
  PatternList(std::string_view field, const std::vector<std::string>& patterns)
      : field_(field), patterns_(patterns), matched_(patterns.size(), 0) {}

  bool Matches(const std::vector<std::string>& names) {
    bool matches = false;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (!MatchesOne(names, patterns_[i])) continue;
      matched_[i] = 1;
      matches = true;
    }
    return matches;
  }

  absl::Status CheckAllMatched(const std::vector<std::string>& known) const {
    const auto unmatched = std::find(matched_.begin(), matched_.end(), 0);
    if (unmatched == matched_.end()) return absl::OkStatus();
    const std::string& pattern = patterns_[static_cast<size_t>(unmatched - matched_.begin())];
    return absl::InvalidArgumentError(
        StrCat(field_, ": no tensor matches ", Quoted(pattern), Suggestion(pattern, known)));
  }

 private:
  // The tensor that is spelled most like the pattern, or what the model has at all. The letters of
  // a pattern between its wildcards are what was meant; a `*` on either side finds them anywhere.
  static std::string Suggestion(const std::string& pattern, const std::vector<std::string>& known) {
    const std::string wider = StrCat("*", pattern, "*");
    for (const std::string& name : known) {
      if (fnmatch(wider.c_str(), name.c_str(), 0) != 0) continue;
      return StrCat("; ", Quoted(wider), " would match ", name);
    }
    if (const std::string nearest = NearestWord(pattern, known); !nearest.empty()) {
      return StrCat("; did you mean ", Quoted(nearest), "?");
    }
    const size_t middle = known.size() / 2;
    return StrCat("; names are like ", known.front(), ", ", known[middle], ", ", known.back());
  }

  const std::string_view field_;
  const std::vector<std::string>& patterns_;
  std::vector<char> matched_;
};

// The experts of a stage are trained alike: each tensor of all of them, or of none.
absl::Status CheckExpertsAlike(const Stage& stage) {
  std::map<TensorRole, const TensorSpec*> first;
  for (const TensorSpec& tensor : stage.tensors) {
    if (tensor.expert < 0) continue;
    const auto [known, added] = first.emplace(tensor.role, &tensor);
    if (added || known->second->trained == tensor.trained) continue;
    const TensorSpec& trained = tensor.trained ? tensor : *known->second;
    const TensorSpec& frozen = tensor.trained ? *known->second : tensor;
    return absl::InvalidArgumentError(
        StrCat("train and freeze would train ", trained.name, " and not ", frozen.name,
               ": the experts of a layer are trained alike; name all of them, as ",
               Quoted("*.experts.*"), " does"));
  }
  return absl::OkStatus();
}

// Walks forward: a stage needs the gradient of its input if a stage before it trains something.
void MarkInputGradients(std::vector<Stage>& stages) {
  bool trained_before = false;
  for (Stage& stage : stages) {
    stage.needs_input_gradient = trained_before;
    trained_before |= stage.trained_parameters > 0;
  }
}

}  // namespace

absl::Status SelectTrained(const ModelSpec& spec, const TrainedPatterns& patterns,
                           std::vector<Stage>& stages) {
  if (patterns.train.empty() && patterns.freeze.empty()) return absl::OkStatus();
  PatternList train("train", patterns.train);
  PatternList freeze("freeze", patterns.freeze);
  std::vector<std::string> known;
  bool any = false;
  for (Stage& stage : stages) {
    for (TensorSpec& tensor : stage.tensors) {
      const std::vector<std::string> names = NamesOf(spec, tensor);
      const bool wanted = train.Matches(names) || patterns.train.empty();
      tensor.trained = !freeze.Matches(names) && wanted;
      any |= tensor.trained;
      known.push_back(tensor.name);
    }
    RETURN_IF_ERROR(CheckExpertsAlike(stage));
    CountTrained(stage);
  }
  RETURN_IF_ERROR(train.CheckAllMatched(known));
  RETURN_IF_ERROR(freeze.CheckAllMatched(known));
  if (!any) {
    return absl::InvalidArgumentError(
        StrCat("all ", known.size(), " tensors of ", spec.name,
               " are frozen, so nothing would be trained: freeze fewer, or name some with train"));
  }
  if (spec.tied) stages.back().trained_roles = stages.front().trained_roles;
  MarkInputGradients(stages);
  return absl::OkStatus();
}

int32_t FirstDifferentiated(const std::vector<Stage>& stages) {
  const auto head = static_cast<int32_t>(stages.size()) - 1;
  for (int32_t s = 1; s < head; ++s) {
    if (stages[static_cast<size_t>(s)].is_differentiated()) return s;
  }
  return head;
}

absl::StatusOr<std::vector<std::string>> TrainedNames(const ModelSpec& spec,
                                                      const TrainedPatterns& patterns) {
  std::vector<Stage> stages = ListStages(spec);
  RETURN_IF_ERROR(SelectTrained(spec, patterns, stages));
  std::vector<std::string> names;
  for (const Stage& stage : stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (tensor.trained) names.push_back(tensor.name);
    }
  }
  return names;
}

}  // namespace horizon
