#include "app/options/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <string>
#include <vector>

#include "app/options/explain_options.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One option of every kind and two arguments.
struct Targets {
  bool json = false;
  int64_t batch = 1;
  double rate = 0.5;
  std::string level = "info";
  Bytes memory = 512_MiB;
  std::optional<int64_t> sequence;
  std::optional<std::string> trace;
  std::optional<Bytes> limit;
  std::string model;
  std::optional<std::string> second;

  OptionList List() {
    return {.options = {{.name = "json", .value = &json, .help = "Answer in JSON"},
                        {.name = "batch",
                         .value = &batch,
                         .unit = "sequences",
                         .help = "How many",
                         .minimum = 1,
                         .maximum = 64},
                        {.name = "rate",
                         .value = &rate,
                         .unit = "steps per s",
                         .help = "How fast",
                         .minimum = 0,
                         .maximum = 10},
                        {.name = "log-level",
                         .value = &level,
                         .unit = "level",
                         .help = "What to show",
                         .choices = {"debug", "info", "warning"}},
                        {.name = "memory", .value = &memory, .unit = "bytes", .help = "Memory"},
                        {.name = "sequence",
                         .value = &sequence,
                         .unit = "tokens",
                         .help = "Length",
                         .minimum = 1},
                        {.name = "trace", .value = &trace, .unit = "file", .help = "Trace"},
                        {.name = "limit", .value = &limit, .unit = "bytes", .help = "Limit"}},
            .positionals = {{.name = "MODEL", .value = &model, .help = "The model"},
                            {.name = "SECOND", .value = &second, .help = "Another"}}};
  }
};

absl::Status Parse(Targets& targets, const std::vector<std::string>& arguments) {
  return ParseArguments(targets.List(), arguments);
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  Targets targets;
  const absl::Status status = Parse(targets, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(ParseArguments, ReadsEveryKindInBothSpellings) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"m", "--json", "--batch", "4", "--rate", "2.5", "--log-level", "debug", "--memory",
            "1.5 GiB", "--sequence", "128", "--trace", "t.json", "--limit", "64 MB", "other"},
           {"--limit=64 MB", "--trace=t.json", "--sequence=128", "--memory=1.5 GiB", "m",
            "--log-level=debug", "--rate=2.5", "--batch=4", "other", "--json"}}) {
    Targets targets;
    ASSERT_EQ(Parse(targets, arguments), absl::OkStatus());
    EXPECT_TRUE(targets.json);
    EXPECT_EQ(targets.batch, 4);
    EXPECT_EQ(targets.rate, 2.5);
    EXPECT_EQ(targets.level, "debug");
    EXPECT_EQ(targets.memory, 1536_MiB);
    EXPECT_EQ(targets.sequence, 128);
    EXPECT_EQ(targets.trace, "t.json");
    EXPECT_EQ(targets.limit, 64'000'000_B);
    EXPECT_EQ(targets.model, "m");
    EXPECT_EQ(targets.second, "other");
  }
}

TEST(ParseArguments, LeavesDefaultsAlone) {
  Targets targets;
  ASSERT_EQ(Parse(targets, {"m"}), absl::OkStatus());
  EXPECT_FALSE(targets.json);
  EXPECT_EQ(targets.batch, 1);
  EXPECT_EQ(targets.rate, 0.5);
  EXPECT_EQ(targets.level, "info");
  EXPECT_EQ(targets.memory, 512_MiB);
  EXPECT_EQ(targets.sequence, std::nullopt);
  EXPECT_EQ(targets.trace, std::nullopt);
  EXPECT_EQ(targets.limit, std::nullopt);
  EXPECT_EQ(targets.second, std::nullopt);
}

TEST(ParseArguments, DoubleDashEndsTheOptions) {
  Targets targets;
  ASSERT_EQ(Parse(targets, {"--json", "--", "m"}), absl::OkStatus());
  EXPECT_EQ(targets.model, "m");
  EXPECT_TRUE(targets.json);
}

TEST(ParseArguments, AFileMayBeNamedLikeAnOptionBehindTheDoubleDash) {
  Targets targets;
  ASSERT_EQ(Parse(targets, {"--", "--json", "-x"}), absl::OkStatus());
  EXPECT_EQ(targets.model, "--json");
  EXPECT_EQ(targets.second, "-x");
  EXPECT_FALSE(targets.json);
}

TEST(ParseArguments, ALoneDashAndAnEmptyWordAreArguments) {
  Targets targets;
  ASSERT_EQ(Parse(targets, {"-", ""}), absl::OkStatus());
  EXPECT_EQ(targets.model, "-");
  EXPECT_EQ(targets.second, "");
}

TEST(ParseArguments, UnknownOptionsGetTheNearestKnownOne) {
  EXPECT_EQ(ErrorOf({"m", "--bacth", "4"}), "unknown option '--bacth'; did you mean '--batch'?");
  EXPECT_EQ(ErrorOf({"m", "--sequense=4"}),
            "unknown option '--sequense=4'; did you mean '--sequence'?");
  EXPECT_THAT(ErrorOf({"m", "-json"}), HasSubstr("did you mean '--json'?"));
  EXPECT_EQ(ErrorOf({"m", "--entirely-else"}), "unknown option '--entirely-else'");
  EXPECT_EQ(ErrorOf({"m", "-x"}), "unknown option '-x'");
}

