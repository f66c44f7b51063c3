#include "experiments/measured/measured_tables.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "experiments/summary/report_cells.h"

namespace horizon {
namespace {

std::string SecondsText(double seconds) {
  return seconds < 1 ? absl::StrFormat("%.1f ms", 1e3 * seconds)
                     : absl::StrFormat("%.3f s", seconds);
}
std::string ChangeText(const std::optional<double>& change) {
  return change.has_value() ? SignedPercent(*change) : "";
}
std::string Number(const std::optional<double>& value) {
  return value.has_value() ? StrCat(*value) : "";
}
std::optional<double> InPercent(const std::optional<double>& share) {
  return share.has_value() ? std::optional(100 * *share) : std::nullopt;
}

// From the least to the greatest round, as a share of the median.
double SpreadOf(const MeasuredRow& row) {
  const auto [least, most] =
      std::minmax_element(row.round_seconds.begin(), row.round_seconds.end());
  return (*most - *least) / row.seconds;
}

bool LossesAreEqual(const MeasuredExperiment& experiment, const MeasuredRow& row) {
  const MeasuredRow* twin = experiment.Find(row.config.losses_as);
  return twin != nullptr && twin->losses == row.losses;
}

HtmlCell LossesCell(const MeasuredExperiment& experiment, const MeasuredRow& row) {
  if (row.config.losses_as.empty()) return TextCell("");
  const bool equal = LossesAreEqual(experiment, row);
  return {.text = StrCat(equal ? "as " : "NOT as ", row.config.losses_as),
          .tone = equal ? CellTone::kGood : CellTone::kBad};
}

std::string GbPerSecond(const BytesPerSecond& rate) {
  return absl::StrFormat("%.3g GB/s", rate.value * 1e-9);
}

std::string LineName(const HostLine& line) { return line.line.empty() ? "all rows" : line.line; }

std::string LineText(const LineFit& fit) {
  return absl::StrFormat("%.2f bytes a parameter, R^2 %.5f", fit.slope, fit.r_squared);
}

}  // namespace

std::string LinkText(const MeasuredExperiment& experiment) {
  const std::optional<double>& share = experiment.config.load_to_compute;
  for (const MeasuredRow& row : experiment.rows) {
    if (!row.link.has_value()) continue;
    return StrCat("Link held to ", GbPerSecond(*row.link),
                  " each way, so that a layer's load takes ", *share, " of its forward. ",
                  experiment.config.link_reason);
  }
  return "Link not limited: copies go as fast as this machine makes them.";
}

HtmlTable MeasuredRowsTable(const MeasuredExperiment& experiment) {
  HtmlTable table{.caption =
                      "Runs on this machine: simulated from its profile, and measured (steps "
                      "at the speed the machine had when it was profiled)"};
  table.header = {TextCell("run")};
  for (const std::string_view name :
       {"parameters", "link", "simulated step", "measured step", "error", "spread",
        "GFLOPS (6N) measured", "change simulated", "change measured", "change published",
        "link bytes a step", "arena", "host simulated", "host measured", "host error"}) {
    table.header.push_back(NumberCell(std::string(name)));
  }
  table.header.push_back(TextCell("losses"));
  for (const MeasuredRow& row : experiment.rows) {
    std::vector<HtmlCell> cells = {TextCell(row.config.name)};
    const auto add = [&](std::string text, CellTone tone = CellTone::kPlain) {
      cells.push_back(NumberCell(std::move(text), tone));
    };
    add(WithCommas(row.parameters));
    add(row.link.has_value() ? GbPerSecond(*row.link) : "");
    add(SecondsText(row.simulated_seconds));
    add(SecondsText(row.seconds));
    add(SignedPercent(row.step_error()), ToneOf(row.step_error()));
    add(Percent(SpreadOf(row), 1));
    add(FigureText(row.GflopsAt(row.seconds)));
    add(ChangeText(experiment.SimulatedChange(row)));
    add(ChangeText(experiment.MeasuredChange(row)));
    add(ChangeText(experiment.PublishedChange(row)));
    add(ToString(row.h2d_bytes + row.d2h_bytes));
    add(ToString(row.device_bytes));
    add(ToString(row.simulated_host_bytes));
    add(ToString(row.host_bytes));
    add(SignedPercent(row.host_error()), ToneOf(row.host_error()));
    cells.push_back(LossesCell(experiment, row));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

HtmlTable HostLinesTable(const MeasuredExperiment& experiment) {
  HtmlTable table{.caption = "Peak host memory by parameters, as a line",
                  .header = Header({"rows"}, {"simulated bytes a parameter", "simulated R^2",
                                              "measured bytes a parameter", "measured R^2",
                                              "measured without parameters"})};
  for (const HostLine& line : experiment.HostLines()) {
    const auto at_zero = static_cast<uint64_t>(std::max(0.0, line.measured.intercept));
    table.rows.push_back({TextCell(LineName(line)),
                          NumberCell(absl::StrFormat("%.3f", line.simulated.slope)),
                          NumberCell(absl::StrFormat("%.6f", line.simulated.r_squared)),
                          NumberCell(absl::StrFormat("%.3f", line.measured.slope)),
                          NumberCell(absl::StrFormat("%.6f", line.measured.r_squared)),
                          NumberCell(BytesText(at_zero))});
  }
  return table;
}

CsvTable MeasuredRowsCsv(const MeasuredExperiment& experiment) {
  CsvTable table;
  table.header = {"run",
                  "parameters",
                  "link_gb_per_s",
                  "simulated_step_seconds",
                  "measured_step_seconds",
                  "step_error_percent",
                  "spread_percent",
                  "simulated_change_percent",
                  "measured_change_percent",
                  "published_change_percent",
                  "compared_with",
                  "simulated_gflops",
                  "measured_gflops",
                  "h2d_bytes",
                  "d2h_bytes",
                  "arena_bytes",
                  "measured_device_bytes",
                  "simulated_host_bytes",
                  "measured_host_bytes",
                  "losses_as",
                  "losses_equal"};
  for (const MeasuredRow& row : experiment.rows) {
    const std::optional<double> link =
        row.link.has_value() ? std::optional(row.link->value * 1e-9) : std::nullopt;
    const bool equal = LossesAreEqual(experiment, row);
    table.rows.push_back({row.config.name,
                          StrCat(row.parameters),
                          Number(link),
                          StrCat(row.simulated_seconds),
                          StrCat(row.seconds),
                          StrCat(100 * row.step_error()),
                          StrCat(100 * SpreadOf(row)),
                          Number(InPercent(experiment.SimulatedChange(row))),
                          Number(InPercent(experiment.MeasuredChange(row))),
                          Number(InPercent(experiment.PublishedChange(row))),
                          row.config.compared_with,
                          StrCat(row.GflopsAt(row.simulated_seconds)),
                          StrCat(row.GflopsAt(row.seconds)),
                          StrCat(row.h2d_bytes.value()),
                          StrCat(row.d2h_bytes.value()),
                          StrCat(row.arena_bytes.value()),
                          StrCat(row.device_bytes.value()),
                          StrCat(row.simulated_host_bytes.value()),
                          StrCat(row.host_bytes.value()),
                          row.config.losses_as,
                          row.config.losses_as.empty() ? "" : (equal ? "yes" : "no")});
  }
  return table;
}

std::string MeasuredText(const MeasuredExperiment& experiment, size_t columns) {
  TextTable table({experiment.config.name, "simulated", "measured", "error", "sim. by", "meas. by",
                   "paper by", "host sim.", "host meas."});
  for (const MeasuredRow& row : experiment.rows) {
    table.AddRow({row.config.name, SecondsText(row.simulated_seconds), SecondsText(row.seconds),
                  SignedPercent(row.step_error()), ChangeText(experiment.SimulatedChange(row)),
                  ChangeText(experiment.MeasuredChange(row)),
                  ChangeText(experiment.PublishedChange(row)), ToString(row.simulated_host_bytes),
                  ToString(row.host_bytes)});
  }
  std::string text = std::move(table).Finish(columns);
  text += StrCat("step off by ", Percent(experiment.median_error(), 1), " (median), ",
                 Percent(experiment.worst_error(), 1), " (worst)");
  if (!experiment.rows.empty() && experiment.rows.front().link.has_value()) {
    text += StrCat("; link held to ", GbPerSecond(*experiment.rows.front().link));
  }
  if (experiment.config.constant_arena) {
    text += StrCat("; arena ", WithCommas(experiment.rows.front().device_bytes.value()), " bytes");
  }
  text += "\n";
  for (const HostLine& line : experiment.HostLines()) {
    text += StrCat("host memory, ", LineName(line), ": ", LineText(line.measured), " measured; ",
                   LineText(line.simulated), " simulated\n");
  }
  int64_t equal = 0;
  for (const MeasuredRow& row : experiment.rows) equal += LossesAreEqual(experiment, row) ? 1 : 0;
  if (equal > 0) text += StrCat("losses equal bit for bit: ", equal, " rows\n");
  for (const std::string& violation : experiment.Violations()) {
    text += StrCat("violated: ", violation, "\n");
  }
  return text;
}

}  // namespace horizon
