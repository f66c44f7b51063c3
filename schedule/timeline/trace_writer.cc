#include "schedule/timeline/trace_writer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/timeline/memory_use.h"

namespace horizon {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
constexpr int64_t kProcess = 1;
// Rows differ from the process number, which viewers take for the main thread.
constexpr int64_t kFirstRow = 10;

int64_t RowOf(Lane lane) { return kFirstRow + static_cast<int64_t>(lane); }

// Collects text and hands it to the file piece by piece.
class PieceWriter {
 public:
  explicit PieceWriter(File& file) : file_(file) {}
  absl::Status Add(std::string_view text) {
    text_.append(text);
    return text_.size() < kPiece ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    RETURN_IF_ERROR(file_.WriteAt(offset_, std::as_bytes(std::span(text_))));
    offset_ += text_.size();
    text_.clear();
    return absl::OkStatus();
  }

 private:
  File& file_;
  std::string text_;
  uint64_t offset_ = 0;
};

class TraceWriter {
 public:
  TraceWriter(const Schedule& schedule, const Timeline& timeline, File& file)
      : schedule_(schedule), timeline_(timeline), pieces_(file) {
    size_t begin = 0;
    for (const StepKind kind : timeline.steps) {
      step_begin_.push_back(begin);
      begin += PhaseOf(schedule, kind).operations.size();
    }
  }

  absl::Status Write(const std::string& title) {
    RETURN_IF_ERROR(pieces_.Add("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"));
    RETURN_IF_ERROR(Names(title));
    for (size_t i = 0; i < timeline_.entries.size(); ++i) {
      RETURN_IF_ERROR(Operations(i));
    }
    RETURN_IF_ERROR(Counters());
    RETURN_IF_ERROR(pieces_.Add("\n]}\n"));
    return pieces_.Flush();
  }

 private:
  static JsonWriter Event(std::string_view phase, std::string_view name, int64_t row,
                          int64_t time_ns) {
    JsonWriter json(JsonWriter::Style::kOneLine);
    json.BeginObject().Key("ph").String(phase).Key("name").String(name);
    json.Key("pid").Integer(kProcess).Key("tid").Integer(row);
    json.Key("ts").Number(static_cast<double>(time_ns) / 1000.0);
    return json;
  }

  absl::Status Add(JsonWriter json) {
    json.EndObject();
    return pieces_.Add(
        StrCat(std::exchange(is_first_, false) ? "" : ",\n", std::move(json).Finish()));
  }

  absl::Status Names(const std::string& title) {
    JsonWriter process = Event("M", "process_name", 0, 0);
    process.Key("args").BeginObject().Key("name").String(title).EndObject();
    RETURN_IF_ERROR(Add(std::move(process)));
    for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
      const int64_t row = RowOf(lane.value);
      JsonWriter name = Event("M", "thread_name", row, 0);
      name.Key("args").BeginObject().Key("name").String(lane.word).EndObject();
      RETURN_IF_ERROR(Add(std::move(name)));
      JsonWriter order = Event("M", "thread_sort_index", row, 0);
      order.Key("args").BeginObject().Key("sort_index").Integer(row).EndObject();
      RETURN_IF_ERROR(Add(std::move(order)));
    }
    return absl::OkStatus();
  }

  absl::Status Operations(size_t index) {
    const TimelineEntry& entry = timeline_.entries[index];
    const Phase& phase = PhaseOf(schedule_, timeline_.steps[entry.step]);
    const Operation& op = phase.operations[entry.operation];
    JsonWriter json = Event("X", schedule_.NameOf(op), RowOf(entry.lane), entry.start_ns);
    json.Key("dur").Number(static_cast<double>(entry.end_ns - entry.start_ns) / 1000.0);
    json.Key("cat").String(ToString(op.kind)).Key("args").BeginObject();
    json.Key("step").Integer(entry.step).Key("bytes").Unsigned(entry.bytes);
    json.Key("flops").Unsigned(op.flops).Key("threads").Integer(op.threads).EndObject();
    RETURN_IF_ERROR(Add(std::move(json)));
    for (const Wait& wait : phase.WaitsOf(op)) RETURN_IF_ERROR(Arrow(entry, wait));
    return absl::OkStatus();
  }

  // An arrow from the end of what was awaited to the start of what waited. It leaves a nanosecond
  // before the end: at the end itself a viewer would take it for the next bar's.
  absl::Status Arrow(const TimelineEntry& waiting, const Wait& wait) {
    // A timeline may begin with a later step of a run.
    if (wait.previous_step && waiting.step == 0) return absl::OkStatus();
    const size_t step = waiting.step - (wait.previous_step ? 1 : 0);
    const OperationId body =
        wait.previous_step ? PhaseOf(schedule_, timeline_.steps[step]).body_begin : 0;
    const TimelineEntry& awaited = timeline_.entries[step_begin_[step] + body + wait.operation];
    const int64_t id = ++arrows_;
    JsonWriter from =
        Event("s", "wait", RowOf(awaited.lane), std::max(awaited.start_ns, awaited.end_ns - 1));
    from.Key("id").Integer(id).Key("cat").String("wait");
    RETURN_IF_ERROR(Add(std::move(from)));
    JsonWriter to = Event("f", "wait", RowOf(waiting.lane), waiting.start_ns);
    to.Key("id").Integer(id).Key("cat").String("wait").Key("bp").String("e");
    return Add(std::move(to));
  }

  absl::Status Counters() {
    MemoryTotals shown;
    shown.fill(Bytes(CheckedU64::Overflowed()));
    for (const MemoryChange& change : MemoryOverTime(schedule_, timeline_)) {
      for (const EnumWord<Memory>& memory : WordsOf(Memory{})) {
        const size_t m = static_cast<size_t>(memory.value);
        if (change.bytes[m] == std::exchange(shown[m], change.bytes[m])) continue;
        JsonWriter json = Event("C", StrCat(memory.word, " memory"), 0, change.time_ns);
        json.Key("args").BeginObject().Key("bytes").Unsigned(change.bytes[m]).EndObject();
        RETURN_IF_ERROR(Add(std::move(json)));
      }
    }
    return absl::OkStatus();
  }

  const Schedule& schedule_;
  const Timeline& timeline_;
  PieceWriter pieces_;
  std::vector<size_t> step_begin_;
  bool is_first_ = true;
  int64_t arrows_ = 0;
};

}  // namespace

absl::Status WriteTrace(const Schedule& schedule, const Timeline& timeline,
                        const std::string& title, Io& io, const std::string& path) {
  return WriteFileAtomically(
      io, path, [&](File& file) { return TraceWriter(schedule, timeline, file).Write(title); });
}

}  // namespace horizon
