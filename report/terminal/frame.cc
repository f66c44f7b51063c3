#include "report/terminal/frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "common/progress.h"
#include "common/text/columns.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "common/text/utf8.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "model/stages.h"
#include "report/terminal/text_charts.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"
#include "schedule/operation.h"

namespace horizon {
namespace {

constexpr int kLabelColumns = 11;  // "optimizer" and two spaces
constexpr int kNarrowest = 40;
constexpr int kUsualCurveRows = 4;
constexpr int kMostCurveRows = 24;
// A window of fewer rows has none to spare for empty lines.
constexpr int kRoomyRows = 32;
// With fewer rows than this a lane has one of them instead of two, so that the curves keep some.
constexpr int kTwoRowLanesRows = 28;

std::string Number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}
std::string Rate(double value) { return Number(value < 100 ? "%.3g" : "%.0f", value); }
std::string Size(double bytes) {
  return BytesText(static_cast<uint64_t>(std::clamp(bytes, 0.0, 9e18)));
}

Tone ToneOfError(double error) {
  if (std::abs(error) <= 0.05) return Tone::kGood;
  return std::abs(error) <= 0.15 ? Tone::kWarning : Tone::kBad;
}

Tone ToneOf(RunState state) {
  switch (state) {
    case RunState::kRunning:
    case RunState::kComplete:
      return Tone::kGood;
    case RunState::kInterrupted:
      return Tone::kWarning;
    case RunState::kFailed:
      return Tone::kBad;
    case RunState::kPlanned:
      break;
  }
  return Tone::kPlain;
}

// The end of a path that may be too long for its place; what is left out is shown as "...".
std::string EndOf(const std::string& path, int columns) {
  std::string_view rest = path;
  while (!rest.empty() && ColumnsOf(rest) + (rest.size() < path.size() ? 3 : 0) > columns) {
    rest.remove_prefix(std::max<size_t>(1, Utf8Length(rest)));
  }
  return rest.size() < path.size() ? StrCat("...", rest) : path;
}

class FrameWriter {
 public:
  FrameWriter(const RunView& view, const FrameSize& size, const FrameStyle& style)
      : view_(view),
        style_(style),
        columns_(std::max(size.columns, kNarrowest)),
        rows_(size.rows),
        outcome_(OutcomeSoFar(view)) {}

  void AddHeader(std::string_view problem) {
    StyledLine& title = Line();
    title.Add("horizon top  ", Tone::kStrong);
    const std::string_view state = ToString(view_.state);
    title.Add(EndOf(view_.folder, columns_ - title.width() - static_cast<int>(state.size()) - 2));
    title.PadTo(columns_ - static_cast<int>(state.size())).Add(state, ToneOf(view_.state));
    const uint64_t parameters = CountParameters(ListStages(view_.spec)).total;
    Line()
        .Add(view_.spec.name, Tone::kStrong)
        .Add(StrCat(", ", WithCommas(parameters), " parameters on ", view_.machine.name));
    if (!problem.empty()) Line().Add(problem, Tone::kBad);
    AddProgress();
    AddFigures();
  }

  void AddLanes() {
    Gap();
    Line()
        .Add("a steady step", Tone::kStrong)
        .PadTo(kLabelColumns + 13)
        .Add(view_.timelines.has_value() ? StrCat("0 to ", ToString(Seconds{StepEnd() * 1e-9}))
                                         : std::string("no timeline yet"),
             Tone::kDim);
    for (const EnumWord<Lane>& lane : WordsOf(Lane{})) AddLane(lane.value, lane.word);
  }

  void AddMemory() {
    const Prediction& predicted = view_.prediction.prediction;
    Gap();
    Line().Add("memory", Tone::kStrong);
    const double host = view_.metrics.empty()
                            ? 0
                            : static_cast<double>(view_.metrics.lines().back().host_bytes.value());
    AddMemoryBar("host", host, static_cast<double>(predicted.memory.host_bytes()),
                 static_cast<double>(view_.prediction.usable_host_bytes), "limit");
    const double device =
        view_.metrics.empty()
            ? 0
            : static_cast<double>(view_.metrics.lines().back().device_bytes.value());
    AddMemoryBar("device", device, static_cast<double>(view_.prediction.arena_bytes),
                 static_cast<double>(view_.prediction.device_memory_bytes), "there is");
  }

