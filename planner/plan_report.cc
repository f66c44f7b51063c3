#include "planner/plan_report.h"

#include <algorithm>
#include <chrono>

#include "common/progress.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "planner/machines/machine_catalog.h"
#include "planner/save_estimate.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

// The fields of a plan that a person decides, in one table.
std::string PlanTable(const StreamPlan& plan) {
  TextTable table({"plan", "value"});
  const auto row = [&](std::string_view field, std::string value) {
    table.AddRow({std::string(field), std::move(value)});
  };
  row("strategy", std::string(ToString(plan.strategy)));
  row("chunk_bytes", ToString(plan.chunk_bytes));
  row("buffer_depth", StrCat(plan.buffer_depth));
  if (!plan.backward_prefetch) row("backward_prefetch", "false");
  row("resident_chunks", StrCat(plan.resident_chunks));
  row("recompute", plan.recompute ? "true" : "false");
  if (plan.recompute) {
    row("anchor_interval (K)", StrCat(plan.anchor_interval));
    row("anchor_home", std::string(ToString(plan.anchor_home)));
  }
  row("gradient_slabs", StrCat(plan.gradient_slabs));
  row("accumulation_order", std::string(ToString(plan.accumulation_order)));
  row("loss_chunk_tokens", StrCat(plan.loss_chunk_tokens));
  row("embedding_home", std::string(ToString(plan.embedding_home)));
  row("threads", StrCat("compute ", plan.compute_threads, ", host ", plan.host_threads,
                        ", optimizer ", plan.optimizer_threads));
  return std::move(table).Finish();
}

std::string JobLine(const PlanAnswer& answer) {
  const TrainingJob& job = answer.job;
  std::string text =
      StrCat("job: ", job.micro_batch, " x ", job.sequence, " tokens",
             job.accumulation > 1 ? StrCat(" x ", job.accumulation) : "", " a step, state ",
             ToString(job.state_format), ", optimizer ", ToString(job.optimizer_place), "\n");
  for (const Proposal& proposal : answer.proposals) {
    text += StrCat("proposal: ", proposal.field, " ", proposal.value, " (", proposal.reason, ")\n");
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
    const std::string name = one.field == field ? "" : one.field;
    field = one.field;
    std::string against = one.chosen ? "chosen" : PercentChange(one.slower);
    if (!one.possible) against = "not possible";
    if (one.possible && !one.fits) against += ", does not fit";
    table.AddRow({name, one.value, one.possible ? ToString(Seconds{one.step_seconds}) : "",
                  std::move(against), one.possible ? ToString(one.device_bytes) : ""});
  }
  return std::move(table).Finish();
}

void WriteSized(const SizedModel& sized, JsonWriter& writer) {
  const Prediction& prediction = sized.answer.search.prediction;
  writer.BeginObject().Key("model").String(sized.name);
  WriteRunnable(sized.answer.planned_only, writer);
  writer.Key("layers").Integer(sized.layers).Key("parameters").Unsigned(sized.parameters);
  writer.Key("micro_batch").Integer(sized.answer.job.micro_batch);
  writer.Key("tokens_per_second").Number(prediction.tokens_per_second);
  writer.Key("days_per_billion_tokens").Number(sized.days_per_billion_tokens());
  writer.Key("host_bytes").Unsigned(prediction.memory.host_bytes());
  writer.Key("device_bytes").Unsigned(prediction.memory.device_bytes());
  writer.EndObject();
}

}  // namespace

std::string PredictionText(const Prediction& prediction, const HardwareProfile& profile) {
  std::string text =
      StrCat("predicted: ", ToString(Seconds{prediction.step_seconds}), " a step, ",
             ShortNumber(prediction.tokens_per_second), " tokens/s, ",
             ShortNumber(prediction.model_tflops), " TFLOPS (6N), ",
             ShortNumber(1e9 / prediction.tokens_per_second / 86400), " days for 10^9 tokens\n");
  const std::vector<RunLimit> limits = LimitsOf(prediction, profile);
  text += StrCat("limit: ", ToString(limits[0]), "\nnext: ", ToString(limits[1]), ", ",
                 ToString(limits[2]), "\n\n");
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
         waits ? StrCat(ToString(stall->awaited), " (", ToString(stall->awaited_lane), ")") : ""});
  }
  return StrCat(text, std::move(lanes).Finish(), "\n", MemoryTable(prediction, profile));
}

std::string PlanReportText(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  std::string text = StrCat(PlannedOnlyLine(answer.planned_only), report.spec.name, " on ",
                            MachineHeading(report.profile), "\n", JobLine(answer));
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
                 PredictionText(answer.search.prediction, report.profile));
  const SaveEstimate save = EstimateSave(report.spec, answer.job, report.profile);
  text +=
      StrCat("a checkpoint takes ", ToString(save.bytes), ", ",
             RoughDuration(std::chrono::nanoseconds(static_cast<int64_t>(save.seconds() * 1e9))),
             save.assumed ? " at an assumed " : " at ",
             ToString(BytesPerSecond{save.bytes_per_second}), "\n");
  if (!report.alternatives.empty()) {
    text += StrCat("\none field changed at a time:\n", AlternativesTable(report.alternatives));
  }
  text += StrCat("\nsearched ", WithCommas(static_cast<uint64_t>(answer.search.plans)), " plans, ",
                 WithCommas(static_cast<uint64_t>(answer.search.fitting)), " fit with ",
                 Percent(report.margin), " of each memory left free, ", answer.search.simulated,
                 " simulated");
  if (answer.search.gap > 0) {
    text += StrCat("\na better one could be at most ", Percent(answer.search.gap, 1), " faster");
  }
  return text + "\n";
}

