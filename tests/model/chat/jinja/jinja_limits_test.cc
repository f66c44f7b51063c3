// Templates that would take for ever, or all memory, end with a message.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_template.h"

namespace horizon {
namespace {

absl::Status Try(std::string_view source, const JinjaLimits& limits = {}) {
  const absl::StatusOr<JinjaTemplate> parsed = JinjaTemplate::Parse(source, "test");
  if (!parsed.ok()) return parsed.status();
  return parsed->Render({}, {.limits = limits}).status();
}

std::string Repeated(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

TEST(JinjaLimits, WhatIsTooMuchIsRefused) {
  const JinjaLimits small = {.steps = 100'000, .depth = 200, .output = 1_MiB};
  for (const std::string_view source : {
           "{{ 'a' * 1000000000 }}",
           "{% set x = [1] * 1000000000 %}",
           "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x "
           "%}{% endfor %}",
           "{% set ns = namespace(x=['ab']) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x "
           "%}{% endfor %}",
           "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% "
           "endfor %}",
           "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
           "{% for i in range(90000) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% "
           "endfor %}",
           "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           "{{ 'a'.ljust(100000000) }}",
           "{{ 'a'.replace('', 'b' * 900000) }}",
           "{{ '%1000000000d' % 1 }}",
           "{{ '{:1000000000}'.format(1) }}",
           "{{ (['a' * 900000] * 1000)|join }}",
           "{{ 'a'|center(1000000000) }}",
           "{{ 'a\\nb'|indent(1000000000) }}",
           "{{ ('a' * 900000) ~ ('b' * 900000) }}",
           "{{ [['a' * 900000] * 100]|tojson }}",
           "{{ ['a' * 900000] * 100 }}",
           "{% set ns = namespace(x=[]) %}{% for i in range(90000) %}{% set ns.x = ns.x + ['x' * "
           "900000] %}{% endfor %}",
       }) {
    const absl::Status status = Try(source, small);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << source << "\n" << status;
    EXPECT_TRUE(status.message().substr(0, 7) == "test:1:") << status;
  }
}

TEST(JinjaLimits, DeepNestingIsRefusedByTheParser) {
  for (const std::string& source :
       {"{{ " + Repeated("(", 100'000) + " }}", "{{ " + Repeated("[", 100'000) + " }}",
        "{{ " + Repeated("{1:", 100'000) + " }}", "{{ " + Repeated("-", 100'000) + "1 }}",
        "{{ " + Repeated("not ", 100'000) + "1 }}", Repeated("{% if 1 %}", 100'000),
        "{{ 1" + Repeated("+1", 100'000) + " }}", "{{ 1" + Repeated("|string", 100'000) + " }}",
        "{{ a" + Repeated(".a", 100'000) + " }}", "{{ a" + Repeated("[0]", 100'000) + " }}",
        "{{ 1" + Repeated(" if 1", 100'000) + " }}",
        "{% if 1 %}" + Repeated("{% elif 1 %}", 100'000) + "{% endif %}",
        "{{ a" + Repeated("()", 100'000) + " }}", "{{ 1" + Repeated(" or 1", 100'000) + " }}",
        Repeated("{% for i in x %}", 100'000), "{% set " + Repeated("(", 100'000) + "a = 1 %}"}) {
    const absl::Status status = Try(source);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << source.substr(0, 40) << status;
  }
}

TEST(JinjaLimits, IntegersThatDoNotFitAreErrors) {
  for (const std::string_view source :
       {"{{ 9223372036854775807 + 1 }}", "{{ 9223372036854775808 }}", "{{ 2 ** 63 }}",
        "{{ 9223372036854775807 * 2 }}", "{{ -9223372036854775807 - 2 }}",
        "{{ (-9223372036854775807 - 1) // -1 }}", "{{ '9223372036854775808'|int }}",
        "{{ 1e19|int }}"}) {
    const absl::Status status = Try(source);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << source << status;
    EXPECT_NE(std::string(status.message()).find("64 bits"), std::string::npos) << status;
  }
}

TEST(JinjaLimits, ErrorsNameTheLine) {
  EXPECT_EQ(Try("a\n\n{{ raise_exception('No tools, please') }}").message(),
            "test:3: No tools, please");
  EXPECT_EQ(Try("a\n{% if x.y.z %}{% endif %}").message(), "test:2: 'x' is undefined");
  EXPECT_EQ(Try("\n\n{% frobnicate %}").message(),
            "test:3: the tag \"frobnicate\" is unknown or not supported");
  EXPECT_EQ(Try("\n{{ 1|frobnicate }}").message(),
            "test:2: the filter \"frobnicate\" is unknown or not supported");
}

TEST(JinjaLimits, CirclesThroughNamespacesAndMacrosAreReleased) {
  EXPECT_TRUE(Try("{% set ns = namespace() %}{% set ns.me = ns %}{% macro m() %}{% endmacro %}"
                  "{% set ns.m = m %}{% for i in [1] %}{% set ns.l = loop %}{% endfor %}")
                  .ok());
  EXPECT_FALSE(Try("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}").ok());
}

}  // namespace
}  // namespace horizon
