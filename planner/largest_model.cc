#include "planner/largest_model.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/catalog.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "planner/changed_setups.h"
#include "planner/plan_space.h"
#include "planner/planned_job.h"

namespace horizon {
namespace {

struct Family {
  std::string_view name;
  std::string_view prefix;  // of its dense models in the catalog
};
constexpr Family kFamilies[] = {
    {"qwen2.5", "qwen2.5-"}, {"llama3", "llama-3.1-"}, {"qwen3", "qwen3-"}};

uint64_t CountOf(const ModelSpec& spec) { return CountParameters(ListStages(spec)).total; }

// The dense models of a family, smallest first.
absl::StatusOr<std::vector<ModelSpec>> SizesOf(Io& io, const std::string& family) {
  std::vector<ModelSpec> sizes;
  for (const Family& known : kFamilies) {
    if (known.name != family) continue;
    for (const std::string& name : CatalogNames()) {
      if (!name.starts_with(known.prefix)) continue;
      ASSIGN_OR_RETURN(ModelConfig config, LoadModelSpec(io, name));
      if (config.spec.experts.experts == 0) sizes.push_back(std::move(config.spec));
    }
  }
  if (sizes.empty()) {
    const std::vector<std::string> names = ModelFamilyNames();
    std::string all;
    for (const std::string& name : names) all += StrCat(all.empty() ? "" : ", ", name);
    return absl::InvalidArgumentError(
        StrCat("family needs one of ", all, "; found ", Quoted(family), DidYouMean(family, names)));
  }
  std::sort(sizes.begin(), sizes.end(),
            [](const ModelSpec& a, const ModelSpec& b) { return CountOf(a) < CountOf(b); });
  return sizes;
}

Setting SettingOf(const LargestRequest& request) {
  return {.profile = request.profile, .software = request.software, .margin = request.margin};
}

TrainingJob JobOf(const LargestRequest& request, const ModelSpec& spec) {
  TrainingJob job = request.job;
  job.model = spec.name;
  job.sequence = std::min(job.sequence, spec.max_positions);
  return job;
}

PlanRequest RequestOf(const LargestRequest& request, const ModelSpec& spec) {
  return {.spec = spec,
          .job = JobOf(request, spec),
          .fixed = PlanFor(request.strategy),
          .fixed_fields = {},
          .setting = SettingOf(request),
          .all_strategies = request.all_strategies,
          .propose_batch = true,
          .effort = SearchEffort::kQuick};
}

// The plans that need the least memory, with a micro-batch of one sequence.
SearchResult FindFrugalFit(const LargestRequest& request, const ModelSpec& spec) {
  TrainingJob job = JobOf(request, spec);
  job.micro_batch = 1;
  std::vector<PlanSpace> spaces = SpacesOf(RequestOf(request, spec), job);
  for (PlanSpace& space : spaces) space = FrugalSpace(std::move(space));
  return FindFitting(spec, job, spaces, SettingOf(request));
}

bool Fits(const LargestRequest& request, const ModelSpec& spec) {
  return FindFrugalFit(request, spec).plan.has_value();
}

// The most layers of this width that fit; 0: not even one.
int64_t MostLayers(const LargestRequest& request, ModelSpec spec) {
  const LayerSpec layer = spec.layers.front();
  const auto fits = [&](int64_t layers) {
    spec.layers.resize(layers, layer);
    return Fits(request, spec);
  };
  int64_t good = 0;
  int64_t bad = 1;
  while (bad < kMaxLayers && fits(bad)) {
    good = bad;
    bad = std::min(2 * bad, kMaxLayers);
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

absl::StatusOr<SizedModel> PlanModel(const LargestRequest& request, const ModelSpec& spec) {
  SizedModel sized{.name = spec.name, .layers = spec.layer_count(), .parameters = CountOf(spec)};
  ASSIGN_OR_RETURN(sized.answer, MakePlan(RequestOf(request, spec)));
  return sized;
}

ModelSpec WithLayers(ModelSpec spec, int64_t layers) {
  if (layers == spec.layer_count()) return spec;
  spec.layers.resize(layers, LayerSpec(spec.layers.front()));
  spec.name = StrCat(spec.name, " with ", layers, " layers");
  return spec;
}

// The spec of today's largest model, from its name's base and its layers.
absl::StatusOr<ModelSpec> SpecOf(Io& io, const SizedModel& sized) {
  const std::string base = sized.name.substr(0, sized.name.find(" with "));
  ASSIGN_OR_RETURN(ModelConfig config, LoadModelSpec(io, base));
  return WithLayers(std::move(config.spec), sized.layers);
}

// Today's largest model with a change, and how large it could be.
absl::StatusOr<Change> Try(const LargestRequest& request, const ChangedSetup& changed,
                           const ModelSpec& spec, const SizedModel& today) {
  Change change{.what = changed.what, .options = changed.options, .cost = changed.cost};
  LargestRequest with = request;
  with.job = changed.job;
  with.profile = changed.profile;
  change.parameters = CountOf(WithLayers(spec, MostLayers(with, spec)));
  ASSIGN_OR_RETURN(const SizedModel same, PlanModel(with, spec));
  change.tokens_per_second = same.answer.search.prediction.tokens_per_second;
  change.size_gain =
      static_cast<double>(change.parameters) / static_cast<double>(today.parameters) - 1;
  change.speed_gain =
      change.tokens_per_second / today.answer.search.prediction.tokens_per_second - 1;
  return change;
}

double BestGain(const Change& change) { return std::max(change.size_gain, change.speed_gain); }

absl::StatusOr<std::vector<Change>> TryAll(Io& io, const LargestRequest& request,
                                           const std::vector<ChangedSetup>& all,
                                           const LargestModels& today) {
  std::vector<Change> changes;
  if (!today.by_depth.has_value()) return changes;
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecOf(io, *today.by_depth));
  for (const ChangedSetup& one : all) {
    ASSIGN_OR_RETURN(Change change, Try(request, one, spec, *today.by_depth));
    if (BestGain(change) >= kNoiseGain) changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return BestGain(a) > BestGain(b); });
  return changes;
}

}  // namespace

std::vector<std::string> ModelFamilyNames() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  return names;
}

double SizedModel::days_per_billion_tokens() const {
  return 1e9 / answer.search.prediction.tokens_per_second / 86400;
}

absl::StatusOr<LargestModels> FindLargestModels(Io& io, const LargestRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<ModelSpec> sizes, SizesOf(io, request.family));
  LargestModels largest;
  const ModelSpec* width = &sizes.front();
  for (const ModelSpec& size : sizes) {
    if (Fits(request, size)) width = &size;
  }
  const int64_t layers = MostLayers(request, *width);
  const SearchResult beyond = FindFrugalFit(request, WithLayers(*width, layers + 1));
  if (!beyond.shortages.empty()) largest.limit = ToString(beyond.shortages.front().limit);
  if (layers == 0) return largest;
  if (Fits(request, *width)) {
    ASSIGN_OR_RETURN(largest.by_size, PlanModel(request, *width));
  }
  ASSIGN_OR_RETURN(largest.by_depth, PlanModel(request, WithLayers(*width, layers)));
  return largest;
}

absl::StatusOr<std::vector<LargestByState>> FindLargestByState(Io& io,
                                                               const LargestRequest& request) {
  std::vector<LargestByState> all;
  for (const StateFormat state :
       {StateFormat::kFp32, StateFormat::kBf16Moments, StateFormat::k8BitMoments}) {
    LargestRequest with = request;
    with.job.state_format = state;
    LargestByState& one = all.emplace_back();
    one.state = state;
    ASSIGN_OR_RETURN(one.models, FindLargestModels(io, with));
  }
  return all;
}

absl::StatusOr<std::vector<Change>> CompareFreeChanges(Io& io, const LargestRequest& request,
                                                       const LargestModels& today) {
  return TryAll(io, request, FreeChangesOf(request.job, request.profile, request.strategy), today);
}

absl::StatusOr<std::vector<Change>> ComparePurchases(Io& io, const LargestRequest& request,
                                                     const LargestModels& today) {
  return TryAll(io, request, PurchasesOf(request.job, request.profile, request.others), today);
}

}  // namespace horizon
