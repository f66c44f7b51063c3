#include "experiments/accuracy/accuracy_report.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "experiments/accuracy/published_accuracy_data.h"
#include "experiments/summary/report_cells.h"
#include "presentation/csv.h"
#include "presentation/html.h"

namespace horizon {
namespace {

std::string Hex(uint64_t digest) { return absl::StrFormat("%016x", digest); }

double Share(const AccuracyRun& run, int64_t held_out) {
  return static_cast<double>(run.right) / static_cast<double>(held_out);
}

std::string NameOf(const AccuracyRow& row) {
  return row.strategy.has_value() ? std::string(ToString(*row.strategy)) : "before training";
}

// The row before a streamed one is its resident twin; none for the others.
const AccuracyRow* TwinOf(const AccuracyResult& result, size_t row) {
  return result.rows[row].strategy == Strategy::kHorizon ? &result.rows[row - 1] : nullptr;
}

double MeanSeconds(const AccuracyRow& row) {
  double sum = 0;
  for (const AccuracyRun& run : row.runs) sum += run.seconds;
  return sum / static_cast<double>(row.runs.size());
}

// Both the terminal and the page show these.
const std::vector<std::string> kColumns = {"run",    "compute",         "state",  "exact match",
                                           "spread", "equals resident", "device", "s a run"};

std::vector<std::string> CellsOf(const AccuracyResult& result, size_t index) {
  const AccuracyRow& row = result.rows[index];
  const AccuracySpread spread = SpreadOf(row, result.options.held_out);
  std::vector<std::string> cells = {NameOf(row), std::string(ToString(row.compute))};
  cells.push_back(row.strategy.has_value() ? std::string(ToString(row.state)) : "");
  cells.push_back(Percent(spread.mean, 1));
  cells.push_back(StrCat(Percent(spread.least, 1), " - ", Percent(spread.most, 1)));
  const AccuracyRow* twin = TwinOf(result, index);
  cells.push_back(twin == nullptr ? "" : SameRuns(row, *twin) ? "every bit" : "NO");
  cells.push_back(row.strategy.has_value() ? ToString(row.device_bytes) : "");
  cells.push_back(row.strategy.has_value() ? absl::StrFormat("%.1f", MeanSeconds(row)) : "");
  return cells;
}

// Lines as a terminal wants them; on a page they flow.
std::string SettingText(const AccuracyResult& result) {
  const AccuracyOptions& options = result.options;
  return StrCat("Measured: a model of ", WithCommas(result.parameters), " parameters (",
                options.layers, " layers of ", options.hidden, ", bytes as tokens) from scratch,\n",
                options.steps, " steps of ", options.micro_batch * options.sequence, " tokens, ",
                options.seeds, options.seeds == 1 ? " seed" : " seeds", "; then ", options.held_out,
                " word problems it has not seen, answered greedily;\n"
                "an answer is right when its stated result is.");
}

constexpr std::string_view kEquality =
    "Equals resident: masters, moments and answers of each seed are those of the run with all of\n"
    "the model on the device, bit for bit; so the accuracy is not alike but the same.";
constexpr std::string_view kOther =
    "Published: other models (of 7B and 14B, trained before) and other data. They show the same\n"
    "comparison and are not to be compared with the figures above.";

std::string PercentOf(const PublishedAccuracy& row) {
  return row.percent.has_value() ? absl::StrFormat("%.2f %%", *row.percent) : "not reported";
}

CsvTable RunsCsv(const AccuracyResult& result) {
  CsvTable table;
  table.header = {"run",       "compute", "state",           "seed",         "right",  "held_out",
                  "last_loss", "digest",  "equals_resident", "device_bytes", "seconds"};
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const AccuracyRow& row = result.rows[i];
    const AccuracyRow* twin = TwinOf(result, i);
    for (size_t seed = 0; seed < row.runs.size(); ++seed) {
      const AccuracyRun& run = row.runs[seed];
      std::vector<std::string> cells = {NameOf(row),
                                        std::string(ToString(row.compute)),
                                        std::string(ToString(row.state)),
                                        StrCat(seed),
                                        StrCat(run.right),
                                        StrCat(result.options.held_out)};
      if (row.strategy.has_value()) {
        const bool same = twin != nullptr && run.digest == twin->runs[seed].digest &&
                          run.answers == twin->runs[seed].answers;
        cells.insert(cells.end(), {StrCat(run.last_loss), Hex(run.digest),
                                   twin == nullptr ? ""
                                   : same          ? "yes"
                                                   : "no",
                                   StrCat(row.device_bytes.value()), StrCat(run.seconds)});
      } else {
        cells.resize(table.header.size());
      }
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

CsvTable PublishedCsv(const std::vector<PublishedAccuracy>& published) {
  CsvTable table;
  table.header = {"model", "dataset", "system", "exact_match_percent", "note"};
  for (const PublishedAccuracy& row : published) {
    table.rows.push_back({row.model, row.dataset, row.system,
                          row.percent.has_value() ? StrCat(*row.percent) : "", row.note});
  }
  return table;
}

std::string Page(const AccuracyResult& result, const std::vector<PublishedAccuracy>& published) {
  HtmlPage page("Accuracy of streamed and resident training");
  page.AddSection("Measured here");
  page.AddParagraph(SettingText(result));
  for (const std::string& violation : AccuracyViolations(result)) page.AddNote(violation);
  HtmlTable ours;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    ours.header.push_back(i < 3 ? TextCell(kColumns[i]) : NumberCell(kColumns[i]));
  }
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const std::vector<std::string> cells = CellsOf(result, i);
    std::vector<HtmlCell> row;
    for (size_t c = 0; c < cells.size(); ++c) {
      row.push_back(c < 3 ? TextCell(cells[c]) : NumberCell(cells[c]));
    }
    ours.rows.push_back(std::move(row));
  }
  page.AddTable(ours);
  page.AddParagraph(kEquality);
  page.AddSection("Published");
  page.AddParagraph(kOther);
  HtmlTable theirs{.header = Header({"model", "data", "system"}, {"exact match"})};
  for (const PublishedAccuracy& row : published) {
    theirs.rows.push_back({TextCell(row.model), TextCell(row.dataset), TextCell(row.system),
                           NumberCell(PercentOf(row))});
    theirs.rows.back().back().tooltip = row.note;
  }
  page.AddTable(theirs);
  return page.Render();
}

}  // namespace

AccuracySpread SpreadOf(const AccuracyRow& row, int64_t held_out) {
  AccuracySpread spread{.least = 1};
  for (const AccuracyRun& run : row.runs) {
    const double share = Share(run, held_out);
    spread.mean += share / static_cast<double>(row.runs.size());
    spread.least = std::min(spread.least, share);
    spread.most = std::max(spread.most, share);
  }
  return spread;
}

bool SameRuns(const AccuracyRow& streamed, const AccuracyRow& resident) {
  return std::equal(streamed.runs.begin(), streamed.runs.end(), resident.runs.begin(),
                    resident.runs.end(), [](const AccuracyRun& a, const AccuracyRun& b) {
                      return a.digest == b.digest && a.answers == b.answers;
                    });
}

std::vector<std::string> AccuracyViolations(const AccuracyResult& result) {
  std::vector<std::string> violations;
  const std::vector<AccuracyRun>& before = result.rows[0].runs;
  for (size_t i = 1; i < result.rows.size(); ++i) {
    const AccuracyRow& row = result.rows[i];
    const std::string name = StrCat(NameOf(row), ", ", ToString(row.compute), " compute, ",
                                    ToString(row.state), " state: ");
    const AccuracyRow* twin = TwinOf(result, i);
    if (twin != nullptr && !SameRuns(row, *twin)) {
      violations.push_back(name + "weights, moments or answers are not those of resident");
    }
    for (size_t seed = 0; seed < row.runs.size(); ++seed) {
      if (row.runs[seed].right > before[seed].right) continue;
      violations.push_back(StrCat(name, "with seed ", seed, " ", row.runs[seed].right,
                                  " answers are right, ", before[seed].right,
                                  " were before training"));
    }
  }
  return violations;
}

absl::StatusOr<std::vector<PublishedAccuracy>> LoadPublishedAccuracy() {
  ASSIGN_OR_RETURN(const CsvTable table,
                   ParseCsv("experiments/accuracy/published.csv", kPublishedAccuracy));
  ASSIGN_OR_RETURN(const int model, Column(table, "model"));
  ASSIGN_OR_RETURN(const int dataset, Column(table, "dataset"));
  ASSIGN_OR_RETURN(const int system, Column(table, "system"));
  ASSIGN_OR_RETURN(const int percent, Column(table, "exact_match_percent"));
  ASSIGN_OR_RETURN(const int note, Column(table, "note"));
  std::vector<PublishedAccuracy> rows;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    PublishedAccuracy row{.model = CellText(table, i, model),
                          .dataset = CellText(table, i, dataset),
                          .system = CellText(table, i, system),
                          .note = CellText(table, i, note)};
    ASSIGN_OR_RETURN(row.percent, CellDouble(table, i, percent));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string AccuracyText(const AccuracyResult& result,
                         const std::vector<PublishedAccuracy>& published, std::string_view report,
                         size_t columns) {
  TextTable ours(kColumns);
  for (size_t i = 0; i < result.rows.size(); ++i) ours.AddRow(CellsOf(result, i));
  TextTable theirs({"published", "data", "system", "exact match"});
  for (const PublishedAccuracy& row : published) {
    theirs.AddRow({row.model, row.dataset, row.system, PercentOf(row)});
  }
  return StrCat(SettingText(result), "\n\n", std::move(ours).Finish(columns), "\n", kEquality,
                "\n\n", std::move(theirs).Finish(columns), "\n", kOther, "\nReport: ", report,
                "\n");
}

std::string AccuracyJson(const AccuracyResult& result, std::string_view report) {
  JsonWriter json;
  json.BeginObject().Key("how").String("measured");
  json.Key("parameters").Unsigned(result.parameters);
  json.Key("steps").Integer(result.options.steps);
  json.Key("held_out").Integer(result.options.held_out);
  json.Key("rows").BeginArray();
  for (size_t i = 0; i < result.rows.size(); ++i) {
    const AccuracyRow& row = result.rows[i];
    const AccuracySpread spread = SpreadOf(row, result.options.held_out);
    json.BeginObject().Key("run").String(NameOf(row));
    json.Key("compute").String(ToString(row.compute)).Key("state").String(ToString(row.state));
    json.Key("exact_match_percent").Number(100 * spread.mean);
    json.Key("least_percent").Number(100 * spread.least);
    json.Key("most_percent").Number(100 * spread.most);
    const AccuracyRow* twin = TwinOf(result, i);
    if (twin != nullptr) json.Key("equals_resident").Bool(SameRuns(row, *twin));
    json.Key("device_bytes").Unsigned(row.device_bytes);
    json.Key("seeds").BeginArray();
    for (const AccuracyRun& run : row.runs) {
      json.BeginObject().Key("right").Integer(run.right);
      json.Key("last_loss").Number(run.last_loss).Key("seconds").Number(run.seconds);
      json.Key("digest").String(Hex(run.digest)).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().Key("violations").BeginArray();
  for (const std::string& violation : AccuracyViolations(result)) json.String(violation);
  json.EndArray().Key("report").String(report).EndObject();
  return std::move(json).Finish();
}

std::vector<ReportFile> AccuracyFiles(const AccuracyResult& result,
                                      const std::vector<PublishedAccuracy>& published) {
  return {{"accuracy.csv", WriteCsv(RunsCsv(result))},
          {"accuracy_published.csv", WriteCsv(PublishedCsv(published))},
          {"accuracy.html", Page(result, published)}};
}

}  // namespace horizon
