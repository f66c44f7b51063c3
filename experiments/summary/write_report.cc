#include "experiments/summary/write_report.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "experiments/agreement.h"
#include "experiments/measured/measured_charts.h"
#include "experiments/measured/measured_json.h"
#include "experiments/measured/measured_tables.h"
#include "experiments/row_table.h"
#include "experiments/summary/report_charts.h"
#include "experiments/summary/report_json.h"
#include "experiments/summary/report_tables.h"
#include "experiments/summary/summary_rows.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {
namespace {

std::string Are(int64_t count) { return StrCat(count, count == 1 ? " is" : " are"); }
std::string Agreements(int64_t holding, int64_t close, int64_t missing) {
  return StrCat(holding, holding == 1 ? " holds, " : " hold, ", Are(close), " close and ", missing,
                missing == 1 ? " misses" : " miss");
}

// The result in a few sentences, above everything else.
void AddResult(std::span<const ExperimentRun> runs, std::span<const Claim> claims, HtmlPage& page) {
  std::string text;
  const ClaimCounts counts = CountClaims(claims);
  if (counts.judged() > 0) {
    text =
        StrCat("Of ", counts.judged(), " claims of the MegaTrain paper that can be judged here, ",
               Agreements(counts.holding, counts.close, counts.missing), ". ");
  }
  const ExperimentSummary all = SummarizeAll(runs);
  if (all.judged() > 0) {
    text +=
        StrCat("Of ", all.judged(), " published figures, ",
               Agreements(all.holding, all.close, static_cast<int64_t>(all.missed.size())), ". ");
  }
  if (text.empty()) return;
  page.AddParagraph(StrCat(text, "A figure holds within ", 100 * kHoldsWithin,
                           " %, is close within ", 100 * kCloseWithin, " % and misses beyond."));
}

void AddMisses(std::span<const ExperimentRun> runs, HtmlPage& page) {
  const std::vector<MissGroup> groups = GroupMisses(runs);
  if (!groups.empty()) page.AddSection("Rows that miss, and why");
  std::string_view last;
  for (const MissGroup& group : groups) {
    if (group.experiment != last) page.AddSubheading(group.experiment);
    last = group.experiment;
    page.AddNote(group.reason.empty() ? "No reason is known." : group.reason);
    page.AddTable(group.table);
  }
}

void AddHowToRead(const MeasuredHalf& measured, HtmlPage& page) {
  page.AddSection("How to read this page");
  page.AddParagraph(StrCat(
      "A figure holds when the simulated one is at most ", 100 * kHoldsWithin,
      " % off the published one, is close when it is at most ", 100 * kCloseWithin,
      " % off, and misses otherwise. These limits are the same for all claims and rows. A claim "
      "about a change, such as -20 %, is judged by how much of the change is missed."));
  page.AddParagraph(
      "The figures are those that the MegaTrain paper published for training on one GPU, beside "
      "what the event simulator of horizon predicts for the same runs. The simulator uses data "
      "sheets and a few rates that were fitted to a handful of published rows (last section). "
      "Fitted rows judge nothing; all others do.");
  page.AddParagraph(
      measured.experiments.empty()
          ? "Nothing here was measured by us: every row is simulated."
          : StrCat("Tables and charts headed 'measured on this machine' show runs that we made at "
                   "a size that this machine (",
                   measured.machine,
                   ") trains, each beside what was simulated from its profile. All others are "
                   "simulated. A 'change' is the change of throughput from the row it is compared "
                   "with."));
  page.AddParagraph(
      "Each row is simulated with the strategy of the system it names and the published batch or, "
      "where none is known, the largest that the memory model allows. 'Horizon' is what our own "
      "strategy would give on the same machine with the same model, sequence length, batch and "
      "optimizer state; 'gain' is its speed over the simulated MegaTrain.");
  page.AddParagraph(
      "Rows of tier A are sound, rows of tier B have one uncertain source or setup, and rows of "
      "tier C contradict themselves and are ignored. The mean and the worst error of an experiment "
      "are those of its judged rows of tier A in time or throughput; of host memory the worst "
      "error is listed. OOM means out of memory. Bars without the name of a system are "
      "MegaTrain's. A star marks a run of the paper that does not fit by our memory model; "
      "it is timed all the same.");
  page.AddParagraph(
      "Drift bounds are errors of today, rounded up. They catch a change of the simulator and say "
      "nothing about how good its figures are.");
}

void AddMeasured(const MeasuredExperiment& experiment, HtmlPage& page) {
  page.AddParagraph(experiment.config.summary);
  page.AddParagraph(StrCat(LinkText(experiment), " Every run is made once in each of ",
                           experiment.config.rounds, " rounds of alternating order, for ",
                           experiment.config.steps, " steps. The first step does not count."));
  for (const std::string& violation : experiment.Violations()) {
    page.AddNote(StrCat("Failed: ", violation));
  }
  for (const ReportChart& chart : DrawMeasuredCharts(experiment)) {
    page.AddFigure(chart.svg, chart.narrow_svg, chart.caption);
  }
  page.AddTable(MeasuredRowsTable(experiment));
  const HtmlTable lines = HostLinesTable(experiment);
  if (!lines.rows.empty()) page.AddTable(lines);
  for (const std::string& remark : experiment.config.remarks) page.AddNote(remark);
}

const MeasuredExperiment* FindMeasured(const MeasuredHalf& measured, const std::string& name) {
  for (const MeasuredExperiment& experiment : measured.experiments) {
    if (experiment.config.name == name) return &experiment;
  }
  return nullptr;
}

bool HasRun(std::span<const ExperimentRun> runs, const std::string& name) {
  for (const ExperimentRun& run : runs) {
    if (run.experiment.name == name) return true;
  }
  return false;
}

void AddExperiment(const ExperimentRun& run, HtmlPage& page) {
  const Experiment& experiment = run.experiment;
  page.AddSection(experiment.title);
  page.AddParagraph(StrCat("Verdict: ", SummaryRows(std::span(&run, 1)).front().verdict, "."));
  page.AddParagraph(experiment.summary);
  for (const std::string& violation : run.summary.violations) {
    page.AddNote(StrCat("Drift bound exceeded: ", violation));
  }
  for (const ReportChart& chart : DrawCharts(run)) {
    page.AddFigure(chart.svg, chart.narrow_svg, chart.caption);
  }
  page.AddTable(RowsTable(run));
  const HtmlTable notes = NotesTable(run);
  if (!notes.rows.empty()) page.AddTable(notes);
  if (!run.largest.empty()) page.AddTable(LargestTable(run.largest));
  for (const std::string& remark : experiment.remarks) page.AddNote(remark);
}

std::string MakePage(std::span<const ExperimentRun> runs, std::span<const Claim> claims,
                     const Calibration& calibration, const MeasuredHalf& measured) {
  HtmlPage page(measured.experiments.empty() ? "Published experiments, simulated"
                                             : "Published experiments, simulated and measured");
  AddResult(runs, claims, page);
  if (!claims.empty()) {
    page.AddSection("What the paper claims, and what we get");
    page.AddTable(ClaimsTable(claims));
  }
  if (!runs.empty()) {
    page.AddSection("Verdict by experiment");
    page.AddTable(SummaryTable(runs));
    AddMisses(runs, page);
  }
  page.AddContents();
  AddHowToRead(measured, page);
  for (const ExperimentRun& run : runs) {
    AddExperiment(run, page);
    if (const MeasuredExperiment* half = FindMeasured(measured, run.experiment.name)) {
      page.AddSubheading(half->config.title);
      AddMeasured(*half, page);
    }
  }
  for (const MeasuredExperiment& experiment : measured.experiments) {
    if (HasRun(runs, experiment.config.name)) continue;
    page.AddSection(experiment.config.title);
    AddMeasured(experiment, page);
  }
  page.AddSection("Calibration");
  page.AddParagraph(
      "Everything that was fitted, and the rows it was fitted on. Machines and strategies that are "
      "not listed are used as their data sheets and code say.");
  for (const HtmlTable& table : CalibrationTables(calibration)) page.AddTable(table);
  return page.Render();
}

absl::Status MakeFolder(Io& io, const std::string& folder) {
  absl::Status made = io.MakeDirectory(folder);
  if (!absl::IsAlreadyExists(made)) return made;
  ASSIGN_OR_RETURN(const FileInfo info, io.Info(folder));
  if (info.kind == FileKind::kDirectory) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("cannot write the report into ", Quoted(folder),
                                           ": it is not a directory; give another --output"));
}

}  // namespace