void WritePrediction(const Prediction& prediction, const HardwareProfile& profile,
                     JsonWriter& writer) {
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
  for (const RunLimit& limit : LimitsOf(prediction, profile)) writer.String(ToString(limit));
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
    WritePrediction(answer.search.prediction, report.profile, writer);
    const SaveEstimate save = EstimateSave(report.spec, answer.job, report.profile);
    writer.Key("save").BeginObject().Key("bytes").Unsigned(save.bytes);
    writer.Key("weights_bytes").Unsigned(save.weights_bytes);
    writer.Key("seconds").Number(save.seconds());
    writer.Key("disk_bytes_per_second").Number(save.bytes_per_second);
    writer.Key("assumed").Bool(save.assumed).EndObject();
  }
  writer.Key("search").BeginObject().Key("plans").Integer(answer.search.plans);
  writer.Key("fitting").Integer(answer.search.fitting);
  writer.Key("simulated").Integer(answer.search.simulated);
  writer.Key("gap").Number(answer.search.gap).EndObject();
  if (!report.alternatives.empty()) {
    writer.Key("alternatives").BeginArray();
    for (const Alternative& one : report.alternatives) {
      writer.BeginObject().Key("field").String(one.field).Key("value").String(one.value);
      writer.Key("chosen").Bool(one.chosen).Key("possible").Bool(one.possible);
      writer.Key("fits").Bool(one.fits).Key("step_seconds").Number(one.step_seconds);
      writer.Key("device_bytes").Unsigned(one.device_bytes).EndObject();
    }
    writer.EndArray();
  }
  writer.Key("shortages").BeginArray();
  for (const Shortage& shortage : answer.search.shortages) {
    if (answer.feasible) break;
    writer.BeginObject().Key("memory").String(ToString(shortage.limit));
    writer.Key("needed_bytes").Unsigned(shortage.needed);
    writer.Key("available_bytes").Unsigned(shortage.available).EndObject();
  }
  writer.EndArray().Key("remedies").BeginArray();
  for (const Remedy& remedy : answer.remedies) writer.String(remedy.what);
  writer.EndArray().EndObject();
  return std::move(writer).Finish();
}

std::string LargestReportText(const LargestReport& report) {
  const LargestModels& largest = report.largest;
  if (!largest.by_depth.has_value()) {
    return StrCat("not even one layer of the smallest model fits on ", report.profile.name, ": ",
                  largest.limit, " lacks\n");
  }
  std::string text = StrCat(PlannedOnlyLine(largest.by_depth->answer.planned_only),
                            "largest model on ", MachineHeading(report.profile), "\n\n");
  TextTable table({"", "model", "parameters", "batch", "tokens/s", "days for 10^9", "host"});
  const auto row = [&](std::string_view how, const SizedModel& sized) {
    const Prediction& prediction = sized.answer.search.prediction;
    table.AddRow({std::string(how), sized.name, WithCommas(sized.parameters),
                  StrCat(sized.answer.job.micro_batch), ShortNumber(prediction.tokens_per_second),
                  ShortNumber(sized.days_per_billion_tokens()),
                  ToString(prediction.memory.host_bytes())});
  };
  row("by depth", *largest.by_depth);
  if (largest.by_size.has_value()) row("real size", *largest.by_size);
  text += StrCat(std::move(table).Finish(), "\nlimit: ", largest.limit, "\n\n");
  TextTable buy({"what to buy", "largest", "", "tokens/s of today's largest", ""});
  for (const Purchase& purchase : report.purchases) {
    buy.AddRow({purchase.what, WithCommas(purchase.parameters),
                PercentChange(purchase.size_gain, 0), ShortNumber(purchase.tokens_per_second),
                PercentChange(purchase.speed_gain, 0)});
  }
  return text + std::move(buy).Finish();
}

std::string LargestReportJson(const LargestReport& report) {
  JsonWriter writer;
  writer.BeginObject().Key("machine").String(report.profile.name).Key("largest");
  if (report.largest.by_depth.has_value()) {
    WriteSized(*report.largest.by_depth, writer);
  } else {
    writer.Null();
  }
  writer.Key("largest_size");
  if (report.largest.by_size.has_value()) {
    WriteSized(*report.largest.by_size, writer);
  } else {
    writer.Null();
  }
  writer.Key("limit").String(report.largest.limit).Key("purchases").BeginArray();
  for (const Purchase& purchase : report.purchases) {
    writer.BeginObject().Key("what").String(purchase.what);
    writer.Key("parameters").Unsigned(purchase.parameters);
    writer.Key("tokens_per_second").Number(purchase.tokens_per_second);
    writer.Key("size_gain").Number(purchase.size_gain);
    writer.Key("speed_gain").Number(purchase.speed_gain).EndObject();
  }
  writer.EndArray().EndObject();
  return std::move(writer).Finish();
}

}  // namespace horizon
