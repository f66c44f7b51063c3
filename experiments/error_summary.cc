#include "experiments/error_summary.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// Sums until Finish makes a mean of it.
void Add(ErrorStatistics& statistics, const PublishedRow& row, double error) {
  ++statistics.rows;
  statistics.mean += std::abs(error);
  if (std::abs(error) >= statistics.worst) {
    statistics.worst = std::abs(error);
    statistics.worst_row = NameOf(row);
  }
}

void Finish(ErrorStatistics& statistics) {
  if (statistics.rows > 0) statistics.mean /= static_cast<double>(statistics.rows);
}

void AddError(const RowResult& result, ExperimentSummary& summary) {
  const std::optional<double> error = ErrorOf(result);
  const PublishedRow& row = result.row;
  if (!error.has_value()) return;
  if (row.use == RowUse::kFitted) Add(summary.fitted, row, *error);
  if (row.use != RowUse::kJudged) return;
  if (row.tier == Tier::kB) Add(summary.other, row, *error);
  if (row.tier != Tier::kA) return;
  Add(row.metric == Metric::kHostGib ? summary.host : summary.sound, row, *error);
  if (row.metric != Metric::kHostGib && StrategyOf(row.system) == Strategy::kReference) {
    Add(summary.system, row, *error);
  }
}

void AddOnce(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void AddStatus(const ComparedRow& compared, ExperimentSummary& summary) {
  const PublishedRow& row = compared.result.row;
  if (row.use == RowUse::kIgnored || row.tier == Tier::kC) return;
  if (HasWrongStatus(compared)) {
    AddOnce(summary.wrong_status,
            StrCat(NameOf(row), compared.result.fits ? ": ran out of memory in print, fits here"
                                                     : ": ran in print, does not fit here"));
  } else if (IsOverOurMemory(compared)) {
    AddOnce(summary.over_memory, NameOf(row));
  }
}

void CheckBound(std::string_view what, double error, const std::string& row,
                const std::optional<double>& percent, std::vector<std::string>& violations) {
  // Not "error > bound": an error that is not a number is a violation too.
  if (!percent.has_value() || 100 * error <= *percent) return;
  violations.push_back(absl::StrFormat("%s is %s, the bound is %g %%%s", std::string(what),
                                       Percent(error, 1), *percent,
                                       row.empty() ? "" : " (" + row + ")"));
}

const KnownMiss* FindMiss(const ErrorBounds& bounds, const std::string& name) {
  for (const KnownMiss& miss : bounds.misses) {
    if (std::find(miss.rows.begin(), miss.rows.end(), name) != miss.rows.end()) return &miss;
  }
  return nullptr;
}

void AddAgreement(const ErrorBounds& bounds, size_t index, const RowResult& result,
                  ExperimentSummary& summary) {
  const std::optional<double> error = ErrorOf(result);
  const PublishedRow& row = result.row;
  if (!error.has_value() || row.use != RowUse::kJudged || row.tier == Tier::kC) return;
  switch (AgreementOf(*error)) {
    case Agreement::kHolds:
      ++summary.holding;
      return;
    case Agreement::kClose:
      ++summary.close;
      return;
    case Agreement::kMisses:
      break;
  }
  const KnownMiss* known = FindMiss(bounds, NameOf(row));
  summary.missed.push_back(
      {.row = index, .error = *error, .reason = known == nullptr ? "" : known->reason});
  if (known == nullptr) {
    summary.violations.push_back(StrCat(NameOf(row), " is ", Percent(std::abs(*error), 1),
                                        " off and is not listed under 'misses' with a reason"));
  } else if (!(100 * std::abs(*error) <= known->worst)) {
    summary.violations.push_back(
        absl::StrFormat("%s is %s off, the bound of this known miss is %g %%", NameOf(row),
                        Percent(std::abs(*error), 1), known->worst));
  }
}

// Known misses that miss no longer, so that the list stays true.
void CheckKnownMisses(const ErrorBounds& bounds, std::span<const ComparedRow> rows,
                      ExperimentSummary& summary) {
  for (const KnownMiss& miss : bounds.misses) {
    for (const std::string& name : miss.rows) {
      const bool misses = std::any_of(
          summary.missed.begin(), summary.missed.end(),
          [&](const MissedRow& missed) { return NameOf(rows[missed.row].result.row) == name; });
      if (misses) continue;
      summary.violations.push_back(
          StrCat(name, " is listed under 'misses', but no row of that name misses: remove it"));
    }
  }
}

void FinishAll(ExperimentSummary& summary) {
  for (ErrorStatistics* statistics :
       {&summary.sound, &summary.system, &summary.host, &summary.other, &summary.fitted}) {
    Finish(*statistics);
  }
}

}  // namespace

Agreement ExperimentSummary::agreement() const {
  if (!missed.empty() || !wrong_status.empty()) return Agreement::kMisses;
  return close > 0 ? Agreement::kClose : Agreement::kHolds;
}

ExperimentSummary Summarize(const ErrorBounds& bounds, std::span<const ComparedRow> rows) {
  ExperimentSummary summary;
  ExperimentSummary bounded;  // without known misses
  for (size_t i = 0; i < rows.size(); ++i) {
    AddError(rows[i].result, summary);
    if (FindMiss(bounds, NameOf(rows[i].result.row)) == nullptr) {
      AddError(rows[i].result, bounded);
    }
    AddStatus(rows[i], summary);
    AddAgreement(bounds, i, rows[i].result, summary);
  }
  FinishAll(summary);
  FinishAll(bounded);
  CheckKnownMisses(bounds, rows, summary);
  std::vector<std::string>& violations = summary.violations;
  CheckBound("mean error of sound rows", bounded.sound.mean, "", bounds.mean, violations);
  CheckBound("worst error of a sound row", bounded.sound.worst, bounded.sound.worst_row,
             bounds.worst, violations);
  CheckBound("mean error of the published system", bounded.system.mean, "", bounds.system_mean,
             violations);
  CheckBound("worst error of the published system", bounded.system.worst, bounded.system.worst_row,
             bounds.system_worst, violations);
  CheckBound("worst error of a row of tier B", bounded.other.worst, bounded.other.worst_row,
             bounds.worst_other, violations);
  CheckBound("worst error in host memory", bounded.host.worst, bounded.host.worst_row,
             bounds.host_worst, violations);
  const auto wrong = static_cast<int64_t>(summary.wrong_status.size());
  if (wrong > bounds.wrong_status) {
    violations.push_back(StrCat(wrong, " runs end otherwise than published, the bound is ",
                                bounds.wrong_status, " (",
                                absl::StrJoin(summary.wrong_status, "; "), ")"));
  }
  return summary;
}

}  // namespace horizon
