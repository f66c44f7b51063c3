#include "planner/largest_report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "planner/changed_setups.h"
#include "planner/plan_report.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

void WriteSized(const std::optional<SizedModel>& sized, JsonWriter& writer) {
  if (!sized.has_value()) {
    writer.Null();
    return;
  }
  const Prediction& prediction = sized->answer.search.prediction;
  writer.BeginObject().Key("model").String(sized->name);
  WriteRunnable(sized->answer.planned_only, writer);
  writer.Key("layers").Integer(sized->layers).Key("parameters").Unsigned(sized->parameters);
  writer.Key("micro_batch").Integer(sized->answer.job.micro_batch);
  writer.Key("strategy").String(ToString(sized->answer.search.plan->strategy));
  writer.Key("tokens_per_second").Number(prediction.tokens_per_second);
  writer.Key("days_per_billion_tokens").Number(sized->days_per_billion_tokens());
  writer.Key("host_bytes").Unsigned(prediction.memory.host_bytes());
  writer.Key("device_bytes").Unsigned(prediction.memory.device_bytes());
  writer.EndObject();
}

void WriteModels(const LargestByState& one, JsonWriter& writer) {
  writer.Key("state").String(ToString(one.state)).Key("largest");
  WriteSized(one.models.by_depth, writer);
  writer.Key("largest_size");
  WriteSized(one.models.by_size, writer);
  writer.Key("limit").String(one.models.limit);
}

void WriteChanges(std::string_view key, const std::vector<Change>& changes, JsonWriter& writer) {
  writer.Key(key).BeginArray();
  for (const Change& change : changes) {
    writer.BeginObject().Key("what").String(change.what);
    if (!change.options.empty()) {
      writer.Key("options").String(change.options).Key("cost").String(change.cost);
    }
    writer.Key("parameters").Unsigned(change.parameters);
    writer.Key("tokens_per_second").Number(change.tokens_per_second);
    writer.Key("size_gain").Number(change.size_gain);
    writer.Key("speed_gain").Number(change.speed_gain).EndObject();
  }
  writer.EndArray();
}

std::string Billions(uint64_t parameters) {
  return StrCat(ShortNumber(static_cast<double>(parameters) * 1e-9), " B");
}

// The models that can be downloaded come first: layers added to one are nothing that exists.
std::string ModelsTable(const LargestReport& report) {
  TextTable table({"state", "", "model", "size", "batch", "tokens/s"});
  for (const LargestByState& one : report.largest) {
    std::string state(ToString(one.state));
    const auto row = [&](std::string how, const SizedModel& sized) {
      table.AddRow({std::exchange(state, ""), std::move(how), sized.name,
                    Billions(sized.parameters), StrCat(sized.answer.job.micro_batch),
                    ShortNumber(sized.answer.search.prediction.tokens_per_second)});
    };
    if (one.models.by_size.has_value()) row("published", *one.models.by_size);
    if (one.models.by_depth.has_value()) {
      row("by depth", *one.models.by_depth);
    } else {
      table.AddRow({state, "nothing fits", "", "", "", ""});
    }
  }
  return std::move(table).Finish();
}

// A change in percent where it is more than noise.
std::string GainText(double gain) {
  return gain > -kNoiseGain && gain < kNoiseGain ? "" : PercentChange(gain, 0);
}

std::string ChangesTable(const std::string& title, const std::vector<Change>& changes) {
  if (changes.empty()) return "";
  TextTable table({title, "largest", "", "tokens/s", ""});
  for (const Change& change : changes) {
    table.AddRow({change.what, Billions(change.parameters), GainText(change.size_gain),
                  ShortNumber(change.tokens_per_second), GainText(change.speed_gain)});
  }
  return StrCat("\n", std::move(table).Finish());
}

// The options of each free change, and what it costs.
std::string CostsText(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    text += StrCat("  ", change.what, ": ", change.cost, "\n    ", change.options, "\n");
  }
  return text;
}

}  // namespace

const LargestByState& MostExact(const std::vector<LargestByState>& largest) {
  CHECK(!largest.empty());
  const auto fits = [](const LargestByState& one) { return one.models.by_depth.has_value(); };
  const auto found = std::find_if(largest.begin(), largest.end(), fits);
  return found == largest.end() ? largest.front() : *found;
}

std::string LargestReportText(const LargestReport& report) {
  const LargestByState& today = MostExact(report.largest);
  if (!today.models.by_depth.has_value()) {
    return StrCat("not even one layer of the smallest model fits on ", report.profile.name, ": ",
                  today.models.limit, " is too small\n");
  }
  std::string text = StrCat(PlannedOnlyLine(today.models.by_depth->answer.planned_only),
                            AnswerHeading("largest model", report.profile), "\n",
                            ModelsTable(report), "\nlimit: ", today.models.limit, "\n");
  if (report.largest.size() > 1) {
    text += StrCat("the most exact state that fits is ", ToString(today.state),
                   "; changes are compared with it\n");
  }
  text += ChangesTable("free changes", report.free_changes);
  text += CostsText(report.free_changes);
  text += ChangesTable("what to buy", report.purchases);
  if (!report.free_changes.empty() || !report.purchases.empty()) {
    text += StrCat("\nlargest: by depth; tokens/s: of ", today.models.by_depth->name,
                   ";\nwhat gains less than 3 % is left out\n");
  }
  text +=
      StrCat("\n", BasisLines(report.profile, today.models.by_depth->answer.search.plan->strategy));
  return text;
}

std::string LargestReportJson(const LargestReport& report) {
  JsonWriter writer;
  writer.BeginObject().Key("machine").String(report.profile.name);
  WriteModels(MostExact(report.largest), writer);
  writer.Key("states").BeginArray();
  for (const LargestByState& one : report.largest) {
    writer.BeginObject();
    WriteModels(one, writer);
    writer.EndObject();
  }
  writer.EndArray();
  WriteChanges("free_changes", report.free_changes, writer);
  WriteChanges("purchases", report.purchases, writer);
  if (const std::optional<SizedModel>& deepest = MostExact(report.largest).models.by_depth) {
    WriteBasisOf(report.profile, deepest->answer.search.plan->strategy, writer);
  }
  writer.EndObject();
  return std::move(writer).Finish();
}

}  // namespace horizon