std::vector<ReportFile> MakeReport(std::span<const ExperimentRun> runs,
                                   std::span<const Claim> claims, const Calibration& calibration,
                                   const MeasuredHalf& measured) {
  std::vector<ReportFile> files;
  for (const ExperimentRun& run : runs) {
    const std::string& name = run.experiment.name;
    files.push_back({name + ".csv", WriteCsv(RowsCsv(run))});
    if (!run.largest.empty()) {
      files.push_back({name + "_by_machine.csv", WriteCsv(LargestCsv(run.largest))});
    }
    for (ReportChart& chart : DrawCharts(run)) {
      files.push_back({chart.name + ".svg", std::move(chart.svg)});
    }
  }
  for (const MeasuredExperiment& experiment : measured.experiments) {
    files.push_back(
        {experiment.config.name + "_measured.csv", WriteCsv(MeasuredRowsCsv(experiment))});
    for (ReportChart& chart : DrawMeasuredCharts(experiment)) {
      files.push_back({chart.name + ".svg", std::move(chart.svg)});
    }
  }
  if (!measured.experiments.empty()) files.push_back({"measured.json", MeasuredJson(measured)});
  files.push_back({"summary.csv", WriteCsv(SummaryCsv(runs))});
  files.push_back({"claims.csv", WriteCsv(ClaimsCsv(claims))});
  files.push_back({"results.json", ReportJson(runs, claims, "report.html")});
  files.push_back({"report.html", MakePage(runs, claims, calibration, measured)});
  return files;
}

absl::Status WriteReport(Io& io, const std::string& folder, std::span<const ReportFile> files) {
  RETURN_IF_ERROR(MakeFolder(io, folder));
  for (const ReportFile& file : files) {
    RETURN_IF_ERROR(WriteTextFile(io, JoinPath(folder, file.name), file.text));
  }
  return absl::OkStatus();
}

}  // namespace horizon
