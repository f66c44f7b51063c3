#include "model/chat/date_text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr size_t kShort = 3;  // letters of an abbreviated name

struct Moment {
  int year = 1970;
  unsigned month = 1;    // 1 to 12
  unsigned day = 1;      // 1 to 31
  unsigned weekday = 0;  // 0: Sunday
  int year_day = 1;      // 1 to 366
  int hour = 0;
  int minute = 0;
  int second = 0;
};

Moment MomentOf(int64_t unix_seconds) {
  using std::chrono::days;
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const std::chrono::sys_days date = std::chrono::floor<days>(time);
  const std::chrono::year_month_day civil(date);
  const auto seconds = static_cast<int>((time - std::chrono::sys_seconds(date)).count());
  const std::chrono::sys_days first = std::chrono::sys_days(civil.year() / 1 / 1);
  return {.year = static_cast<int>(civil.year()),
          .month = static_cast<unsigned>(civil.month()),
          .day = static_cast<unsigned>(civil.day()),
          .weekday = std::chrono::weekday(date).c_encoding(),
          .year_day = static_cast<int>((date - first).count()) + 1,
          .hour = seconds / 3600,
          .minute = seconds / 60 % 60,
          .second = seconds % 60};
}

// A number of `width` places, filled up with `fill`; '\0': not at all.
std::string Padded(int64_t number, size_t width, char fill) {
  std::string digits = StrCat(number);
  if (fill == '\0' || digits.size() >= width) return digits;
  return std::string(width - digits.size(), fill) + digits;
}

// What one directive stands for; nothing: it is unknown. `flag`: '\0', '-', '_' or '0'.
std::optional<std::string> Directive(char directive, char flag, const Moment& at,
                                     int64_t unix_seconds) {
  const auto number = [&](int64_t value, size_t width, char fill = '0') {
    return Padded(value, width, flag == '-' ? '\0' : flag == '_' ? ' ' : flag == '0' ? '0' : fill);
  };
  const auto same_as = [&](std::string_view format) { return DateText(format, unix_seconds); };
  const int hour12 = at.hour % 12 == 0 ? 12 : at.hour % 12;
  switch (directive) {
    case 'a':
      return std::string(kDays[at.weekday].substr(0, kShort));
    case 'A':
      return std::string(kDays[at.weekday]);
    case 'b':
    case 'h':
      return std::string(kMonths[at.month - 1].substr(0, kShort));
    case 'B':
      return std::string(kMonths[at.month - 1]);
    case 'c':
      return same_as("%a %b %e %H:%M:%S %Y");
    case 'd':
      return number(at.day, 2);
    case 'D':
    case 'x':
      return same_as("%m/%d/%y");
    case 'e':
      return number(at.day, 2, ' ');
    case 'F':
      return same_as("%Y-%m-%d");
    case 'H':
      return number(at.hour, 2);
    case 'I':
      return number(hour12, 2);
    case 'j':
      return number(at.year_day, 3);
    case 'm':
      return number(at.month, 2);
    case 'M':
      return number(at.minute, 2);
    case 'n':
      return "\n";
    case 'p':
      return at.hour < 12 ? "AM" : "PM";
    case 'S':
      return number(at.second, 2);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return same_as("%H:%M:%S");
    case 'u':
      return StrCat(at.weekday == 0 ? 7u : at.weekday);
    case 'w':
      return StrCat(at.weekday);
    case 'y':
      return number(at.year % 100, 2);
    case 'Y':
      return StrCat(at.year);
    case 'Z':
      return "";  // of a time that knows no zone, as datetime.now() is
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string DateText(std::string_view format, int64_t unix_seconds) {
  const Moment at = MomentOf(unix_seconds);
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const size_t begin = i;
    char flag = '\0';
    if (i + 1 < format.size() &&
        std::string_view("-_0").find(format[i + 1]) != std::string_view::npos) {
      flag = format[++i];
    }
    const std::optional<std::string> written =
        i + 1 < format.size() ? Directive(format[i + 1], flag, at, unix_seconds) : std::nullopt;
    if (written.has_value()) {
      ++i;
      text += *written;
    } else {
      text += format.substr(begin, i + 1 - begin);
    }
  }
  return text;
}

absl::StatusOr<int64_t> ParseDay(std::string_view text) {
  const auto number = [&](size_t begin, size_t length) -> int {
    int value = -1;
    const char* end = text.data() + begin + length;
    const auto result = std::from_chars(text.data() + begin, end, value);
    return result.ec == std::errc() && result.ptr == end ? value : -1;
  };
  if (text.size() == 10 && text[4] == '-' && text[7] == '-') {
    const int year = number(0, 4);
    const int month = number(5, 2);
    const int day = number(8, 2);
    if (year >= 1970 && month >= 1 && day >= 1) {
      const std::chrono::year_month_day date{std::chrono::year(year),
                                             std::chrono::month(static_cast<unsigned>(month)),
                                             std::chrono::day(static_cast<unsigned>(day))};
      if (date.ok()) {
        return std::chrono::sys_seconds(std::chrono::sys_days(date)).time_since_epoch().count();
      }
    }
  }
  return absl::InvalidArgumentError(
      StrCat(Quoted(text), " is no day; write it as 2024-07-26 (year, month, day)"));
}

}  // namespace horizon