TEST(ParseArguments, AbbreviationsAreUnknown) {
  EXPECT_THAT(ErrorOf({"m", "--seq", "4"}), HasSubstr("unknown option '--seq'"));
  EXPECT_THAT(ErrorOf({"m", "--JSON"}), HasSubstr("unknown option '--JSON'"));
}

TEST(ParseArguments, ArgumentsCannotBeGivenAsOptions) {
  EXPECT_THAT(ErrorOf({"--MODEL", "m"}), HasSubstr("unknown option '--MODEL'"));
}

TEST(ParseArguments, BadNumbersAreRefusedWithOptionAndUnit) {
  for (const char* bad : {"", "x", "4x", "1.5", "99999999999999999999", "0x10", "1e3"}) {
    EXPECT_THAT(ErrorOf({"m", "--batch", bad}),
                AllOf(HasSubstr("--batch"), HasSubstr("sequences"), HasSubstr(bad)));
  }
  EXPECT_EQ(ErrorOf({"m", "--batch", "0"}),
            "--batch: '0' is not a whole number of sequences from 1 to 64");
  EXPECT_EQ(ErrorOf({"m", "--batch", "65"}),
            "--batch: '65' is not a whole number of sequences from 1 to 64");
  EXPECT_THAT(ErrorOf({"m", "--batch", "-3"}), HasSubstr("from 1 to 64"));
  EXPECT_THAT(ErrorOf({"m", "--sequence", "0"}), HasSubstr("at least 1"));
  for (const char* bad : {"", "x", "nan", "inf", "-inf", "1e400", "1,5"}) {
    EXPECT_THAT(ErrorOf({"m", "--rate", bad}), HasSubstr("is not a number from 0 to 10"));
  }
  EXPECT_THAT(ErrorOf({"m", "--rate", "-0.1"}), HasSubstr("is not a number from 0 to 10"));
  EXPECT_THAT(ErrorOf({"m", "--rate", "10.1"}), HasSubstr("is not a number from 0 to 10"));
}

// The spelling of the declaration is what the target gets.
TEST(ParseArguments, WordsMayHaveDashesOrUnderscoresAndAreShownWithDashes) {
  std::string place = "after_step";
  const OptionList list{.options = {{.name = "place",
                                     .value = &place,
                                     .unit = "place",
                                     .help = "When",
                                     .choices = {"in_backward", "after_step"}}}};
  const std::string help = ExplainOptions(list, 80);
  EXPECT_THAT(help, AllOf(HasSubstr("When (in-backward or after-step; default after-step)"),
                          Not(HasSubstr("in_backward"))));
  for (const char* word : {"in-backward", "in_backward"}) {
    place = "after_step";
    const std::vector<std::string> words = {"--place", word};
    ASSERT_EQ(ParseArguments(list, words), absl::OkStatus());
    EXPECT_EQ(place, "in_backward");
  }
  const std::vector<std::string> wrong = {"--place", "in_backwards"};
  EXPECT_EQ(std::string(ParseArguments(list, wrong).message()),
            "--place: 'in_backwards' is none of in-backward, after-step; did you mean "
            "'in-backward'?");
}

TEST(ParseArguments, ARangeIsToldWithAllItsDigits) {
  double rate = 0;
  std::optional<double> maybe;
  int64_t steps = 1;
  const OptionList list{
      .options = {{.name = "rate",
                   .value = &rate,
                   .unit = "rate",
                   .help = "A",
                   .minimum = 0,
                   .maximum = 0.999999999},
                  {.name = "maybe", .value = &maybe, .unit = "norm", .help = "B", .maximum = 1e30},
                  {.name = "steps",
                   .value = &steps,
                   .unit = "steps",
                   .help = "C",
                   .minimum = 1,
                   .maximum = 1e12}}};
  const auto error = [&](const std::string& option, const std::string& word) {
    const std::vector<std::string> words = {option, word};
    return std::string(ParseArguments(list, words).message());
  };
  EXPECT_EQ(error("--rate", "1e30"), "--rate: '1e30' is not a number from 0 to 0.999999999");
  EXPECT_EQ(error("--maybe", "1e31"), "--maybe: '1e31' is not a number of at most 1e+30");
  EXPECT_EQ(error("--steps", "0"),
            "--steps: '0' is not a whole number of steps from 1 to 1000000000000");
  EXPECT_EQ(error("--steps", "1000000000001"),
            "--steps: '1000000000001' is not a whole number of steps from 1 to 1000000000000");
  EXPECT_EQ(error("--maybe", "2.5"), "");
  EXPECT_EQ(maybe, 2.5);
}

