#include "experiments/summary/write_report.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "experiments/measured/measured_charts.h"
#include "experiments/measured/measured_json.h"
#include "experiments/measured/measured_tables.h"
#include "experiments/row_table.h"
#include "experiments/summary/report_charts.h"
#include "experiments/summary/report_json.h"
#include "experiments/summary/report_tables.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {
namespace {

void AddIntroduction(const MeasuredHalf& measured, HtmlPage& page) {
  page.AddParagraph(
      "The figures that the MegaTrain paper published for training on one GPU, and what the event "
      "simulator of horizon predicts for the same runs: from data sheets and a few rates fitted to "
      "a handful of published rows. All other rows judge them.");
  page.AddParagraph(
      measured.experiments.empty()
          ? "Nothing here was measured by us: every row is simulated."
          : StrCat(
                "Tables and charts headed 'measured on this machine' are of runs we made at a "
                "size this machine (",
                measured.machine,
                ") trains, each beside what was simulated from its profile; all others are "
                "simulated. A 'change' is that of throughput from the row it is compared with."));
  page.AddParagraph(
      "published | simulated | error: the published system (megatrain, strategy 'reference') or "
      "the baseline named in the row, with the published batch or, where none is known, the "
      "largest that the memory model allows. 'Horizon' is what our own "
      "strategy would give on the same machine with the same model, sequence, batch and state "
      "format; 'gain' is its "
      "speed over the simulated published system.");
  page.AddParagraph(
      "Tier A rows are sound, tier B rows have one uncertain source or setup, tier C rows "
      "contradict themselves and are ignored. Fitted rows were used to find the calibration and "
      "judge nothing. Error cells of judged rows are green up to 10 %, yellow up to 20 % and red "
      "above. OOM: ran out of memory. Bars without a system's name are megatrain's. A star marks a "
      "run of the paper that does not fit by our memory model; it is timed all the same.");
}

void AddMeasured(const MeasuredExperiment& experiment, HtmlPage& page) {
  page.AddParagraph(experiment.config.summary);
  page.AddParagraph(StrCat(LinkText(experiment), " Every run is made in each of ",
                           experiment.config.rounds, " rounds of alternating order, ",
                           experiment.config.steps, " steps of which the first does not count."));
  for (const std::string& violation : experiment.Violations()) {
    page.AddNote(StrCat("Violated: ", violation));
  }
  for (const ReportChart& chart : DrawMeasuredCharts(experiment)) {
    page.AddFigure(chart.svg, chart.caption);
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
  page.AddParagraph(experiment.summary);
  for (const std::string& violation : run.summary.violations) {
    page.AddNote(StrCat("Bound violated: ", violation));
  }
  for (const ReportChart& chart : DrawCharts(run)) page.AddFigure(chart.svg, chart.caption);
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
  AddIntroduction(measured, page);
  if (!runs.empty()) {
    page.AddSection("Summary");
    page.AddTable(SummaryTable(runs));
  }
  if (!claims.empty()) {
    page.AddSection("The paper's claims");
    page.AddTable(ClaimsTable(claims));
  }
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
      "Everything that was fitted, and the rows it was fitted on. A machine or strategy that is "
      "not listed is used as its data sheet and its code say.");
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
