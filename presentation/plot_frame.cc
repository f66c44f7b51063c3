#include "presentation/plot_frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/text/str_cat.h"
#include "presentation/escape_xml.h"
#include "presentation/text_width.h"

namespace horizon {
namespace {

constexpr double kHeight = 420;
constexpr double kNarrowHeight = 300;  // without the legend
constexpr double kEdge = 16;           // free space around everything
constexpr double kTitleSize = 15;
constexpr double kNarrowTitleSize = 13;
constexpr double kTitleHeight = 34;
constexpr double kLegendLine = 20;
constexpr double kSwatchWidth = 24;
constexpr double kLegendGap = 18;  // between data and legend, and between entries of a row
constexpr double kWidestRightLegend = 150;
constexpr size_t kMostRightEntries = 14;
constexpr size_t kRowsWithoutGrowth = 3;

// Okabe and Ito, "Color Universal Design" (2008), without yellow and black, which vanish on one of
// the two backgrounds; lighter on the dark one.
struct Color {
  std::string_view light;
  std::string_view dark;
};
constexpr std::array<Color, 7> kPalette = {{{"#0072b2", "#4ca6e8"},
                                            {"#d55e00", "#ff8a3d"},
                                            {"#009e73", "#2fc79a"},
                                            {"#cc79a7", "#e39cc6"},
                                            {"#e69f00", "#f2bc3b"},
                                            {"#56b4e9", "#9ad6fa"},
                                            {"#6e7781", "#a9b1ba"}}};

std::string Style() {
  std::string style =
      "<style>@media screen and (prefers-color-scheme: dark) {\n"
      ".horizon-plot .paper { fill: #16181d }\n"
      ".horizon-plot .ink { color: #e6e9ee }\n"
      ".horizon-plot .soft { color: #a9b1ba }\n"
      ".horizon-plot .grid { color: #31363f }\n";
  for (size_t i = 0; i < kPalette.size(); ++i) {
    style += StrCat(".horizon-plot .c", i, " { color: ", kPalette[i].dark, " }\n");
  }
  return style + "}</style>\n";
}

std::string Line(double x1, double y1, double x2, double y2) {
  return StrCat("<path d=\"M", Coordinate(x1), " ", Coordinate(y1), "L", Coordinate(x2), " ",
                Coordinate(y2), "\"/>");
}

bool IsNarrow(const FrameRequest& request) { return request.width < kCanvasWidth; }

std::string ShownName(const LegendEntry& entry, bool is_below, double canvas_width) {
  const double room =
      is_below ? canvas_width - 2 * kEdge - kSwatchWidth - kLegendGap : kWidestRightLegend;
  return Shortened(entry.name, kFontSize, room);
}

double EntryWidth(const LegendEntry& entry, double canvas_width) {
  return kSwatchWidth + 6 + TextWidth(ShownName(entry, true, canvas_width), kFontSize);
}

std::string DrawSwatch(const LegendEntry& entry, double x, double y) {
  const double middle = x + kSwatchWidth / 2;
  switch (entry.swatch) {
    case Swatch::kBar:
      return StrCat("<rect x=\"", Coordinate(middle - 6), "\" y=\"", Coordinate(y - 6),
                    "\" width=\"12\" height=\"12\" rx=\"2\" fill=\"currentColor\"/>");
    case Swatch::kMarkers:
      return DrawMarker(entry.shape, MarkerFill::kHollow, middle, y, "");
    default:
      break;
  }
  std::string drawing =
      StrCat("<g stroke=\"currentColor\" stroke-width=\"2\"",
             entry.swatch == Swatch::kDashedLine ? " stroke-dasharray=\"6 4\"" : "", ">",
             Line(x, y, x + kSwatchWidth, y), "</g>");
  if (entry.swatch == Swatch::kLineAndMarkers) {
    drawing += DrawMarker(entry.shape, MarkerFill::kSolid, middle, y, "");
  }
  return drawing;
}

std::string DrawEntry(const LegendEntry& entry, const Frame& frame, double x, double y) {
  const std::string name = ShownName(entry, frame.legend_is_below, frame.request.width);
  return StrCat("<g class=\"legend\">", name == entry.name ? "" : Tooltip(entry.name),
                ColorGroup(entry.color), DrawSwatch(entry, x, y), "</g>",
                DrawText(x + kSwatchWidth + 6, y + kFontSize * 0.35, "start", name), "</g>\n");
}

std::string DrawLegend(const Frame& frame) {
  std::string drawing = "<g class=\"ink\" color=\"#1f2328\">\n";
  double x = frame.legend_is_below ? kEdge : frame.data.right + kLegendGap;
  double y = frame.data.top + kFontSize;
  size_t next_row = 0;
  if (frame.legend_is_below) {
    const auto rows = static_cast<double>(frame.legend_rows.size());
    y = frame.height - kEdge / 2 - kLegendLine * (rows + 0.5);
  }
  for (size_t i = 0; i < frame.request.legend.size(); ++i) {
    const LegendEntry& entry = frame.request.legend[i];
    if (frame.legend_is_below && next_row < frame.legend_rows.size() &&
        frame.legend_rows[next_row] == i) {
      x = IsNarrow(frame.request) ? kEdge : std::max(kEdge, frame.data.left);
      y += kLegendLine;
      ++next_row;
    }
    drawing += DrawEntry(entry, frame, x, y);
    if (frame.legend_is_below) {
      x += EntryWidth(entry, frame.request.width) + kLegendGap;
    } else {
      y += kLegendLine;
    }
  }
  return drawing + "</g>\n";
}

std::vector<size_t> BreakLegend(const std::vector<LegendEntry>& legend, double left,
                                double canvas_width) {
  std::vector<size_t> rows;
  double x = canvas_width;
  for (size_t i = 0; i < legend.size(); ++i) {
    const double width = EntryWidth(legend[i], canvas_width);
    if (rows.empty() || x + width > canvas_width - kEdge) {
      rows.push_back(i);
      x = left;
    }
    x += width + kLegendGap;
  }
  return rows;
}

double WidestName(const std::vector<LegendEntry>& legend) {
  double widest = 0;
  for (const LegendEntry& entry : legend) {
    widest = std::max(widest, TextWidth(entry.name, kFontSize));
  }
  return widest;
}

}  // namespace

std::string ShortValue(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size >= 1e5 || size < 1e-2)) return absl::StrFormat("%.2g", value);
  return absl::StrFormat("%.*f", size >= 100 ? 0 : size >= 10 ? 1 : 2, value);
}

