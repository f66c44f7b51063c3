// Every part of a rendered text knows whether it was quoted, and which message it belongs to.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_template.h"

namespace horizon {
namespace {

JinjaValue Message(std::string_view role, std::string_view content, int32_t number) {
  return JinjaValue::Message(
      {{JinjaValue::Template("role"), JinjaValue::Quoted(role, number)},
       {JinjaValue::Template("content"), JinjaValue::Quoted(content, number)}},
      number);
}

JinjaVariables Variables() {
  return {{"messages", JinjaValue::List({Message("user", " Hi ", 0), Message("bot", "Yo", 1)})},
          {"bos_token", JinjaValue::Template("<s>")},
          {"date", JinjaValue::Quoted("today", -1)}};
}

// "[text]" for what is quoted, "text" for the template's; then the message, "!" in generation.
std::string Traced(std::string_view source) {
  const absl::StatusOr<JinjaTemplate> parsed = JinjaTemplate::Parse(source, "test");
  if (!parsed.ok()) return std::string(parsed.status().message());
  const absl::StatusOr<TracedText> text = parsed->Render(Variables(), {});
  if (!text.ok()) return std::string(text.status().message());
  std::string shown;
  size_t begin = 0;
  for (const TextRun& run : text->runs()) {
    const std::string piece = text->text().substr(begin, run.end - begin);
    begin = run.end;
    if (!shown.empty()) shown += " ";
    shown += run.origin.quoted ? StrCat("[", piece, "]") : piece;
    if (run.origin.message >= 0) shown += StrCat("@", run.origin.message);
    if (run.origin.generation) shown += "!";
  }
  return shown;
}

TEST(JinjaOrigins, LoopsOverMessagesGiveTheirNumber) {
  EXPECT_EQ(
      Traced("{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}E"),
      "<s> <@0 [user]@0 >@0 [ Hi ]@0 <@1 [bot]@1 >@1 [Yo]@1 E");
  EXPECT_EQ(Traced("{% for m in messages[1:] %}{{ m.content }};{% endfor %}"), "[Yo]@1 ;@1");
  EXPECT_EQ(Traced("{% for m in messages|reverse %}{{ m.role }};{% endfor %}"),
            "[bot]@1 ;@1 [user]@0 ;@0");
  EXPECT_EQ(Traced("{% for m in messages|selectattr('role', 'eq', 'bot') %}x{% endfor %}"), "x@1");
  EXPECT_EQ(Traced("{% for m in messages %}{% for i in [1] %}{{ i }}{% endfor %}{% endfor %}"),
            "1@0 1@1");
  // The loop says whose text it is, also for text of others.
  EXPECT_EQ(Traced("{% for m in messages[1:] %}{{ messages[0].role }}{% endfor %}"), "[user]@1");
}

TEST(JinjaOrigins, OutsideOfLoopsTextKeepsTheMessageItCameFrom) {
  EXPECT_EQ(Traced("<{{ messages[1].content }}>{{ date }}"), "< [Yo]@1 > [today]");
}

TEST(JinjaOrigins, OperationsOnTextKeepTheOriginOfEachPiece) {
  const std::string_view kContent = "messages[0].content";
  for (const auto& [expression, expected] :
       {std::pair<std::string, std::string>{"'a' + C + 'b'", "a [ Hi ]@0 b"},
        {"('a' ~ C ~ 1)|trim", "a [ Hi ]@0 1"},
        {"C|trim ~ '!'", "[Hi]@0 !"},
        {"C.strip().upper() ~ '!'", "[HI]@0 !"},
        {"('<' ~ C ~ '>')[1:-1]", "[ Hi ]@0"},
        {"('<' ~ C ~ '>')[::-1]", "> [ iH ]@0 <"},
        {"('a' ~ C).split('H')|join('-')", "a [ ]@0 - [i ]@0"},
        {"C.replace('H', 'x')", "[ ]@0 x [i ]@0"},
        {"'%s=%5d' % (C, 1)", "[ Hi ]@0 =    1"},
        {"'{}:{}'.format(C, 'x')", "[ Hi ]@0 :x"},
        {"[C, 'q']|string", "[' [ Hi ]@0 ', 'q']"},
        {"{'k': C}|tojson", "{\"k\": \" [ Hi ]@0 \"}"},
        {"C|indent(2, true)", "   [ Hi ]@0"},
        {"C|replace('i', '<b>')|escape", "[ H]@0 &lt;b&gt; [ ]@0"},
        {"C.center(6, '*')", "* [ Hi ]@0 *"},
        {"C|title ~ C|list|last", "[ Hi  ]@0"},
        {"C|truncate(3, true, '.', 0)", "[ H]@0 ."}}) {
    std::string source = "{{ " + expression + " }}";
    for (size_t at = source.find('C'); at != std::string::npos; at = source.find('C', at + 1)) {
      source.replace(at, 1, kContent);
      at += kContent.size() - 1;
    }
    EXPECT_EQ(Traced(source), expected) << source;
  }
}

TEST(JinjaOrigins, MacrosAndSetBlocksKeepOrigins) {
  EXPECT_EQ(Traced("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(messages[1].content) }}"),
            "< [Yo]@1 >");
  EXPECT_EQ(Traced("{% set x %}<{{ messages[1].content }}>{% endset %}{{ x|upper }}"),
            "< [YO]@1 >");
  EXPECT_EQ(Traced("{% macro m(x) %}<{{ x }}>{% endmacro %}"
                   "{% for g in messages %}{{ m(date) }}{% endfor %}"),
            "<@0 [today]@0 >@0 <@1 [today]@1 >@1");
}

TEST(JinjaOrigins, GenerationBlocksMarkWhatTheyWrite) {
  EXPECT_EQ(Traced("a{% generation %}b{{ date }}{% endgeneration %}c"), "a b! [today]! c");
  EXPECT_EQ(Traced("{% macro m() %}x{% endmacro %}{% set s %}y{% endset %}"
                   "{% generation %}{{ m() }}{{ s }}{% endgeneration %}{{ m() }}{{ s }}"),
            "xy! xy");
  EXPECT_EQ(Traced("{% macro m() %}a{% generation %}b{% endgeneration %}{% endmacro %}{{ m() }}"),
            "a b!");
  const absl::StatusOr<JinjaTemplate> with =
      JinjaTemplate::Parse("{%- generation -%}{% endgeneration %}", "t");
  const absl::StatusOr<JinjaTemplate> without = JinjaTemplate::Parse("generation", "t");
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_TRUE(with->has_generation());
  EXPECT_FALSE(without->has_generation());
}

TEST(JinjaOrigins, TheClockIsTheCallers) {
  const absl::StatusOr<JinjaTemplate> parsed =
      JinjaTemplate::Parse("{{ strftime_now('%Y') if strftime_now is defined else 'none' }}", "t");
  ASSERT_TRUE(parsed.ok());
  JinjaOptions options;
  EXPECT_EQ(parsed->Render({}, options)->text(), "none");
  options.strftime_now = [](std::string_view format) { return StrCat("<", format, ">"); };
  EXPECT_EQ(parsed->Render({}, options)->text(), "<%Y>");
}

}  // namespace
}  // namespace horizon
