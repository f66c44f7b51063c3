#include "experiments/summary/report_cells.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"

namespace horizon {
HtmlCell TextCell(std::string text) { return {.text = std::move(text)}; }
HtmlCell NumberCell(std::string text, CellTone tone) {
  return {.text = std::move(text), .align = CellAlign::kNumber, .tone = tone};
}

std::vector<HtmlCell> Header(std::initializer_list<std::string_view> texts,
                             std::initializer_list<std::string_view> numbers) {
  std::vector<HtmlCell> header;
  for (const std::string_view text : texts) header.push_back(TextCell(std::string(text)));
  for (const std::string_view number : numbers) header.push_back(NumberCell(std::string(number)));
  return header;
}

std::string FigureText(double value) {
  const double size = std::abs(value);
  return absl::StrFormat("%.*f", size >= 1000 ? 0 : size >= 10 ? 1 : 2, value);
}

CellTone ToneOf(Agreement agreement) {
  switch (agreement) {
    case Agreement::kHolds:
      return CellTone::kGood;
    case Agreement::kClose:
      return CellTone::kWarn;
    case Agreement::kMisses:
      break;
  }
  return CellTone::kBad;
}

CellTone ToneOf(double error) { return ToneOf(AgreementOf(error)); }

}  // namespace horizon
