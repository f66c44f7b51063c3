#include "planner/plan_report.h"

#include <algorithm>
#include <chrono>

#include "common/progress.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/text/wrap.h"
#include "common/units.h"
#include "model/sample_lengths.h"
#include "planner/machines/machine_catalog.h"
#include "planner/prediction_basis.h"
#include "planner/save_estimate.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

// Words have '-' for people; in files they have '_'.
std::string Dashed(std::string_view word) {
  std::string dashed(word);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

constexpr size_t kColumns = 80;

// The fields of a plan that a person decides, in one table. A plan that streams nothing has no ring
// and no slabs.
std::string PlanTable(const StreamPlan& plan) {
  TextTable table({"plan", "value"});
  const auto row = [&](std::string_view field, std::string value) {
    table.AddRow({std::string(field), std::move(value)});
  };
  const bool streams = plan.strategy != Strategy::kResident;
  row("strategy", Dashed(ToString(plan.strategy)));
  if (streams) {
    row("chunk-bytes", ToString(plan.chunk_bytes));
    row("buffer-depth", StrCat(plan.buffer_depth));
    if (!plan.backward_prefetch) row("backward-prefetch", "false");
    row("resident-chunks", StrCat(plan.resident_chunks));
  }
  row("recompute", plan.recompute ? "true" : "false");
  if (plan.recompute) {
    row("anchor-interval (K)", StrCat(plan.anchor_interval));
    row("anchor-home", Dashed(ToString(plan.anchor_home)));
  }
  if (!plan.keep_feed_forward) row("keep-feed-forward", "false");
  if (streams) {
    row("gradient-slabs", StrCat(plan.gradient_slabs));
    row("accumulation-order", Dashed(ToString(plan.accumulation_order)));
  }
  row("loss-chunk-tokens", StrCat(plan.loss_chunk_tokens));
  if (streams) row("embedding-home", Dashed(ToString(plan.embedding_home)));
  row("threads", StrCat("compute ", plan.compute_threads, ", host ", plan.host_threads,
                        ", optimizer ", plan.optimizer_threads));
  return std::move(table).Finish();
}

// " in samples of 128 tokens" where rows hold several samples: their mean length.
std::string SampleText(const TrainingJob& job) {
  if (job.sample_lengths.empty()) return "";
  return StrCat(" in samples of ", MeanLength(job.sample_lengths, job.sequence), " tokens");
}

std::string JobLine(const PlanAnswer& answer) {
  const TrainingJob& job = answer.job;
  std::string text = StrCat("job: ", job.micro_batch, " x ", job.sequence, " tokens",
                            job.accumulation > 1 ? StrCat(" x ", job.accumulation) : "", " a step",
                            SampleText(job), ", state ", ToString(job.state_format), ", optimizer ",
                            Dashed(ToString(job.optimizer_place)), "\n");
  for (const Proposal& proposal : answer.proposals) {
    const std::string option = proposal.field == "micro_batch"    ? "--batch"
                               : proposal.field == "state_format" ? "--state"
                                                                  : Dashed(proposal.field);
    text += StrCat("proposal: ", option, " ", proposal.value, " (", proposal.reason, ")\n");
  }
  return text;
}

// What the strategies that were not chosen would do, a line for each.
std::string OtherStrategies(const SearchResult& search) {
  std::string text;
  for (const StrategyOutcome& other : search.strategies) {
    if (other.strategy == search.plan->strategy) continue;
    const std::string name = Dashed(ToString(other.strategy));
    if (other.step_seconds.has_value()) {
      text += StrCat("strategy ", name, " would take ", ToString(Seconds{*other.step_seconds}),
                     " a step, ", ShortNumber(*other.step_seconds / search.prediction.step_seconds),
                     " x as long\n");
    } else if (!other.shortages.empty()) {
      const Shortage& first = other.shortages.front();
      text += StrCat("strategy ", name, " does not fit: short by ",
                     ToString(first.needed - first.available), " of ", ToString(first.limit), "\n");
    } else {
      text += StrCat("strategy ", name, " is not possible with what was set\n");
    }
  }
  return text;
}

std::string MemoryTable(const Prediction& prediction, const HardwareProfile& profile) {
  TextTable table({"memory", "needed", "there is", "full"});
  const auto row = [&](std::string_view name, Bytes needed, Limit limit) {
    const Bytes available = Available(profile, limit, 0);
    table.AddRow({std::string(name), ToString(needed), ToString(available),
                  Percent(static_cast<double>(needed) / static_cast<double>(available))});
  };
  row("host", prediction.memory.host_bytes(), Limit::kHostMemory);
  table.AddRow({"  of it pinned", ToString(prediction.memory.pinned_bytes()), "", ""});
  row("device", prediction.memory.device_bytes(), Limit::kDeviceMemory);
  return std::move(table).Finish();
}

std::string AlternativesTable(const std::vector<Alternative>& alternatives) {
  TextTable table({"field", "value", "step", "against chosen", "device memory"});
  std::string field;
  for (const Alternative& one : alternatives) {
    if (one.field != field && !field.empty()) table.AddRule();
    const std::string name = one.field == field ? "" : Dashed(one.field);
    field = one.field;
    std::string against = one.chosen ? "chosen" : PercentChange(one.slower);
    if (!one.possible) against = "not possible";
    if (one.possible && !one.fits) against += ", does not fit";
    table.AddRow({name, Dashed(one.value), one.possible ? ToString(Seconds{one.step_seconds}) : "",
                  std::move(against), one.possible ? ToString(one.device_bytes) : ""});
  }
  return std::move(table).Finish();
}

std::string GainsTable(std::string_view title, const std::vector<Gain>& gains) {
  if (gains.empty()) return StrCat("\n", title, ": none gains 3 % or more\n");
  TextTable table({std::string(title), "step", "tokens/s", "gain"});
  for (const Gain& gain : gains) {
    table.AddRow({gain.what, ToString(Seconds{gain.step_seconds}),
                  ShortNumber(gain.tokens_per_second), PercentChange(gain.gain, 0)});
  }
  std::string text = StrCat("\n", std::move(table).Finish());
  for (const Gain& gain : gains) {
    if (gain.options.empty()) continue;
    text += StrCat("  ", gain.what, ": ", gain.cost, "\n    ", gain.options, "\n");
  }
  return text;
}

void WriteGains(std::string_view key, const std::vector<Gain>& gains, JsonWriter& writer) {
  writer.Key(key).BeginArray();
  for (const Gain& gain : gains) {
    writer.BeginObject().Key("what").String(gain.what);
    if (!gain.options.empty()) {
      writer.Key("options").String(gain.options).Key("cost").String(gain.cost);
    }
    writer.Key("step_seconds").Number(gain.step_seconds);
    writer.Key("tokens_per_second").Number(gain.tokens_per_second);
    writer.Key("gain").Number(gain.gain).EndObject();
  }
  writer.EndArray();
}

void WriteShortage(const Shortage& shortage, JsonWriter& writer) {
  writer.BeginObject().Key("memory").String(ToString(shortage.limit));
  writer.Key("needed_bytes").Unsigned(shortage.needed);
  writer.Key("available_bytes").Unsigned(shortage.available).EndObject();
}

}  // namespace

