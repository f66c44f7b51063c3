#include "report/experiments_page.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "presentation/escape_xml.h"
#include "presentation/html.h"

namespace horizon {
namespace {

constexpr Bytes kMostChart = 4_MiB;

// A member as text: numbers short, what is missing empty.
std::string TextOf(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  if (value == nullptr) return "";
  if (const auto* text = value->As<std::string>()) return *text;
  if (const auto* integer = value->As<int64_t>()) return StrCat(*integer);
  if (const auto* real = value->As<double>()) return absl::StrFormat("%.4g", *real);
  if (const auto* flag = value->As<bool>()) return *flag ? "yes" : "no";
  return "";
}

struct Column {
  std::string_view heading;
  std::string_view key;
  CellAlign align = CellAlign::kText;
};
constexpr Column kRowColumns[] = {{"row", "id"},
                                  {"system", "system"},
                                  {"machine", "machine"},
                                  {"model", "model"},
                                  {"figure", "metric"},
                                  {"paper", "published", CellAlign::kNumber},
                                  {"simulated", "simulated", CellAlign::kNumber},
                                  {"error, %", "error_percent", CellAlign::kNumber},
                                  {"how", "how"},
                                  {"note", "note"}};
constexpr Column kClaimColumns[] = {{"claim", "claim"},
                                    {"verdict", "verdict"},
                                    {"paper", "claimed", CellAlign::kNumber},
                                    {"simulated", "simulated", CellAlign::kNumber},
                                    {"remark", "note"}};
constexpr Column kVerdictColumns[] = {{"experiment", "title"}, {"verdict", "verdict"}};
constexpr Column kMissColumns[] = {{"row", "row"},
                                   {"system", "system"},
                                   {"figure", "metric"},
                                   {"error, %", "error_percent", CellAlign::kNumber},
                                   {"why", "reason"}};

absl::StatusOr<const Value::Array*> ListOf(const Document& document, const Value& object,
                                           std::string_view key, const std::string& path) {
  const Value* value = object.Find(key);
  const auto* list = value == nullptr ? nullptr : value->As<Value::Array>();
  if (list != nullptr) return list;
  return ErrorAt(document, value == nullptr ? object : *value, path,
                 StrCat("needs an array '", key, "'"));
}

// The verdicts of experiments/agreement.h begin with one of three words.
CellTone ToneOfVerdict(std::string_view verdict) {
  if (verdict.starts_with("holds")) return CellTone::kGood;
  if (verdict.starts_with("close")) return CellTone::kWarn;
  return verdict.starts_with("misses") ? CellTone::kBad : CellTone::kMuted;
}

HtmlTable TableOf(const Value::Array& rows, std::span<const Column> columns) {
  HtmlTable table;
  for (const Column& column : columns) {
    table.header.push_back({.text = std::string(column.heading), .align = column.align});
  }
  for (const Value& row : rows) {
    std::vector<HtmlCell> cells;
    for (const Column& column : columns) {
      std::string text = TextOf(row, column.key);
      CellTone tone = CellTone::kPlain;
      if (column.key == "verdict") tone = ToneOfVerdict(text);
      // Names of systems and rows are words of our files; a person reads spaces.
      if (column.align == CellAlign::kText) text = absl::StrReplaceAll(text, {{"_", " "}});
      cells.push_back({.text = std::move(text), .align = column.align, .tone = tone});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// The charts NAME.svg and NAME_*.svg among the files of the folder.
absl::Status AddCharts(Io& io, const std::string& folder, const std::vector<std::string>& files,
                       const std::string& name, HtmlPage& page) {
  for (const std::string& file : files) {
    const bool is_chart = !name.empty() && file.ends_with(".svg") &&
                          (file == name + ".svg" || file.starts_with(name + "_"));
    if (!is_chart) continue;
    ASSIGN_OR_RETURN(const std::string svg, ReadTextFile(io, JoinPath(folder, file), kMostChart));
    page.AddFigure(StrCat("<img src=\"data:image/svg+xml;base64,", absl::Base64Escape(svg),
                          "\" alt=\"", EscapeXml(file), "\">"),
                   file);
  }
  return absl::OkStatus();
}

void AddMisses(const Value& experiment, HtmlPage& page) {
  const Value* missed = experiment.Find("missed");
  const auto* rows = missed == nullptr ? nullptr : missed->As<Value::Array>();
  if (rows == nullptr || rows->empty()) return;
  HtmlTable table = TableOf(*rows, kMissColumns);
  table.caption = "Rows that miss, and why";
  page.AddTable(table);
}

void AddRemarks(const Value& experiment, HtmlPage& page) {
  const Value* remarks = experiment.Find("remarks");
  const auto* texts = remarks == nullptr ? nullptr : remarks->As<Value::Array>();
  if (texts == nullptr) return;
  for (const Value& text : *texts) {
    if (const auto* remark = text.As<std::string>()) page.AddNote(*remark);
  }
}

}  // namespace

absl::StatusOr<std::string> ExperimentsPage(Io& io, const std::string& folder) {
  const std::string path = JoinPath(folder, kExperimentResults);
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  ASSIGN_OR_RETURN(const Value::Array* experiments,
                   ListOf(document, document.root, "experiments", ""));
  ASSIGN_OR_RETURN(const std::vector<std::string> files, io.List(folder));
  HtmlPage page("Experiments");
  page.AddParagraph(StrCat("From ", path, ". Each row says how it was found."));
  if (document.root.Find("claims") != nullptr) {
    ASSIGN_OR_RETURN(const Value::Array* claims, ListOf(document, document.root, "claims", ""));
    if (!claims->empty()) {
      page.AddSection("What the paper claims, and what we get");
      page.AddTable(TableOf(*claims, kClaimColumns));
    }
  }
  page.AddSection("Verdict by experiment");
  page.AddTable(TableOf(*experiments, kVerdictColumns));
  page.AddContents();
  for (const Value& experiment : *experiments) {
    const std::string name = TextOf(experiment, "name");
    const std::string title = TextOf(experiment, "title");
    ASSIGN_OR_RETURN(const Value::Array* rows, ListOf(document, experiment, "rows", name));
    page.AddSection(title.empty() ? name : title);
    RETURN_IF_ERROR(AddCharts(io, folder, files, name, page));
    page.AddTable(TableOf(*rows, kRowColumns));
    AddMisses(experiment, page);
    AddRemarks(experiment, page);
  }
  return page.Render();
}

}  // namespace horizon
