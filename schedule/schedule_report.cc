#include "schedule/schedule_report.h"

#include <array>
#include <map>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "schedule/check_runnable.h"

namespace horizon {
namespace {

const Phase& UsualPhase(const Schedule& schedule) {
  return schedule.steady.operations.empty() ? schedule.first : schedule.steady;
}

struct LaneSum {
  int64_t operations = 0;
  Bytes bytes;
  uint64_t flops = 0;
};

std::array<LaneSum, kLaneCount> SumLanes(const Phase& phase) {
  std::array<LaneSum, kLaneCount> sums;
  for (const Operation& op : phase.operations) {
    LaneSum& sum = sums[static_cast<size_t>(op.lane)];
    ++sum.operations;
    sum.bytes += op.bytes;
    sum.flops += op.flops;
  }
  return sums;
}

using BufferSums = std::map<std::pair<Memory, BufferKind>, std::pair<int64_t, Bytes>>;

BufferSums SumBuffers(const MemoryLayout& memory) {
  BufferSums sums;
  for (const Buffer& buffer : memory.buffers) {
    auto& [count, bytes] = sums[{buffer.memory, buffer.kind}];
    ++count;
    bytes += buffer.bytes;
  }
  return sums;
}

// "2.00 times" of the weights of these chunks.
std::string Times(const Crossings& crossings) {
  if (crossings.chunks == 0) return "-";
  const int64_t hundredths = (200 * crossings.loads / crossings.chunks + 1) / 2;
  const int64_t rest = hundredths % 100;
  return StrCat(hundredths / 100, ".", rest < 10 ? "0" : "", rest);
}

void AddTraffic(TextTable& table, const std::string& what, const Crossings& crossings) {
  if (crossings.chunks == 0) return;
  table.AddRow({what, StrCat(crossings.chunks), StrCat(crossings.loads), Times(crossings),
                ToString(crossings.bytes)});
}

std::string MemoryTable(const Schedule& schedule) {
  TextTable table({"memory", "what", "buffers", "bytes"});
  for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
    const Bytes total = schedule.memory.totals[static_cast<size_t>(memory.value)];
    table.AddRow({std::string(memory.word), "peak", "", ToString(total)});
    for (const auto& [key, sum] : SumBuffers(schedule.memory)) {
      if (key.first != memory.value) continue;
      table.AddRow(
          {"", std::string(ToString(key.second)), StrCat(sum.first), ToString(sum.second)});
    }
  }
  return std::move(table).Finish();
}

}  // namespace

LinkTraffic CountTraffic(const Schedule& schedule) {
  const ChunkTable& chunks = schedule.chunks;
  LinkTraffic traffic;
  const auto group = [&](int32_t c) -> Crossings& {
    if (chunks.chunks[c].resident) return traffic.resident;
    if (chunks.layers.contains(c)) return traffic.layers;
    return chunks.head.contains(c) ? traffic.head : traffic.embedding;
  };
  for (size_t c = 0; c < chunks.chunks.size(); ++c) ++group(static_cast<int32_t>(c)).chunks;
  for (const Operation& op : UsualPhase(schedule).operations) {
    if (op.kind == OperationKind::kLoadChunk) {
      ++group(op.chunk).loads;
      group(op.chunk).bytes += op.bytes;
    }
    if (op.lane == Lane::kH2d) traffic.h2d_bytes += op.bytes;
    if (op.lane == Lane::kD2h) traffic.d2h_bytes += op.bytes;
  }
  return traffic;
}