std::string AnswerHeading(std::string_view start, const HardwareProfile& profile) {
  std::string text = StrCat(start, " on ", MachineHeading(profile), "\n");
  // What the machine is goes on a line of its own, and on a second one where it needs that.
  const size_t what = text.find(" (");
  if (text.find('\n') <= kColumns || what == std::string::npos) return text;
  text.replace(what, 1, "\n  ");
  const size_t line = what + 1;
  if (text.find('\n', line) - line > kColumns) {
    text.replace(text.rfind(' ', line + kColumns), 1, "\n  ");
  }
  return text;
}

std::string LimitsText(const Prediction& prediction) {
  if (prediction.limits.empty()) {
    return "limit: no part of the machine alone; with 25 % more of any a step stays as long\n";
  }
  std::string text = StrCat("limit: ", ToString(prediction.limits.front()), "\n");
  std::string next;
  for (size_t i = 1; i < prediction.limits.size(); ++i) {
    const RunLimit& limit = prediction.limits[i];
    next += StrCat(next.empty() ? "next: " : ", ", limit.what, " (", Percent(limit.gain), ")");
  }
  return next.empty() ? text : StrCat(text, next, "\n");
}

std::string PredictionText(const Prediction& prediction, const HardwareProfile& profile,
                           const RunLength& length) {
  const std::string indent(std::string_view("predicted: ").size(), ' ');
  std::string text = StrCat("predicted: ", ToString(Seconds{prediction.step_seconds}), " a step, ",
                            ShortNumber(prediction.tokens_per_second), " tokens/s, ",
                            ShortNumber(prediction.model_tflops), " TFLOPS (6N)\n", indent,
                            WrapText(RunLengthText(length, prediction.tokens_per_second),
                                     {.column = indent.size(), .hang = indent.size()}),
                            "\n");
  text += StrCat(LimitsText(prediction), "\n");
  TextTable lanes({"lane", "busy", "longest stall", "waiting for"});
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    const double busy = prediction.busy_share[static_cast<size_t>(lane.value)];
    if (busy == 0) continue;
    const auto stall = std::find_if(prediction.stalls.begin(), prediction.stalls.end(),
                                    [&](const Stall& one) { return one.lane == lane.value; });
    const bool waits = stall != prediction.stalls.end();
    lanes.AddRow(
        {std::string(lane.word), Percent(busy),
         waits ? ToString(Seconds{static_cast<double>(stall->nanoseconds) * 1e-9}) : "",
         waits ? StrCat(Dashed(ToString(stall->awaited)), " (", ToString(stall->awaited_lane), ")")
               : ""});
  }
  return StrCat(text, std::move(lanes).Finish(), "\n", MemoryTable(prediction, profile));
}