  // Two curves, each as high as half of the rows that are left.
  void AddCurves() {
    if (view_.metrics.empty()) {
      Gap();
      Line().Add("no step has ended yet", Tone::kDim);
      return;
    }
    // But for two headings, the line below, and what separates them.
    const int left = rows_ - static_cast<int>(lines_.size()) - 3 - (roomy() ? 3 : 0);
    const int height = rows_ == 0 ? kUsualCurveRows : std::clamp(left / 2, 1, kMostCurveRows);
    std::vector<double> losses;
    std::vector<double> rates;
    for (const StepMetrics& line : view_.metrics.lines()) {
      losses.push_back(line.loss);
      rates.push_back(line.tokens_per_second());
    }
    AddCurve("loss", losses, std::nullopt, height);
    AddCurve("tokens/s", rates, view_.prediction.prediction.tokens_per_second, height);
  }

  void AddFooter() {
    if (view_.prediction.limits.empty()) return;
    Gap();
    StyledLine& line = Line().Add("limits  ", Tone::kStrong);
    for (size_t i = 0; i < view_.prediction.limits.size(); ++i) {
      const std::string limit = StrCat(i == 0 ? "" : ", ", view_.prediction.limits[i]);
      // They are in the order of their weight.
      if (i > 0 && line.width() + ColumnsOf(limit) > columns_) break;
      line.Add(limit);
    }
  }

  const std::vector<StyledLine>& lines() const { return lines_; }

 private:
  StyledLine& Line() { return lines_.emplace_back(); }
  bool two_row_lanes() const { return rows_ == 0 || rows_ >= kTwoRowLanesRows; }
  bool roomy() const { return rows_ == 0 || rows_ >= kRoomyRows; }
  void Gap() {
    if (roomy()) Line();
  }

  void AddProgress() {
    const double share = view_.steps_total > 0 ? static_cast<double>(view_.steps_done) /
                                                     static_cast<double>(view_.steps_total)
                                               : 0;
    StyledLine& line = Line();
    line.Add(StrCat("step ", WithCommas(static_cast<uint64_t>(view_.steps_done)), " of ",
                    WithCommas(static_cast<uint64_t>(view_.steps_total)), EpochText(), "  "));
    std::string after = "  " + Percent(std::floor(share * 100) / 100);
    const int64_t left = view_.steps_total - view_.steps_done;
    if (view_.state == RunState::kRunning && left > 0) {
      const double seconds = static_cast<double>(left) *
                             (outcome_.has_value() ? outcome_->step_seconds.measured
                                                   : view_.prediction.prediction.step_seconds);
      // Beyond a century the number only says that it cannot be said.
      if (seconds < 3e9) {
        after += StrCat(", ", RoughDuration(Nanoseconds(std::llround(seconds * 1e9))), " left");
      }
    }
    const int width = std::max(8, columns_ - line.width() - static_cast<int>(after.size()));
    line.Add(BarText(share, -1, width, style_), Tone::kGood).Add(after);
  }

  // ", epoch 1.5"; empty where the run does not say it.
  std::string EpochText() const {
    if (view_.metrics.empty() || !view_.metrics.lines().back().epoch.has_value()) return "";
    return ", epoch " + ShortNumber(*view_.metrics.lines().back().epoch);
  }

  void AddFigures() {
    StyledLine& line = Line();
    if (!outcome_.has_value()) {
      line.Add(StrCat("predicted: ", Rate(view_.prediction.prediction.tokens_per_second),
                      " tokens/s, ", ToString(Seconds{view_.prediction.prediction.step_seconds}),
                      " a step"));
      return;
    }
    // A narrow window has less beside the figures, first of the second one.
    using enum FigureDetail;
    for (const auto& [speed, step] : {std::pair{kPrediction, kPrediction},
                                      {kPrediction, kError},
                                      {kError, kError},
                                      {kNone, kNone}}) {
      line = StyledLine();
      AddCompared(line, outcome_->tokens_per_second, Rate(outcome_->tokens_per_second.measured),
                  Rate(outcome_->tokens_per_second.predicted), " tokens/s", speed);
      line.Add("   ");
      AddCompared(line, outcome_->step_seconds, ToString(Seconds{outcome_->step_seconds.measured}),
                  ToString(Seconds{outcome_->step_seconds.predicted}), " a step", step);
      if (line.width() <= columns_) break;
    }
    AddLoss();
    AddExperts();
  }

  void AddLoss() {
    const auto text = [](std::optional<double> loss) {
      return loss.has_value() && std::isfinite(*loss) ? Number("%.4f", *loss)
                                                      : std::string("not finite");
    };
    StyledLine& line = Line();
    line.Add("loss ").Add(text(outcome_->last_loss), Tone::kStrong);
    line.Add(StrCat(", first ", text(outcome_->first_loss)));
    if (view_.evaluations.empty()) return;
    const EvaluationLine& last = view_.evaluations.lines().back();
    const std::string evaluated = StrCat("; evaluated ", text(last.loss));
    const std::string perplexity = StrCat(" (perplexity ", Number("%.4g", last.perplexity), ")");
    const std::string at = StrCat(" at step ", last.step);
    const bool all = line.width() + ColumnsOf(evaluated + perplexity + at) <= columns_;
    line.Add(all ? evaluated + perplexity + at : evaluated + at);
  }

  // How evenly the tokens choose the experts: as of the last line of routing.jsonl, and before
  // there is one as of the last step, of which the layer is not known.
  void AddExperts() {
    const ExpertsSpec& experts = view_.spec.experts;
    if (experts.experts == 0 || view_.metrics.empty()) return;
    const std::optional<RoutingExtremes> extremes =
        view_.routing.has_value() ? ExtremesOf(*view_.routing) : std::nullopt;
    const std::optional<StepMetrics::Routing>& step = view_.metrics.lines().back().routing;
    if (!extremes.has_value() && !step.has_value()) return;
    const double busiest = extremes.has_value() ? extremes->busiest.share : step->busiest;
    const double idlest = extremes.has_value() ? extremes->idlest.share : step->idlest;
    if (!std::isfinite(busiest) || !std::isfinite(idlest)) return;
    const auto text = [](double share) { return StrCat(ShortNumber(100 * share), " %"); };
    const std::string place = extremes.has_value()
                                  ? StrCat(" (layer ", extremes->busiest.layer, ", expert ",
                                           extremes->busiest.expert, ")")
                                  : std::string();
    const std::string evenly =
        StrCat(", evenly ", text(static_cast<double>(experts.experts_per_token) /
                                 static_cast<double>(experts.experts)));
    StyledLine& line = Line().Add("experts: busiest ").Add(text(busiest), Tone::kStrong);
    line.Add(" of tokens");
    const std::string idle = StrCat(", idlest ", text(idlest));
    // Each is shown whole or not at all.
    const int left = columns_ - line.width() - ColumnsOf(idle);
    if (ColumnsOf(place) <= left) line.Add(place);
    line.Add(idle);
    if (line.width() + ColumnsOf(evenly) <= columns_) line.Add(evenly);
  }

  // How much is said about a figure beside its measured value.
  enum class FigureDetail { kNone, kError, kPrediction };

  static void AddCompared(StyledLine& line, const ComparedFigure& figure,
                          const std::string& measured, const std::string& predicted,
                          std::string_view unit, FigureDetail detail) {
    line.Add(measured, Tone::kStrong).Add(unit);
    if (detail == FigureDetail::kPrediction) line.Add(StrCat(", predicted ", predicted));
    if (!figure.error.has_value() || detail == FigureDetail::kNone) return;
    line.Add(" (").Add(PercentChange(*figure.error, std::abs(*figure.error) < 0.1 ? 1 : 0),
                       ToneOfError(*figure.error));
    line.Add(")");
  }

  // Where both timelines of the step end, so that they are drawn to one scale.
  double StepEnd() const {
    int64_t end = 1;
    for (const OperationTimes* times : {&view_.timelines->predicted, &view_.timelines->measured}) {
      for (const int64_t one : times->end_ns) end = std::max(end, one);
    }
    return static_cast<double>(end);
  }

  void AddLane(Lane lane, std::string_view word) {
    const double predicted = view_.prediction.prediction.busy_share[static_cast<size_t>(lane)];
    std::optional<double> measured;
    if (outcome_.has_value() && outcome_->step_seconds.measured > 0) {
      for (const ComparedWork& work : outcome_->lanes) {
        if (work.lane == word) {
          measured = work.seconds.measured / outcome_->step_seconds.measured;
        }
      }
    }
    if (predicted == 0 && measured.value_or(0) == 0) return;
    if (!two_row_lanes() && measured.has_value() && view_.timelines.has_value()) {
      AddLaneRow(word, "measured", Tone::kMeasured, lane, MeasuredTimes(), measured);
      return;
    }
    AddLaneRow(word, "predicted", Tone::kPredicted, lane, PredictedTimes(), predicted);
    if (!two_row_lanes()) return;
    AddLaneRow("", "measured", Tone::kMeasured, lane, MeasuredTimes(), measured);
  }

  const OperationTimes* PredictedTimes() const {
    return view_.timelines.has_value() ? &view_.timelines->predicted : nullptr;
  }
  const OperationTimes* MeasuredTimes() const {
    return view_.timelines.has_value() ? &view_.timelines->measured : nullptr;
  }