std::string ScheduleReportText(const ModelSpec& spec, const Schedule& schedule) {
  const ChunkTable& chunks = schedule.chunks;
  std::string text =
      StrCat(PlannedOnlyLine(WhyPlannedOnly(spec, schedule.job, schedule.plan)), spec.name, ": ",
             WithCommas(chunks.parameters), " parameters",
             chunks.trained == chunks.parameters
                 ? ""
                 : StrCat(" (", WithCommas(chunks.trained), " of them trained)"),
             " in ", chunks.chunks.size(), " chunks",
             // Without recompute, and where nothing goes backward, there are none.
             schedule.plan.recompute && schedule.kind == PassKind::kTrain
                 ? StrCat(" and ", chunks.recompute_blocks.size(), " recompute blocks")
                 : "",
             "; pass ", ToString(schedule.kind), ", strategy ", ToString(schedule.plan.strategy),
             "\nstep of ", schedule.job.accumulation, " x ", schedule.job.micro_batch,
             " sequences of ", schedule.job.sequence, " tokens; ", schedule.first.operations.size(),
             " operations in first, ", schedule.steady.operations.size(), " in steady, ",
             schedule.drain.operations.size(), " in drain; verified\n\n");

  text += "First operations of a step (order of events, not to scale):\n";
  const LanePicture picture = DrawLanes(schedule);
  text += StrCat(picture.lanes, picture.legend, "\n");

  TextTable lanes({"lane", "operations", "bytes", "flops"});
  const std::array<LaneSum, kLaneCount> sums = SumLanes(UsualPhase(schedule));
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    const LaneSum& sum = sums[static_cast<size_t>(lane.value)];
    if (sum.operations == 0) continue;
    lanes.AddRow({std::string(lane.word), StrCat(sum.operations), ToString(sum.bytes),
                  sum.flops == 0 ? "" : FlopsText(sum.flops)});
  }
  text += StrCat(std::move(lanes).Finish(), "\n");

  const LinkTraffic traffic = CountTraffic(schedule);
  TextTable weights({"weights over the link", "chunks", "loads", "times", "bytes"});
  AddTraffic(weights, "layers", traffic.layers);
  AddTraffic(weights, chunks.tied ? "table (tied)" : "head", traffic.head);
  AddTraffic(weights, "embedding", traffic.embedding);
  AddTraffic(weights, "resident", traffic.resident);
  text += StrCat(std::move(weights).Finish(), "\n", MemoryTable(schedule));
  for (const std::string& note : schedule.notes) text += StrCat("note: ", note, "\n");
  return text;
}

std::string ScheduleReportJson(const ModelSpec& spec, const Schedule& schedule) {
  JsonWriter json;
  json.BeginObject();
  json.Key("model").String(spec.name).Key("pass").String(ToString(schedule.kind));
  WriteRunnable(WhyPlannedOnly(spec, schedule.job, schedule.plan), json);
  json.Key("strategy").String(ToString(schedule.plan.strategy));
  json.Key("parameters").Unsigned(schedule.chunks.parameters);
  json.Key("trained_parameters").Unsigned(schedule.chunks.trained);
  json.Key("chunks").Unsigned(schedule.chunks.chunks.size());
  json.Key("blocks").Unsigned(schedule.chunks.recompute_blocks.size());
  json.Key("verified").Bool(true);
  json.Key("operations").BeginObject();
  json.Key("first").Unsigned(schedule.first.operations.size());
  json.Key("steady").Unsigned(schedule.steady.operations.size());
  json.Key("drain").Unsigned(schedule.drain.operations.size());
  json.EndObject();
  json.Key("lanes").BeginObject();
  const std::array<LaneSum, kLaneCount> sums = SumLanes(UsualPhase(schedule));
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    const LaneSum& sum = sums[static_cast<size_t>(lane.value)];
    json.Key(lane.word).BeginObject().Key("operations").Integer(sum.operations);
    json.Key("bytes").Unsigned(sum.bytes).Key("flops").Unsigned(sum.flops).EndObject();
  }
  json.EndObject();
  const LinkTraffic traffic = CountTraffic(schedule);
  json.Key("crossings").BeginObject();
  const auto add = [&](std::string_view key, const Crossings& crossings) {
    json.Key(key).BeginObject().Key("chunks").Integer(crossings.chunks);
    json.Key("loads").Integer(crossings.loads).Key("bytes").Unsigned(crossings.bytes).EndObject();
  };
  add("layers", traffic.layers);
  add("head", traffic.head);
  add("embedding", traffic.embedding);
  add("resident", traffic.resident);
  json.EndObject();
  json.Key("memory").BeginObject();
  for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
    json.Key(memory.word).BeginObject();
    json.Key("bytes").Unsigned(schedule.memory.totals[static_cast<size_t>(memory.value)]);
    json.Key("buffers").BeginObject();
    for (const auto& [key, sum] : SumBuffers(schedule.memory)) {
      if (key.first != memory.value) continue;
      json.Key(ToString(key.second)).BeginObject().Key("count").Integer(sum.first);
      json.Key("bytes").Unsigned(sum.second).EndObject();
    }
    json.EndObject().EndObject();
  }
  json.EndObject();
  json.Key("notes").BeginArray();
  for (const std::string& note : schedule.notes) json.String(note);
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