std::string BasisLines(const HardwareProfile& profile, Strategy strategy) {
  constexpr std::string_view kName = "the prediction ";
  const std::string text = BasisText(BasisOf(profile, strategy));
  return StrCat(kName, WrapText(text, {.column = kName.size(), .hang = 2}), "\n");
}

void WriteBasisOf(const HardwareProfile& profile, Strategy strategy, JsonWriter& writer) {
  writer.Key("basis");
  WriteBasis(BasisOf(profile, strategy), writer);
}

std::string PlanReportText(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  std::string text = StrCat(PlannedOnlyLine(answer.planned_only),
                            AnswerHeading(report.spec.name, report.profile), JobLine(answer));
  if (report.profile.link.pcie.has_value()) {
    const std::string problem = LinkProblem(*report.profile.link.pcie);
    if (!problem.empty()) text += StrCat("note: ", problem, "\n");
  }
  if (!answer.feasible) {
    text += "\nno plan fits; the one that comes nearest:\n";
    for (const std::string& line : DescribeShortages(answer.search.shortages)) {
      text += StrCat("  ", line, "\n");
    }
    text += answer.remedies.empty() ? "" : "each of these alone would make it fit:\n";
    for (const Remedy& remedy : answer.remedies) text += StrCat("  ", remedy.what, "\n");
    return text;
  }
  text += StrCat("\n", PlanTable(*answer.search.plan), "\n",
                 PredictionText(answer.search.prediction, report.profile, report.length),
                 OtherStrategies(answer.search),
                 BasisLines(report.profile, answer.search.plan->strategy));
  const SaveEstimate save = EstimateSave(report.spec, answer.job, report.profile);
  text +=
      StrCat("a checkpoint takes ", ToString(save.bytes), ", ",
             RoughDuration(std::chrono::nanoseconds(static_cast<int64_t>(save.seconds() * 1e9))),
             save.assumed ? " at an assumed " : " at ",
             ToString(BytesPerSecond{save.bytes_per_second}), "\n");
  if (report.explained != nullptr) {
    const PlanReasoning& explained = *report.explained;
    text += StrCat("\none field changed at a time:\n", AlternativesTable(explained.alternatives),
                   GainsTable("free changes", explained.free_changes),
                   GainsTable("what to buy", explained.purchases),
                   "each planned again by a quick search; what gains less than 3 % is left out\n");
  }
  text += StrCat("\nsearched ", WithCommas(static_cast<uint64_t>(answer.search.plans)),
                 " plans: ", WithCommas(static_cast<uint64_t>(answer.search.fitting)), " fit with ",
                 Percent(report.margin), " of each memory left free, ", answer.search.simulated,
                 " simulated");
  if (answer.search.gap > 0) {
    text += StrCat("\na better one could be at most ", Percent(answer.search.gap, 1), " faster");
  }
  return text + "\n";
}

void WriteStrategies(const SearchResult& search, JsonWriter& writer) {
  writer.Key("strategies").BeginArray();
  for (const StrategyOutcome& one : search.strategies) {
    writer.BeginObject().Key("strategy").String(ToString(one.strategy));
    if (one.step_seconds.has_value()) writer.Key("step_seconds").Number(*one.step_seconds);
    writer.Key("shortages").BeginArray();
    for (const Shortage& shortage : one.shortages) WriteShortage(shortage, writer);
    writer.EndArray().EndObject();
  }
  writer.EndArray();
}

