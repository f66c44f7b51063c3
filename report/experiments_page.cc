#include "report/experiments_page.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
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
                                  {"metric", "metric"},
                                  {"published", "published", CellAlign::kNumber},
                                  {"ours", "simulated", CellAlign::kNumber},
                                  {"error, %", "error_percent", CellAlign::kNumber},
                                  {"how", "how"},
                                  {"note", "note"}};
constexpr Column kClaimColumns[] = {{"claim", "claim"},
                                    {"claimed", "claimed", CellAlign::kNumber},
                                    {"simulated", "simulated", CellAlign::kNumber},
                                    {"error", "error", CellAlign::kNumber},
                                    {"note", "note"}};

class PageMaker {
 public:
  PageMaker(Io& io, const std::string& folder, const Document& document)
      : io_(io), folder_(folder), document_(document) {}

  absl::StatusOr<std::string> Make() {
    ASSIGN_OR_RETURN(const Value::Array* experiments, ListOf(document_.root, "experiments", ""));
    ASSIGN_OR_RETURN(names_, io_.List(folder_));
    page_.AddParagraph(StrCat("From ", JoinPath(folder_, kExperimentResults),
                              "; each row says how it was found."));
    for (const Value& experiment : *experiments) RETURN_IF_ERROR(Add(experiment));
    if (document_.root.Find("claims") != nullptr) {
      ASSIGN_OR_RETURN(const Value::Array* claims, ListOf(document_.root, "claims", ""));
      if (!claims->empty()) {
        page_.AddSection("Claims");
        page_.AddTable(TableOf("", *claims, kClaimColumns));
      }
    }
    return page_.Render();
  }

 private:
  absl::StatusOr<const Value::Array*> ListOf(const Value& object, std::string_view key,
                                             const std::string& path) const {
    const Value* value = object.Find(key);
    const auto* list = value == nullptr ? nullptr : value->As<Value::Array>();
    if (list != nullptr) return list;
    return ErrorAt(document_, value == nullptr ? object : *value, path,
                   StrCat("needs an array '", key, "'"));
  }

  template <size_t count>
  static HtmlTable TableOf(std::string caption, const Value::Array& rows,
                           const Column (&columns)[count]) {
    HtmlTable table{.caption = std::move(caption)};
    for (const Column& column : columns) {
      table.header.push_back({.text = std::string(column.heading), .align = column.align});
    }
    for (const Value& row : rows) {
      std::vector<HtmlCell> cells;
      for (const Column& column : columns) {
        cells.push_back({.text = TextOf(row, column.key), .align = column.align});
      }
      table.rows.push_back(std::move(cells));
    }
    return table;
  }

  absl::Status Add(const Value& experiment) {
    const std::string name = TextOf(experiment, "name");
    const std::string title = TextOf(experiment, "title");
    ASSIGN_OR_RETURN(const Value::Array* rows, ListOf(experiment, "rows", name));
    page_.AddSection(title.empty() ? name : title);
    for (const std::string& file : names_) {
      const bool is_chart = !name.empty() && file.ends_with(".svg") &&
                            (file == name + ".svg" || file.starts_with(name + "_"));
      if (!is_chart) continue;
      ASSIGN_OR_RETURN(const std::string svg,
                       ReadTextFile(io_, JoinPath(folder_, file), kMostChart));
      page_.AddFigure(StrCat("<img src=\"data:image/svg+xml;base64,", absl::Base64Escape(svg),
                             "\" alt=\"", EscapeXml(file), "\">"),
                      file);
    }
    page_.AddTable(TableOf("", *rows, kRowColumns));
    const Value* remarks = experiment.Find("remarks");
    const auto* texts = remarks == nullptr ? nullptr : remarks->As<Value::Array>();
    if (texts == nullptr) return absl::OkStatus();
    for (const Value& text : *texts) {
      if (const auto* remark = text.As<std::string>()) page_.AddNote(*remark);
    }
    return absl::OkStatus();
  }

  Io& io_;
  const std::string& folder_;
  const Document& document_;
  std::vector<std::string> names_;
  HtmlPage page_{"Experiments"};
};

}  // namespace

absl::StatusOr<std::string> ExperimentsPage(Io& io, const std::string& folder) {
  const std::string path = JoinPath(folder, kExperimentResults);
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path));
  ASSIGN_OR_RETURN(const Document document, ParseJson(path, text));
  return PageMaker(io, folder, document).Make();
}

}  // namespace horizon
