#include "app/options/explain_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Targets {
  bool json = false;
  int64_t batch = 1;
  std::string level = "info";
  Bytes memory = 512_MiB;
  std::optional<int64_t> sequence;
  std::vector<std::string> fields;
  std::vector<std::string> shown = {"step", "lanes"};
  std::vector<std::string> machines;
  bool help = false;
  std::string model;
  std::vector<std::string> names;

  OptionList List() {
    return {.options = {{.name = "batch", .value = &batch, .unit = "sequences", .help = "How many"},
                        {.name = "keep",
                         .value = &sequence,
                         .unit = "things",
                         .help = "How much is kept (default as much as fits)",
                         .group = "Keeping"},
                        {.name = "log-level",
                         .value = &level,
                         .unit = "level",
                         .help = "What to show",
                         .choices = {"debug", "very_much", "info"}},
                        {.name = "memory", .value = &memory, .unit = "bytes", .help = "Memory"},
                        {.name = "set", .value = &fields, .unit = "field=value", .help = "Fix one"},
                        {.name = "show", .value = &shown, .unit = "part", .help = "What to show"},
                        {.name = "machine",
                         .value = &machines,
                         .unit = "name or file",
                         .help = "Which",
                         .required = true},
                        {.name = "help", .value = &help, .help = "Show this help", .letter = 'h'},
                        {.name = "json", .value = &json, .help = "Answer in JSON"}},
            .positionals = {{.name = "MODEL", .value = &model, .help = "The model"},
                            {.name = "NAME", .value = &names, .help = "Any number"}}};
  }
};

TEST(UsageOf, ShowsAllThatMayBeGivenWhereTwoLinesHoldIt) {
  bool json = false;
  std::string model;
  const OptionList list = {.options = {{.name = "json", .value = &json, .help = "J"}},
                           .positionals = {{.name = "MODEL", .value = &model, .help = "M"}}};
  EXPECT_EQ(UsageOf("verb", list, 80), "Usage: horizon verb MODEL [--json]");
  EXPECT_EQ(UsageOf("verb", list, 30), "Usage: horizon verb MODEL\n                    [--json]");
  EXPECT_EQ(UsageOf("models", {}, 80), "Usage: horizon models");
}

TEST(UsageOf, OtherwiseShowsWhatMustBeGiven) {
  Targets targets;
  EXPECT_EQ(UsageOf("verb", targets.List(), 80),
            "Usage: horizon verb MODEL [NAME...] --machine NAME_OR_FILE... [OPTION...]");
}

TEST(ExplainOptions, ListsGroupsWithChoicesDefaultsAndHangingIndents) {
  Targets targets;
  EXPECT_EQ(ExplainOptions(targets.List(), 60),
            "Arguments:\n"
            "  MODEL              The model\n"
            "  NAME...            Any number\n"
            "\n"
            "Options:\n"
            "  --batch SEQUENCES  How many (default 1)\n"
            "  --log-level LEVEL  What to show (debug, very-much or info;\n"
            "                     default info)\n"
            "  --memory BYTES     Memory (default 512 MiB)\n"
            "  --set FIELD=VALUE  Fix one; may be repeated\n"
            "  --show PART        What to show; may be repeated (default\n"
            "                     step, lanes)\n"
            "  --machine NAME_OR_FILE\n"
            "                     Which; may be repeated\n"
            "  -h, --help         Show this help\n"
            "  --json             Answer in JSON\n"
            "\n"
            "Keeping:\n"
            "  --keep THINGS      How much is kept (default as much as\n"
            "                     fits)\n");
}

TEST(ExplainOptions, UsesTheWidthItIsGiven) {
  Targets targets;
  for (const size_t width : {40, 60, 80, 120}) {
    std::istringstream lines(ExplainOptions(targets.List(), width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
  EXPECT_THAT(ExplainOptions(targets.List(), 120),
              HasSubstr("  What to show (debug, very-much or info; default info)\n"));
}

TEST(ExplainOptions, DoesNotListChoicesThatTheUnitHas) {
  std::string shuffle = "true";
  const OptionList list = {.options = {{.name = "shuffle",
                                        .value = &shuffle,
                                        .unit = "true|false",
                                        .help = "Whether",
                                        .choices = {"true", "false"}}}};
  EXPECT_EQ(ExplainOptions(list, 80), "Options:\n  --shuffle true|false  Whether (default true)\n");
}

}  // namespace
}  // namespace horizon
