#include "app/answers/data_report.h"

#include <algorithm>
#include <span>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/statistics.h"
#include "common/text/percent.h"
#include "common/text/printable.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

constexpr size_t kMostTokens = 400;
constexpr int64_t kBarLength = 40;
// What stands beside a bar: two lengths and a count.
constexpr size_t kBesideBar = 40;

std::string Count(int64_t count) { return WithCommas(static_cast<uint64_t>(count)); }

// Of the tokens' places in rows, how many hold a sample's token.
double FullShare(const DataStatistics& statistics, int64_t rows, int64_t sequence) {
  return Share(statistics.tokens, rows * sequence);
}

struct Bar {
  int64_t from = 0;
  int64_t to = 0;  // not included
  int64_t count = 0;
};

// One bar for each doubling from the shortest to the longest.
std::vector<Bar> BarsOf(const LengthHistogram& lengths) {
  std::vector<Bar> bars;
  for (int64_t from = 0; from <= lengths.longest() && lengths.count() > 0;) {
    const int64_t to = from == 0 ? 16 : 2 * from;
    const int64_t count = lengths.CountBetween(from, to);
    if (count > 0 || !bars.empty()) bars.push_back({from, to, count});
    if (to > (int64_t{1} << 61)) break;
    from = to;
  }
  return bars;
}

// Bars as long as the terminal has room for.
int64_t BarLengthIn(size_t columns) {
  if (columns == kAnyWidth) return kBarLength;
  constexpr size_t kShortest = 8;
  constexpr size_t kLongest = 80;
  return static_cast<int64_t>(
      std::clamp(columns - std::min(columns, kBesideBar), kShortest, kLongest));
}

std::string HistogramText(const LengthHistogram& lengths, int64_t length) {
  const std::vector<Bar> bars = BarsOf(lengths);
  int64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.count);
  std::string text;
  for (const Bar& bar : bars) {
    const int64_t signs = (bar.count * length + most - 1) / most;
    text +=
        absl::StrFormat("  %9d to %9d  %-*s %s\n", bar.from, bar.to - 1, static_cast<int>(length),
                        std::string(static_cast<size_t>(signs), '#'), Count(bar.count));
  }
  return text;
}

std::string ListText(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += StrCat(text.empty() ? "" : ", ", word);
  return text;
}

std::vector<std::string> KindWords(const DataCheck& check) {
  std::vector<std::string> words;
  for (const DataKind kind : check.files.kinds) words.emplace_back(ToString(kind));
  return words;
}

// The mask as transformers has it: 1 where a token is trained.
std::vector<int32_t> MaskOf(const TokenLine& sample) {
  std::vector<int32_t> mask;
  for (const int32_t label : sample.labels) mask.push_back(label >= 0 ? 1 : 0);
  return mask;
}

// The first numbers, with spaces between.
std::string NumbersText(const std::vector<int32_t>& numbers) {
  const size_t shown = std::min(numbers.size(), kMostTokens);
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += StrCat(i == 0 ? "" : " ", numbers[i]);
  if (shown < numbers.size()) text += StrCat(" ... and ", numbers.size() - shown, " more");
  return text;
}

}  // namespace

std::string MarkedSample(const Tokenizer* tokenizer, const TokenLine& sample, MaskStyle style,
                         size_t most_tokens) {
  const bool colour = style == MaskStyle::kColour;
  const size_t shown = std::min(sample.ids.size(), most_tokens);
  std::string text;
  for (size_t begin = 0; begin < shown;) {
    const bool trained = sample.labels[begin] >= 0;
    size_t end = begin;
    while (end < shown && (sample.labels[end] >= 0) == trained) ++end;
    const auto ids = std::span(sample.ids).subspan(begin, end - begin);
    std::string part;
    if (tokenizer != nullptr) {
      part = tokenizer->Decode(ids, Tokenizer::SpecialTokens::kSpell);
    } else {
      for (const int32_t id : ids) part += StrCat(part.empty() ? "" : " ", id);
    }
    part = Printable(part);
    if (trained) {
      text += part;
    } else {
      text += StrCat(colour ? "\033[2m" : "[[", part, colour ? "\033[0m" : "]]");
    }
    begin = end;
  }
  if (shown < sample.ids.size()) {
    text += StrCat(" ... and ", sample.ids.size() - shown, " more tokens");
  }
  return text;
}

