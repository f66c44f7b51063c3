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
#include "planner/machines/machine_catalog.h"
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

class Finder {
 public:
  explicit Finder(const LargestRequest& request)
      : request_(request),
        setting_{
            .profile = request.profile, .software = request.software, .margin = request.margin} {}

  SearchResult Fit(const ModelSpec& spec) const {
    TrainingJob job = JobOf(spec);
    job.micro_batch = 1;
    return FindFitting(
        spec, job,
        FrugalSpace(SpaceFor(spec, job, request_.profile, PlanFor(request_.strategy), {})),
        setting_);
  }
  bool Fits(const ModelSpec& spec) const { return Fit(spec).plan.has_value(); }

  // The most layers of this width that fit; 0: not even one.
  int64_t MostLayers(ModelSpec spec) const {
    const LayerSpec layer = spec.layers.front();
    const auto fits = [&](int64_t layers) {
      spec.layers.resize(layers, layer);
      return Fits(spec);
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

  absl::StatusOr<SizedModel> Size(const ModelSpec& spec) const {
    SizedModel sized{.name = spec.name, .layers = spec.layer_count(), .parameters = CountOf(spec)};
    ASSIGN_OR_RETURN(sized.answer, MakePlan({.spec = spec,
                                             .job = JobOf(spec),
                                             .fixed = PlanFor(request_.strategy),
                                             .fixed_fields = {},
                                             .setting = setting_,
                                             .propose_batch = true,
                                             .effort = SearchEffort::kQuick}));
    return sized;
  }

 private:
  TrainingJob JobOf(const ModelSpec& spec) const {
    TrainingJob job = request_.job;
    job.model = spec.name;
    job.sequence = std::min(job.sequence, spec.max_positions);
    return job;
  }

  const LargestRequest& request_;
  const Setting setting_;
};

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

struct Upgrade {
  std::string what;
  HardwareProfile profile;
};

std::vector<Upgrade> UpgradesOf(const HardwareProfile& today) {
  const auto bytes = [](double value) { return BytesText(static_cast<uint64_t>(value)); };
  std::vector<Upgrade> upgrades;
  HardwareProfile ram = today;
  ram.host.memory_bytes.value *= 2;
  if (ram.host.cgroup_bytes.has_value()) ram.host.cgroup_bytes->value *= 2;
  upgrades.push_back({StrCat("host memory x2 (", bytes(ram.host.memory_bytes.value), ")"), ram});
  const double rate = today.link.h2d_pinned.Highest() * 2;
  upgrades.push_back({StrCat("link x2 (", ToString(BytesPerSecond{rate}), " a way)"),
                      WithOverrides(today, {.link = BytesPerSecond{rate}})});
  HardwareProfile host = ScaledHost(today, 2);
  upgrades.push_back(
      {StrCat("cores and memory channels x2 (", host.host.cores, " cores)"), std::move(host)});
  HardwareProfile device = today;
  device.device.memory_bytes.value *= 2;
  upgrades.push_back(
      {StrCat("device memory x2 (", bytes(device.device.memory_bytes.value), ")"), device});
  return upgrades;
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
  const Finder finder(request);
  LargestModels largest;
  const ModelSpec* width = &sizes.front();
  for (const ModelSpec& size : sizes) {
    if (finder.Fits(size)) width = &size;
  }
  const int64_t layers = finder.MostLayers(*width);
  const SearchResult beyond = finder.Fit(WithLayers(*width, layers + 1));
  if (!beyond.shortages.empty()) largest.limit = ToString(beyond.shortages.front().limit);
  if (layers == 0) return largest;
  if (finder.Fits(*width)) {
    ASSIGN_OR_RETURN(largest.by_size, finder.Size(*width));
  }
  ASSIGN_OR_RETURN(largest.by_depth, finder.Size(WithLayers(*width, layers)));
  return largest;
}

absl::StatusOr<std::vector<Purchase>> ComparePurchases(Io& io, const LargestRequest& request,
                                                       const LargestModels& today) {
  std::vector<Purchase> purchases;
  if (!today.by_depth.has_value()) return purchases;
  ASSIGN_OR_RETURN(const ModelSpec spec, SpecOf(io, *today.by_depth));
  const double speed = today.by_depth->answer.search.prediction.tokens_per_second;
  for (Upgrade& upgrade : UpgradesOf(request.profile)) {
    LargestRequest upgraded = request;
    upgraded.profile = std::move(upgrade.profile);
    const Finder finder(upgraded);
    Purchase purchase{.what = std::move(upgrade.what)};
    purchase.parameters = CountOf(WithLayers(spec, finder.MostLayers(spec)));
    ASSIGN_OR_RETURN(const SizedModel same, finder.Size(spec));
    purchase.tokens_per_second = same.answer.search.prediction.tokens_per_second;
    purchase.size_gain =
        static_cast<double>(purchase.parameters) / static_cast<double>(today.by_depth->parameters) -
        1;
    purchase.speed_gain = purchase.tokens_per_second / speed - 1;
    purchases.push_back(std::move(purchase));
  }
  std::stable_sort(purchases.begin(), purchases.end(), [](const Purchase& a, const Purchase& b) {
    return std::max(a.size_gain, a.speed_gain) > std::max(b.size_gain, b.speed_gain);
  });
  return purchases;
}

}  // namespace horizon
