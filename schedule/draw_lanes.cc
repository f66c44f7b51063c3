// The text picture of a schedule's lanes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/text/str_cat.h"
#include "schedule/schedule_report.h"
#include "schedule/timeline/timeline.h"

namespace horizon {
namespace {

constexpr int kLabelWidth = 11;
constexpr size_t kLeastCellWidth = 5;

// One or two letters a kind of operation, in the order of OperationKind.
constexpr std::string_view kLetters[] = {"nb", "tk", "ga", "rw", "P",  "L",  "E",  "F", "as",
                                         "al", "R",  "S",  "X",  "H",  "B",  "Eb", "G", "A",
                                         "gr", "sc", "T",  "n",  "pn", "cf", "c",  "U", "uf",
                                         "cu", "lo", "ro", "Z",  "lz", "rp"};
static_assert(std::size(kLetters) == kOperationKinds);

// The letters and the number of the chunk (or of the part, where it is about none).
std::string LabelOf(const Operation& op) {
  const std::string_view letters = kLetters[static_cast<size_t>(op.kind)];
  if (op.chunk >= 0) return StrCat(letters, op.chunk);
  return op.part >= 0 ? StrCat(letters, op.part) : std::string(letters);
}

// "  L load chunk, F forward, ...", in lines that fit.
std::string LegendOf(const std::set<OperationKind>& kinds) {
  constexpr size_t kColumns = 72;  // the last line also takes the note on numbers
  std::string legend;
  std::string line;
  for (const OperationKind kind : kinds) {
    std::string words(ToString(kind));
    std::replace(words.begin(), words.end(), '_', ' ');
    const std::string entry = StrCat(kLetters[static_cast<size_t>(kind)], " ", words);
    if (!line.empty() && line.size() + entry.size() + 3 > kColumns) {
      legend += StrCat(line, ",\n");
      line.clear();
    }
    line += StrCat(line.empty() ? "  " : ", ", entry);
  }
  return StrCat(legend, line, "; the number is the chunk\n");
}

struct Drawn {
  const TimelineEntry* entry;
  const Operation* op;
};

}  // namespace

LanePicture DrawLanes(const Schedule& schedule, int columns) {
  const std::vector<StepKind> steps = StepsOf(schedule, 2);
  const Timeline timeline = EarliestTimeline(schedule, steps, NominalNanoseconds);
  const bool repeats = std::find(steps.begin(), steps.end(), StepKind::kSteady) != steps.end();
  const int32_t step = repeats ? 1 : 0;
  const Phase& phase = PhaseOf(schedule, steps[step]);

  std::vector<Drawn> drawn;
  std::set<int64_t> starts;
  size_t cell_width = kLeastCellWidth;  // the longest label and a space
  for (const TimelineEntry& entry : timeline.entries) {
    if (entry.step != step) continue;
    drawn.push_back({&entry, &phase.operations[entry.operation]});
    starts.insert(entry.start_ns);
    cell_width = std::max(cell_width, LabelOf(*drawn.back().op).size() + 1);
  }
  const int cells = std::max(1, (columns - kLabelWidth) / static_cast<int>(cell_width));
  std::map<int64_t, int> cell_of;
  for (const int64_t start : starts) {
    if (static_cast<int>(cell_of.size()) == cells) break;
    cell_of[start] = static_cast<int>(cell_of.size());
  }
  const auto end_cell = [&](int64_t end) {
    const auto found = cell_of.lower_bound(end);
    return found == cell_of.end() ? static_cast<int>(cell_of.size()) : found->second;
  };

  std::string picture;
  std::set<OperationKind> kinds;
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    std::string row(cell_of.size() * cell_width, ' ');
    bool any = false;
    for (const Drawn& one : drawn) {
      const auto begin = cell_of.find(one.entry->start_ns);
      if (one.op->lane != lane.value || begin == cell_of.end()) continue;
      const int end = std::max(end_cell(one.entry->end_ns), begin->second + 1);
      std::string bar = LabelOf(*one.op);
      bar.resize(static_cast<size_t>(end - begin->second) * cell_width, '-');
      bar.back() = ' ';
      row.replace(static_cast<size_t>(begin->second) * cell_width, bar.size(), bar);
      any = true;
      kinds.insert(one.op->kind);
    }
    if (!any) continue;
    row.erase(row.find_last_not_of(' ') + 1);
    std::string label(lane.word);
    label.resize(kLabelWidth, ' ');
    picture += StrCat(label, row, "\n");
  }
  return {.lanes = std::move(picture), .legend = LegendOf(kinds)};
}

}  // namespace horizon