TEST(ParseArguments, BoundsAreInside) {
  Targets targets;
  ASSERT_EQ(Parse(targets, {"m", "--batch", "64", "--rate", "10"}), absl::OkStatus());
  EXPECT_EQ(targets.batch, 64);
  EXPECT_EQ(targets.rate, 10.0);
}

TEST(ParseArguments, BadSizesAndChoicesAreRefused) {
  EXPECT_THAT(ErrorOf({"m", "--memory", "12 parsecs"}), HasSubstr("--memory: "));
  EXPECT_THAT(ErrorOf({"m", "--limit", "-1"}), HasSubstr("--limit: "));
  EXPECT_EQ(ErrorOf({"m", "--log-level", "wraning"}),
            "--log-level: 'wraning' is none of debug, info, warning; did you mean 'warning'?");
}

TEST(ParseArguments, MissingAndSuperfluousPartsAreNamed) {
  EXPECT_EQ(ErrorOf({}), "MODEL is missing: The model");
  EXPECT_THAT(ErrorOf({"a", "b", "c"}), HasSubstr("one argument too many: 'c'"));
  EXPECT_THAT(ErrorOf({"m", "--batch"}), HasSubstr("--batch"));
  EXPECT_THAT(ErrorOf({"m", "--json=yes"}), HasSubstr("--json"));
  EXPECT_EQ(ErrorOf({"m", "--batch", "1", "--batch", "2"}), "--batch is given more than once");
  EXPECT_EQ(ErrorOf({"m", "--json", "--json"}), "--json is given more than once");
}

TEST(ParseArguments, RequiredOptionsAreAskedForUnlessHelpIs) {
  std::string plan;
  bool help = false;
  const OptionList list = {
      .options = {{.name = "plan", .value = &plan, .unit = "file", .help = "P", .required = true},
                  {.name = "help", .value = &help, .help = "H", .answers_alone = true}}};
  EXPECT_EQ(ParseArguments(list, {}).message(), "--plan FILE is missing: P");
  const std::vector<std::string> empty_value = {"--plan", ""};
  EXPECT_EQ(ParseArguments(list, empty_value), absl::OkStatus());
  const std::vector<std::string> only_help = {"--help"};
  EXPECT_EQ(ParseArguments(list, only_help), absl::OkStatus());
  EXPECT_TRUE(help);
}

TEST(ParseArguments, NoCommandLineMakesItThrow) {
  const auto words = rc::gen::container<std::vector<std::string>>(rc::gen::oneOf(
      rc::gen::arbitrary<std::string>(),
      rc::gen::element<std::string>("--batch", "--batch=", "--", "-", "---", "--=", "--json",
                                    "--json=1", "4", "--sequence=9", " argument", "-- argument",
                                    "-- argument=x", "--log-level", "debug", "--memory", "1GiB")));
  ASSERT_TRUE(rc::check("ends in a Status", [&] {
    const auto arguments = *words;
    Targets targets;
    const absl::Status status = Parse(targets, arguments);
    RC_ASSERT(status.ok() || absl::IsInvalidArgument(status));
    if (status.ok()) RC_ASSERT(targets.batch >= 1 && targets.batch <= 64);
  }));
}

TEST(CountLeadingOptions, StopsAtTheCommand) {
  Targets targets;
  const OptionList list = targets.List();
  auto count = [&](const std::vector<std::string>& arguments) {
    return CountLeadingOptions(list, arguments);
  };
  EXPECT_EQ(count({}), 0U);
  EXPECT_EQ(count({"model", "--json"}), 0U);
  EXPECT_EQ(count({"--json", "model"}), 1U);
  EXPECT_EQ(count({"--log-level", "debug", "model"}), 2U);
  EXPECT_EQ(count({"--log-level=debug", "model"}), 1U);
  EXPECT_EQ(count({"--log-level"}), 1U);
  EXPECT_EQ(count({"--unknown", "model"}), 1U);
  EXPECT_EQ(count({"-", "model"}), 0U);
}

TEST(ParseArguments, ALetterStandsForItsOption) {
  bool help = false;
  std::string model;
  const OptionList list = {
      .options =
          {{.name = "help", .value = &help, .help = "H", .answers_alone = true, .letter = 'h'}},
      .positionals = {{.name = "MODEL", .value = &model, .help = "M"}}};
  const std::vector<std::string> letter = {"-h"};
  EXPECT_EQ(ParseArguments(list, letter), absl::OkStatus());
  EXPECT_TRUE(help);
  EXPECT_EQ(CountLeadingOptions(list, letter), 1U);
  help = false;
  const std::vector<std::string> behind_dashes = {"--", "-h"};
  EXPECT_EQ(ParseArguments(list, behind_dashes), absl::OkStatus());
  EXPECT_FALSE(help);
  EXPECT_EQ(model, "-h");
  for (const char* bad : {"-x", "-hh", "-H", "-h=1"}) {
    const std::vector<std::string> arguments = {bad};
    EXPECT_THAT(ParseArguments(list, arguments).message(), HasSubstr("unknown option")) << bad;
  }
}

}  // namespace
}  // namespace horizon