  void AddLaneRow(std::string_view label, std::string_view what, Tone tone, Lane lane,
                  const OperationTimes* times, std::optional<double> share) {
    StyledLine& line = Line();
    line.Add(label).PadTo(kLabelColumns).Add(what, Tone::kDim).PadTo(kLabelColumns + 11);
    const int width = columns_ - line.width() - 8;
    line.Add(times != nullptr && !times->end_ns.empty()
                 ? StripText(BusyShares(lane, *times, width), style_)
                 : std::string(static_cast<size_t>(width), ' '),
             tone);
    const std::string text = share.has_value() ? Percent(*share) : "-";
    line.PadTo(columns_ - static_cast<int>(text.size())).Add(text);
  }

  // Of each column's piece of the step, how much of it the lane is busy.
  std::vector<double> BusyShares(Lane lane, const OperationTimes& times, int width) const {
    std::vector<double> shares(static_cast<size_t>(width), 0.0);
    const double piece = StepEnd() / width;
    const std::vector<Operation>& operations = view_.schedule.steady.operations;
    for (size_t i = 0; i < std::min(operations.size(), times.end_ns.size()); ++i) {
      if (operations[i].lane != lane) continue;
      const auto start = static_cast<double>(times.start_ns[i]);
      const auto end = static_cast<double>(times.end_ns[i]);
      for (auto column = static_cast<size_t>(std::max(0.0, start / piece));
           column < shares.size() && static_cast<double>(column) * piece < end; ++column) {
        const double from = std::max(start, static_cast<double>(column) * piece);
        const double to = std::min(end, static_cast<double>(column + 1) * piece);
        shares[column] += std::max(0.0, to - from) / piece;
      }
    }
    return shares;
  }

  void AddMemoryBar(std::string_view label, double measured, double predicted, double limit,
                    std::string_view limit_word) {
    const double whole = std::max({measured, predicted, limit, 1.0});
    constexpr int kShortestBar = 8;
    std::string after = StrCat(" ", measured > 0 ? Size(measured) : std::string("-"));
    StyledLine& line = Line();
    line.Add(label).PadTo(kLabelColumns);
    // Each amount is shown whole or not at all.
    const auto add = [&](const std::string& text) {
      const int columns = line.width() + kShortestBar + ColumnsOf(after) + ColumnsOf(text);
      if (columns <= columns_) after += text;
    };
    add(StrCat(", predicted ", Size(predicted)));
    if (limit > 0) add(StrCat(", ", limit_word, " ", Size(limit)));
    const int width =
        std::max(kShortestBar, columns_ - line.width() - static_cast<int>(after.size()));
    const bool over = limit > 0 && measured > limit;
    line.Add(BarText(measured / whole, predicted / whole, width, style_),
             over ? Tone::kBad : Tone::kMeasured);
    line.Add(after);
  }

  // From the lowest to the highest finite value; a throughput from 0, with its prediction in view.
  void AddCurve(std::string_view label, const std::vector<double>& values,
                std::optional<double> predicted, int height) {
    double low = predicted.has_value() ? 0 : std::numeric_limits<double>::infinity();
    double high = predicted.value_or(-std::numeric_limits<double>::infinity());
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    Gap();
    StyledLine& heading = Line();
    heading.Add(label, Tone::kStrong);
    if (!std::isfinite(low) || !std::isfinite(high)) {
      heading.Add("  no finite value yet", Tone::kDim);
      return;
    }
    heading.Add(StrCat("  ", Number("%.5g", low), " to ", Number("%.5g", high)), Tone::kDim);
    if (predicted.has_value()) {
      heading.Add(StrCat(", predicted ", Rate(*predicted)), Tone::kDim);
    }
    for (const std::string& row : CurveText(values, low, high, columns_, height, style_)) {
      Line().Add(row, Tone::kMeasured);
    }
  }

  const RunView& view_;
  const FrameStyle style_;
  const int columns_;
  const int rows_;
  const std::optional<RunOutcome> outcome_;
  std::vector<StyledLine> lines_;
};

}  // namespace

std::vector<std::string> DrawFrame(const RunView& view, std::string_view problem,
                                   const FrameSize& size, const FrameStyle& style) {
  FrameWriter writer(view, size, style);
  writer.AddHeader(problem);
  writer.AddLanes();
  writer.AddMemory();
  writer.AddCurves();
  writer.AddFooter();
  std::vector<std::string> texts;
  for (const StyledLine& line : writer.lines()) {
    if (size.rows > 0 && static_cast<int>(texts.size()) == size.rows) break;
    texts.push_back(line.Text(style, size.columns));
  }
  return texts;
}

}  // namespace horizon