std::string Coordinate(double value) {
  std::string text = absl::StrFormat("%.2f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string Tooltip(std::string_view text) {
  return text.empty() ? "" : StrCat("<title>", EscapeXml(text), "</title>");
}

std::string DrawText(double x, double y, std::string_view anchor, std::string_view text) {
  return StrCat("<text x=\"", Coordinate(x), "\" y=\"", Coordinate(y), "\" text-anchor=\"", anchor,
                "\" fill=\"currentColor\">", EscapeXml(text), "</text>");
}

std::string ColorGroup(size_t color) {
  const size_t index = color % kPalette.size();
  return StrCat("<g class=\"c", index, "\" color=\"", kPalette[index].light, "\">");
}

std::string DrawMarker(size_t shape, MarkerFill fill, double x, double y,
                       std::string_view tooltip) {
  static constexpr std::array<std::string_view, 5> kShapes = {
      "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-3.6 -3.6h7.2v7.2h-7.2z", "M0 -4.6L4.4 3.4h-8.8z",
      "M0 -5L5 0L0 5L-5 0z", "M0 4.6L4.4 -3.4h-8.8z"};
  const std::string_view paint = fill == MarkerFill::kSolid
                                     ? "\" fill=\"currentColor\">"
                                     : "\" class=\"paper\" fill=\"#ffffff\""
                                       " stroke=\"currentColor\" stroke-width=\"1.8\">";
  return StrCat("<path transform=\"translate(", Coordinate(x), " ", Coordinate(y), ")\" d=\"",
                kShapes[shape % kShapes.size()], paint, Tooltip(tooltip), "</path>");
}

double LabelWidth(const Axis& axis) {
  double widest = 0;
  for (const Tick& tick : axis.ticks) {
    widest = std::max(widest, TextWidth(tick.label, kFontSize));
  }
  return widest;
}

Frame LayOutFrame(FrameRequest request, double y_label_width) {
  std::erase_if(request.legend, [](const LegendEntry& entry) { return entry.name.empty(); });
  const bool is_narrow = IsNarrow(request);
  Frame frame{.height = is_narrow ? kNarrowHeight : kHeight};
  frame.data.top = request.title.empty() ? kEdge : kEdge + kTitleHeight;
  frame.data.left = kEdge + (request.y_title.empty() ? 0 : 20) + y_label_width + 8;
  frame.data.right = request.width - 28;
  double below = kEdge / 2 + request.x_tick_height + (request.x_title.empty() ? 6 : 24);
  const double widest = WidestName(request.legend);
  frame.legend_is_below =
      is_narrow || widest > kWidestRightLegend || request.legend.size() > kMostRightEntries;
  if (frame.legend_is_below) {
    frame.legend_rows =
        BreakLegend(request.legend, is_narrow ? kEdge : frame.data.left, request.width);
    const size_t rows = frame.legend_rows.size();
    const size_t free_rows = is_narrow ? 0 : std::min(rows, kRowsWithoutGrowth);
    below += kLegendLine * static_cast<double>(rows);
    frame.height += kLegendLine * static_cast<double>(rows - free_rows);
  } else if (!request.legend.empty()) {
    frame.data.right = request.width - kEdge - kLegendGap - kSwatchWidth - 6 - widest;
  }
  frame.data.bottom = frame.height - below;
  frame.request = std::move(request);
  return frame;
}

std::string DrawFrame(const Frame& frame) {
  const std::string& title = frame.request.title;
  const double size = IsNarrow(frame.request) ? kNarrowTitleSize : kTitleSize;
  const std::string shown = Shortened(title, size * 1.05, frame.request.width - 2 * kEdge);
  const std::string width = Coordinate(frame.request.width);
  const std::string height = Coordinate(frame.height);
  std::string drawing = StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"horizon-plot\" viewBox=\"0 0 ", width, " ",
      height, "\" role=\"img\" aria-label=\"", EscapeXml(title),
      "\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\" font-size=\"",
      Coordinate(kFontSize), "\">\n", Style(), "<rect class=\"paper\" width=\"", width,
      "\" height=\"", height, "\" fill=\"#ffffff\"/>\n");
  if (!title.empty()) {
    drawing += StrCat("<g class=\"ink\" color=\"#1f2328\" font-size=\"", Coordinate(size),
                      "\" font-weight=\"600\">", shown == title ? "" : Tooltip(title),
                      DrawText(kEdge, kEdge + 12, "start", shown), "</g>\n");
  }
  return frame.request.legend.empty() ? drawing : drawing + DrawLegend(frame);
}