std::string DataCheckText(const DataFiles& files, const DataCheck& check, MaskStyle style,
                          size_t columns) {
  const DataStatistics& statistics = check.files.statistics;
  const LengthHistogram& lengths = statistics.lengths;
  const int64_t sequence = files.tokenise.sequence;
  const auto wrapped = [&](std::string_view words, size_t hang) {
    return WrapMessage(words, {.width = columns, .hang = hang});
  };
  std::string text =
      StrCat(wrapped(StrCat(ListText(files.paths), ": ", ListText(KindWords(check))), 2), "\n");
  const auto line = [&](std::string_view name, std::string_view value) {
    constexpr size_t kValues = 13;
    text += StrCat(
        wrapped(absl::StrFormat("  %-10s %s", std::string(name), std::string(value)), kValues),
        "\n");
  };
  line("records",
       StrCat(Count(statistics.records), ", and ", Count(statistics.bad_lines), " bad lines"));
  line("samples", StrCat(Count(statistics.samples), " of at most ", Count(sequence), " tokens; ",
                         Count(statistics.truncated), " truncated, ", Count(statistics.dropped),
                         " dropped with nothing to learn"));
  if (statistics.cut_before_end > 0) {
    line("", StrCat(Count(statistics.cut_before_end),
                    " cut before the token that ends their last answer"));
  }
  if (statistics.without_end > 0) line("", MissingEndText(statistics));
  line("tokens",
       StrCat(Count(statistics.tokens), ", ", Count(statistics.trained_tokens), " of them learnt (",
              Percent(Share(statistics.trained_tokens, statistics.tokens), 1), ")"));
  line("lengths", StrCat("shortest ", Count(lengths.shortest()), ", median ",
                         Count(lengths.Quantile(0.5)), ", 95 % ", Count(lengths.Quantile(0.95)),
                         ", longest ", Count(lengths.longest()), " tokens"));
  line("packed", StrCat(Count(check.packed_rows), " rows, ",
                        Percent(FullShare(statistics, check.packed_rows, sequence), 1), " full"));
  line("padded", StrCat(Count(statistics.samples), " rows, ",
                        Percent(FullShare(statistics, statistics.samples, sequence), 1), " full"));
  text += StrCat("\nrecords by tokens\n", HistogramText(lengths, BarLengthIn(columns)));
  if (statistics.bad_lines > 0) {
    text += StrCat("\nbad lines (", Count(statistics.bad_lines), ")\n");
    for (const BadLine& bad : check.files.bad_lines) {
      text += StrCat(wrapped(StrCat("  ", bad.where, ": ", bad.reason), 4), "\n");
    }
    const auto shown = static_cast<int64_t>(check.files.bad_lines.size());
    if (shown < statistics.bad_lines) {
      text += StrCat("  and ", Count(statistics.bad_lines - shown), " more\n");
    }
  }
  text = Printable(text);
  if (check.example.ids.empty()) return text;
  return StrCat(text, "\n",
                wrapped(StrCat("the first sample as the model sees it; ",
                               style == MaskStyle::kColour ? "what is dim" : "what stands in [[ ]]",
                               " is not learnt"),
                        0),
                "\n", MarkedSample(files.tokenise.tokenizer, check.example, style, kMostTokens),
                "\n\nits ids\n", wrapped(NumbersText(check.example.ids), 0),
                "\nand its mask; 1 is learnt\n", wrapped(NumbersText(MaskOf(check.example)), 0),
                "\n");
}

std::string DataCheckJson(const DataFiles& files, const DataCheck& check) {
  const DataStatistics& statistics = check.files.statistics;
  const LengthHistogram& lengths = statistics.lengths;
  const int64_t sequence = files.tokenise.sequence;
  JsonWriter json;
  json.BeginObject().Key("files").BeginArray();
  for (size_t i = 0; i < files.paths.size(); ++i) {
    json.BeginObject().Key("path").String(files.paths[i]);
    json.Key("kind").String(ToString(check.files.kinds[i])).EndObject();
  }
  json.EndArray().Key("sequence").Integer(sequence);
  json.Key("records").Integer(statistics.records).Key("samples").Integer(statistics.samples);
  json.Key("tokens").Integer(statistics.tokens);
  json.Key("trained_tokens").Integer(statistics.trained_tokens);
  json.Key("truncated").Integer(statistics.truncated).Key("dropped").Integer(statistics.dropped);
  json.Key("cut_before_end").Integer(statistics.cut_before_end);
  json.Key("without_end").Integer(statistics.without_end);
  json.Key("lengths").BeginObject().Key("shortest").Integer(lengths.shortest());
  json.Key("median").Integer(lengths.Quantile(0.5)).Key("p95").Integer(lengths.Quantile(0.95));
  json.Key("longest").Integer(lengths.longest()).Key("histogram").BeginArray();
  for (const Bar& bar : BarsOf(lengths)) {
    json.BeginObject().Key("from").Integer(bar.from).Key("to").Integer(bar.to - 1);
    json.Key("records").Integer(bar.count).EndObject();
  }
  json.EndArray().EndObject();
  json.Key("packed_rows").Integer(check.packed_rows);
  json.Key("packed_full").Number(FullShare(statistics, check.packed_rows, sequence));
  json.Key("padded_full").Number(FullShare(statistics, statistics.samples, sequence));
  json.Key("bad_lines").Integer(statistics.bad_lines).Key("first_bad_lines").BeginArray();
  for (const BadLine& bad : check.files.bad_lines) {
    json.BeginObject().Key("where").String(bad.where).Key("reason").String(bad.reason).EndObject();
  }
  json.EndArray().Key("example").BeginObject().Key("ids").BeginArray();
  for (const int32_t id : check.example.ids) json.Integer(id);
  json.EndArray().Key("labels").BeginArray();
  for (const int32_t label : check.example.labels) json.Integer(label);
  json.EndArray().Key("mask").BeginArray();
  for (const int32_t trained : MaskOf(check.example)) json.Integer(trained);
  json.EndArray();
  if (files.tokenise.tokenizer != nullptr) {
    json.Key("text").String(
        files.tokenise.tokenizer->Decode(check.example.ids, Tokenizer::SpecialTokens::kSpell));
  }
  json.EndObject().EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon
