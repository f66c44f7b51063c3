#include "experiments/row_table.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "experiments/summary/report_cells.h"
#include "planner/make_plan.h"

namespace horizon {
namespace {

std::string Exact(const std::optional<double>& value) {
  return value.has_value() ? StrCat(*value) : "";
}

std::string PublishedText(const PublishedRow& row) {
  if (row.status == RunStatus::kOutOfMemory && row.metric != Metric::kHostGib) return "OOM";
  if (row.published.has_value()) {
    return StrCat(row.lower_bound ? "> " : "", FigureText(*row.published));
  }
  return row.status == RunStatus::kOk ? "runs" : "not reported";
}

std::string SimulatedText(const ComparedRow& compared) {
  const RowResult& result = compared.result;
  if (!compared.is_simulated) return "none";
  if (result.simulated.has_value()) {
    return StrCat(FigureText(*result.simulated), IsOverOurMemory(compared) ? " *" : "");
  }
  return result.fits ? "fits" : "OOM";
}

// What a row without figures says: whether it ended as published.
HtmlCell StatusCell(const ComparedRow& compared) {
  const PublishedRow& row = compared.result.row;
  if (!compared.is_simulated || row.status == RunStatus::kUnknown) return NumberCell("");
  if (row.use == RowUse::kIgnored) return NumberCell("ignored", CellTone::kMuted);
  if (HasWrongStatus(compared)) return NumberCell("differs", CellTone::kBad);
  if (IsOverOurMemory(compared)) return NumberCell("does not fit *", CellTone::kWarn);
  return NumberCell("holds", CellTone::kGood);
}

HtmlCell ErrorCell(const ComparedRow& compared) {
  const std::optional<double> error = ErrorOf(compared.result);
  if (!error.has_value()) return StatusCell(compared);
  CellTone tone = CellTone::kPlain;
  if (compared.result.row.use == RowUse::kJudged) tone = ToneOf(*error);
  if (compared.result.row.use == RowUse::kIgnored) tone = CellTone::kMuted;
  return NumberCell(SignedPercent(*error), tone);
}

std::string ShortageText(const std::vector<Shortage>& shortages) {
  return absl::StrJoin(DescribeShortages(shortages), "; ");
}

HtmlCell HorizonCell(const ComparedRow& compared) {
  if (compared.horizon.empty()) return NumberCell("");
  const HorizonRun& run = compared.horizon.front();
  if (!run.fits) {
    HtmlCell cell = NumberCell("does not fit", CellTone::kWarn);
    cell.tooltip = ShortageText(run.shortages);
    return cell;
  }
  const std::optional<double> value = HorizonValue(compared);
  return NumberCell(value.has_value() ? FigureText(*value) : "fits");
}

// How many times as fast as the simulated published system.
std::string GainText(const ComparedRow& compared) {
  const Metric metric = compared.result.row.metric;
  if (!HorizonValue(compared).has_value() || metric == Metric::kHostGib) return "";
  return absl::StrFormat("%.2fx", compared.result.prediction.step_seconds /
                                      compared.horizon.front().prediction.step_seconds);
}

std::string NoteOf(const ComparedRow& compared) {
  std::string note = compared.result.row.note;
  if (IsOverOurMemory(compared)) {
    note += StrCat(note.empty() ? "" : "; ", "* does not fit by our memory model",
                   compared.result.simulated.has_value() ? ", but is timed all the same: " : ": ",
                   ShortageText(compared.result.prediction.shortages));
  }
  return note;
}

// As a page shows it: names of our files with spaces.
std::string ShownNote(const std::string& note) { return absl::StrReplaceAll(note, {{"_", " "}}); }

// Every note once, in the order of the rows.
std::vector<std::string> NotesOf(const ExperimentRun& run) {
  std::vector<std::string> notes;
  for (const ComparedRow& compared : run.rows) {
    std::string note = NoteOf(compared);
    if (note.empty() || std::find(notes.begin(), notes.end(), note) != notes.end()) continue;
    notes.push_back(std::move(note));
  }
  return notes;
}

HtmlCell NoteCell(const ComparedRow& compared, const std::vector<std::string>& notes) {
  const std::string note = NoteOf(compared);
  if (note.empty()) return TextCell("");
  const auto number = std::find(notes.begin(), notes.end(), note) - notes.begin() + 1;
  return {.text = StrCat("[", number, "]"), .tooltip = ShownNote(note)};
}

std::string HowText(const ComparedRow& compared) {
  return compared.is_simulated ? "simulated" : "not simulated";
}

}  // namespace

std::string_view UnitOf(Metric metric) {
  switch (metric) {
    case Metric::kTflops:
      return "TFLOPS";
    case Metric::kTokensPerSecond:
      return "tokens/s";
    case Metric::kStepSeconds:
      return "seconds per step";
    case Metric::kHostGib:
      return "host memory, GiB";
    case Metric::kStatus:
      break;
  }
  return "runs at all";
}

HtmlTable RowsTable(const ExperimentRun& run) {
  HtmlTable table{.header = Header({"row", "system", "figure"},
                                   {"paper", "simulated", "error", "horizon", "gain", "batch"})};
  for (const HtmlCell& cell : Header({"tier", "how", "note"}, {})) {
    table.header.push_back(cell);
  }
  const std::vector<std::string> notes = NotesOf(run);
  for (const ComparedRow& compared : run.rows) {
    const PublishedRow& row = compared.result.row;
    const CellTone tone = row.use == RowUse::kIgnored ? CellTone::kMuted : CellTone::kPlain;
    std::vector<HtmlCell> cells = {TextCell(RowTitle(row)), TextCell(SystemTitle(row.system)),
                                   TextCell(std::string(UnitOf(row.metric)))};
    cells.push_back(NumberCell(PublishedText(row), tone));
    cells.push_back(NumberCell(SimulatedText(compared),
                               compared.is_simulated ? CellTone::kPlain : CellTone::kMuted));
    cells.push_back(ErrorCell(compared));
    cells.push_back(HorizonCell(compared));
    cells.push_back(NumberCell(GainText(compared)));
    cells.push_back(NumberCell(compared.is_simulated ? StrCat(compared.result.batch) : ""));
    cells.back().tooltip =
        row.batch.has_value() ? "published" : "the largest that the memory model allows";
    cells.push_back({.text = StrCat(ToString(row.tier), ", ", ToString(row.use)), .tone = tone});
    cells.push_back(TextCell(HowText(compared)));
    cells.push_back(NoteCell(compared, notes));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

HtmlTable NotesTable(const ExperimentRun& run) {
  HtmlTable table{.header = Header({"note", "about the rows above"}, {})};
  for (const std::string& note : NotesOf(run)) {
    table.rows.push_back(
        {TextCell(StrCat("[", table.rows.size() + 1, "]")), TextCell(ShownNote(note))});
  }
  return table;
}

CsvTable RowsCsv(const ExperimentRun& run) {
  CsvTable table{.header = {"id",
                            "system",
                            "machine",
                            "model",
                            "layers",
                            "hidden",
                            "ffn",
                            "sequence",
                            "batch",
                            "metric",
                            "published",
                            "relation",
                            "published_status",
                            "simulated",
                            "fits",
                            "error_percent",
                            "step_seconds",
                            "tokens_per_second",
                            "horizon",
                            "horizon_fits",
                            "tier",
                            "use",
                            "how",
                            "note"}};
  const auto whole = [](const std::optional<int64_t>& value) {
    return value.has_value() ? StrCat(*value) : "";
  };
  for (const ComparedRow& compared : run.rows) {
    const RowResult& result = compared.result;
    const PublishedRow& row = result.row;
    const bool ours = compared.is_simulated;
    std::optional<double> percent = ErrorOf(result);
    if (percent.has_value()) *percent *= 100;
    table.rows.push_back(
        {row.id,
         row.system,
         row.machine,
         row.model,
         whole(row.layers),
         whole(row.hidden),
         whole(row.ffn),
         StrCat(row.sequence),
         ours ? StrCat(result.batch) : "",
         std::string(ToString(row.metric)),
         Exact(row.published),
         row.lower_bound ? ">" : "=",
         std::string(ToString(row.status)),
         Exact(result.simulated),
         ours ? (result.fits ? "yes" : "no") : "",
         Exact(percent),
         ours ? StrCat(result.prediction.step_seconds) : "",
         ours ? StrCat(result.prediction.tokens_per_second) : "",
         Exact(HorizonValue(compared)),
         compared.horizon.empty() ? "" : (compared.horizon.front().fits ? "yes" : "no"),
         std::string(ToString(row.tier)),
         std::string(ToString(row.use)),
         HowText(compared),
         NoteOf(compared)});
  }
  return table;
}

}  // namespace horizon