void WritePrediction(const Prediction& prediction, JsonWriter& writer) {
  writer.BeginObject();
  writer.Key("step_seconds").Number(prediction.step_seconds);
  writer.Key("tokens_per_second").Number(prediction.tokens_per_second);
  writer.Key("model_tflops").Number(prediction.model_tflops);
  writer.Key("host_bytes").Unsigned(prediction.memory.host_bytes());
  writer.Key("pinned_bytes").Unsigned(prediction.memory.pinned_bytes());
  writer.Key("device_bytes").Unsigned(prediction.memory.device_bytes());
  writer.Key("operations").Integer(prediction.operations);
  writer.Key("lanes").BeginObject();
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    writer.Key(lane.word).Number(prediction.busy_share[static_cast<size_t>(lane.value)]);
  }
  writer.EndObject().Key("stalls").BeginArray();
  for (const Stall& stall : prediction.stalls) {
    writer.BeginObject().Key("lane").String(ToString(stall.lane));
    writer.Key("awaited").String(ToString(stall.awaited));
    writer.Key("awaited_lane").String(ToString(stall.awaited_lane));
    writer.Key("seconds").Number(static_cast<double>(stall.nanoseconds) * 1e-9).EndObject();
  }
  writer.EndArray().Key("limits").BeginArray();
  for (const RunLimit& limit : prediction.limits) {
    writer.BeginObject().Key("what").String(limit.what).Key("gain").Number(limit.gain).EndObject();
  }
  writer.EndArray().Key("memory").BeginArray();
  for (const MemoryItem& item : prediction.memory.items) {
    writer.BeginObject().Key("memory").String(ToString(item.memory));
    writer.Key("what").String(item.name).Key("count").Integer(item.count);
    writer.Key("bytes").Unsigned(item.bytes).EndObject();
  }
  writer.EndArray().EndObject();
}

std::string PlanReportJson(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  JsonWriter writer;
  writer.BeginObject().Key("feasible").Bool(answer.feasible);
  WriteRunnable(answer.planned_only, writer);
  writer.Key("model").String(report.spec.name).Key("machine").String(report.profile.name);
  writer.Key("job");
  WriteJob(answer.job, writer);
  writer.Key("proposals").BeginArray();
  for (const Proposal& proposal : answer.proposals) {
    writer.BeginObject().Key("field").String(proposal.field).Key("value").String(proposal.value);
    writer.Key("reason").String(proposal.reason).EndObject();
  }
  writer.EndArray();
  if (report.profile.link.pcie.has_value()) {
    const std::string problem = LinkProblem(*report.profile.link.pcie);
    if (!problem.empty()) writer.Key("link_problem").String(problem);
  }
  if (answer.feasible) {
    writer.Key("plan");
    WritePlan(*answer.search.plan, writer);
    writer.Key("prediction");
    WritePrediction(answer.search.prediction, writer);
    WriteBasisOf(report.profile, answer.search.plan->strategy, writer);
    WriteRunLength(report.length, answer.search.prediction.tokens_per_second, writer);
    const SaveEstimate save = EstimateSave(report.spec, answer.job, report.profile);
    writer.Key("save").BeginObject().Key("bytes").Unsigned(save.bytes);
    writer.Key("weights_bytes").Unsigned(save.weights_bytes);
    writer.Key("seconds").Number(save.seconds());
    writer.Key("disk_bytes_per_second").Number(save.bytes_per_second);
    writer.Key("assumed").Bool(save.assumed).EndObject();
  }
  WriteStrategies(answer.search, writer);
  writer.Key("search").BeginObject().Key("plans").Integer(answer.search.plans);
  writer.Key("fitting").Integer(answer.search.fitting);
  writer.Key("simulated").Integer(answer.search.simulated);
  writer.Key("gap").Number(answer.search.gap).EndObject();
  if (report.explained != nullptr) {
    writer.Key("alternatives").BeginArray();
    for (const Alternative& one : report.explained->alternatives) {
      writer.BeginObject().Key("field").String(one.field).Key("value").String(one.value);
      writer.Key("chosen").Bool(one.chosen).Key("possible").Bool(one.possible);
      writer.Key("fits").Bool(one.fits).Key("step_seconds").Number(one.step_seconds);
      writer.Key("device_bytes").Unsigned(one.device_bytes).EndObject();
    }
    writer.EndArray();
    WriteGains("free_changes", report.explained->free_changes, writer);
    WriteGains("purchases", report.explained->purchases, writer);
  }
  writer.Key("shortages").BeginArray();
  for (const Shortage& shortage : answer.search.shortages) {
    if (!answer.feasible) WriteShortage(shortage, writer);
  }
  writer.EndArray().Key("remedies").BeginArray();
  for (const Remedy& remedy : answer.remedies) writer.String(remedy.what);
  writer.EndArray().EndObject();
  return std::move(writer).Finish();
}

}  // namespace horizon
