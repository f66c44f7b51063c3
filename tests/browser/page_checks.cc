#include "tests/browser/page_checks.h"

#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string TextOf(const absl::StatusOr<std::string>& value) {
  if (!value.ok()) return value.status().ToString();
  return *value == "\"\"" ? "" : *value;
}

}  // namespace

std::string Emulate(Browser& browser, int width, int height, const std::string& scheme) {
  const absl::Status size = browser
                                .Command("Emulation.setDeviceMetricsOverride",
                                         StrCat("{\"width\": ", width, ", \"height\": ", height,
                                                ", \"deviceScaleFactor\": 1, \"mobile\": false}"))
                                .status();
  const absl::Status media =
      browser
          .Command("Emulation.setEmulatedMedia",
                   StrCat("{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"",
                          scheme, "\"}]}"))
          .status();
  // Two frames: the resize is heard in the first, what it draws is laid out in the second.
  const absl::StatusOr<std::string> drawn = browser.Evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame("
      "() => done(''))))");
  return StrCat(size.ok() ? "" : size.ToString(), media.ok() ? "" : media.ToString(),
                TextOf(drawn));
}

std::string SidewaysProblem(Browser& browser) {
  return TextOf(browser.Evaluate(
      "document.documentElement.scrollWidth <= innerWidth ? '' : "
      "`${document.documentElement.scrollWidth} of ${innerWidth} pixels, by ` + "
      "[...document.body.querySelectorAll('*')].filter((one) => "
      "one.getBoundingClientRect().right > innerWidth && !one.closest('.table, .drawing')).map("
      "(one) => one.tagName + '.' + one.className).slice(0, 5).join(' ')"));
}

std::string ChartTextProblem(Browser& browser) {
  return TextOf(browser.Evaluate(R"((() => {
    const problems = [];
    const charts = [...document.querySelectorAll('svg')].filter(
        (one) => one.getBoundingClientRect().width > 0);
    if (charts.length === 0) problems.push('no chart is visible');
    for (const chart of charts) {
      const texts = [...chart.querySelectorAll('text')];
      const frame = chart.getBoundingClientRect();
      const boxes = texts.map((text) => text.getBoundingClientRect());
      texts.forEach((text, i) => {
        const matrix = text.getScreenCTM();
        const size = parseFloat(getComputedStyle(text).fontSize) *
            Math.hypot(matrix.a, matrix.b);
        if (size < 11.99) problems.push(`"${text.textContent}" is of ${size} pixels`);
        if (boxes[i].left < frame.left - 1 || boxes[i].right > frame.right + 1) {
          problems.push(`"${text.textContent}" leaves its chart`);
        }
        // Sloping texts have boxes that overlap where the texts do not.
        if (Math.abs(matrix.b) > 1e-3) return;
        for (let j = 0; j < i; ++j) {
          if (Math.abs(texts[j].getScreenCTM().b) > 1e-3) continue;
          const wide = Math.min(boxes[i].right, boxes[j].right) -
              Math.max(boxes[i].left, boxes[j].left);
          const high = Math.min(boxes[i].bottom, boxes[j].bottom) -
              Math.max(boxes[i].top, boxes[j].top);
          // Boxes have the height of a line, which is more than that of its letters.
          if (wide > 0.5 && high > 4) {
            problems.push(`"${text.textContent}" lies on "${texts[j].textContent}"`);
          }
        }
      });
    }
    return problems.slice(0, 10).join('; ');
  })())"));
}

}  // namespace horizon