std::string DrawYAxis(const Frame& frame, const Axis& axis) {
  const Box& box = frame.data;
  std::string lines = "<g class=\"grid\" color=\"#e2e5e9\" stroke=\"currentColor\">";
  std::string labels = "<g class=\"soft\" color=\"#57606a\">";
  for (const Tick& tick : axis.ticks) {
    const double y = box.bottom - tick.position * box.height();
    lines += Line(box.left, y, box.right, y);
    labels += DrawText(box.left - 8, y + kFontSize * 0.35, "end", tick.label);
  }
  const std::string title = Shortened(frame.request.y_title, kFontSize, box.height() + 40);
  if (!title.empty()) {
    labels += StrCat("<g transform=\"translate(", Coordinate(kEdge + 10), " ",
                     Coordinate((box.top + box.bottom) / 2), ") rotate(-90)\">",
                     DrawText(0, 0, "middle", title), "</g>");
  }
  return StrCat(lines, "</g>\n", labels, "</g>\n");
}

std::string DrawXAxis(const Frame& frame, const Axis& axis) {
  const Box& box = frame.data;
  std::string lines = "<g class=\"grid\" color=\"#e2e5e9\" stroke=\"currentColor\">";
  std::string labels = "<g class=\"soft\" color=\"#57606a\">";
  for (const Tick& tick : axis.ticks) {
    const double x = box.left + tick.position * box.width();
    lines += Line(x, box.top, x, box.bottom);
    labels += DrawText(x, box.bottom + 18, "middle", tick.label);
  }
  return StrCat(lines, "</g>\n", labels, "</g>\n", DrawBaseline(frame, 0), DrawXTitle(frame));
}

std::string DrawBaseline(const Frame& frame, double position) {
  const Box& box = frame.data;
  const double y = box.bottom - position * box.height();
  return StrCat("<g class=\"soft\" color=\"#57606a\" stroke=\"currentColor\">",
                Line(box.left, y, box.right, y), "</g>\n");
}

std::string DrawNoData(const Frame& frame) {
  const Box& box = frame.data;
  return StrCat(
      "<g class=\"soft\" color=\"#57606a\">",
      DrawText((box.left + box.right) / 2, (box.top + box.bottom) / 2, "middle", "no data"),
      "</g>\n");
}

std::string DrawXTitle(const Frame& frame) {
  const std::string& title = frame.request.x_title;
  if (title.empty()) return "";
  const Box& box = frame.data;
  return StrCat("<g class=\"soft\" color=\"#57606a\">",
                DrawText((box.left + box.right) / 2, box.bottom + frame.request.x_tick_height + 20,
                         "middle", Shortened(title, kFontSize, box.width())),
                "</g>\n");
}

}  // namespace horizon
