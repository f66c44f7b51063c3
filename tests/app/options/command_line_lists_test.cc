// Options that may be repeated, an argument that takes all that are left, and rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>
#include <string>
#include <vector>

#include "app/options/command_line.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Targets {
  std::vector<std::string> fields;
  std::vector<std::string> shown = {"step", "lanes"};
  std::vector<std::string> machines;
  std::optional<BytesPerSecond> link;
  std::optional<Bytes> memory;
  bool help = false;
  std::string model;
  std::vector<std::string> names;

  OptionList List() {
    return {.options = {{.name = "set", .value = &fields, .unit = "field=value", .help = "Fix one"},
                        {.name = "show",
                         .value = &shown,
                         .unit = "part",
                         .help = "What to show",
                         .choices = {"step", "lanes", "memory"}},
                        {.name = "machine",
                         .value = &machines,
                         .unit = "name",
                         .help = "Which",
                         .required = true},
                        {.name = "link", .value = &link, .unit = "rate", .help = "How fast"},
                        {.name = "memory",
                         .value = &memory,
                         .unit = "bytes",
                         .help = "How much",
                         .minimum = 1024,
                         .maximum = 4096},
                        {.name = "help", .value = &help, .help = "H", .answers_alone = true}},
            .positionals = {{.name = "MODEL", .value = &model, .help = "The model"},
                            {.name = "NAME", .value = &names, .help = "Any number"}}};
  }
};

absl::Status Parse(Targets& targets, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"m", "--machine", "a"});
  return ParseArguments(targets.List(), arguments);
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  Targets targets;
  const absl::Status status = Parse(targets, arguments);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST(RepeatedOption, KeepsEveryWordInOrder) {
  Targets targets;
  ASSERT_EQ(Parse(targets,
                  {"--set", "a=1", "--set=b=2=3", "--machine", "b", "--set", "a=1", "--set", ""}),
            absl::OkStatus());
  EXPECT_THAT(targets.fields, ElementsAre("a=1", "b=2=3", "a=1", ""));
  EXPECT_THAT(targets.machines, ElementsAre("a", "b"));
  EXPECT_THAT(targets.names, IsEmpty()) << "an option takes one word";
}

TEST(RepeatedOption, KeepsItsDefaultUnlessGiven) {
  Targets none;
  ASSERT_EQ(Parse(none, {}), absl::OkStatus());
  EXPECT_THAT(none.shown, ElementsAre("step", "lanes"));
  EXPECT_THAT(none.fields, IsEmpty());
  Targets one;
  ASSERT_EQ(Parse(one, {"--show", "memory"}), absl::OkStatus());
  EXPECT_THAT(one.shown, ElementsAre("memory"));
}

TEST(RepeatedOption, ChecksEveryWordAgainstTheChoices) {
  EXPECT_EQ(ErrorOf({"--show", "step", "--show", "memroy"}),
            "--show: 'memroy' is none of step, lanes, memory; did you mean 'memory'?");
  EXPECT_THAT(ErrorOf({"--set"}), HasSubstr("--set"));
}

TEST(RepeatedOption, IsMissingOnlyWhenNeverGiven) {
  Targets targets;
  const std::vector<std::string> without = {"m"};
  EXPECT_EQ(ParseArguments(targets.List(), without).message(), "--machine NAME is missing: Which");
  const std::vector<std::string> help = {"--help"};
  EXPECT_EQ(ParseArguments(targets.List(), help), absl::OkStatus());
}

TEST(RepeatedOption, OthersAreStillRefusedTwice) {
  EXPECT_EQ(ErrorOf({"--link", "1GB/s", "--link", "1GB/s"}), "--link is given more than once");
  EXPECT_EQ(ErrorOf({"--help", "--help"}), "--help is given more than once");
}

TEST(RestArgument, TakesAllThatAreLeftOrNone) {
  Targets none;
  ASSERT_EQ(Parse(none, {}), absl::OkStatus());
  EXPECT_EQ(none.model, "m");
  EXPECT_THAT(none.names, IsEmpty());
  Targets some;
  ASSERT_EQ(Parse(some, {"x", "--link", "1GB/s", "", "y", "--", "--set", "-z"}), absl::OkStatus());
  EXPECT_EQ(some.model, "m");
  EXPECT_THAT(some.names, ElementsAre("x", "", "y", "--set", "-z"));
  EXPECT_THAT(some.fields, IsEmpty());
}

TEST(RestArgument, DoesNotStandInForTheOnesBefore) {
  Targets targets;
  const std::vector<std::string> arguments = {"--machine", "a"};
  EXPECT_EQ(ParseArguments(targets.List(), arguments).message(), "MODEL is missing: The model");
  EXPECT_THAT(ErrorOf({"x", "-y"}), HasSubstr("unknown option '-y'"));
}

TEST(RestArgument, MustBeTheLast) {
  std::vector<std::string> names;
  std::string model;
  const OptionList list = {.positionals = {{.name = "NAME", .value = &names, .help = "N"},
                                           {.name = "MODEL", .value = &model, .help = "M"}}};
  const std::vector<std::string> arguments = {"a", "b"};
  EXPECT_DEATH((void)ParseArguments(list, arguments), "wanted.size");
}

TEST(Rate, IsReadWithItsUnit) {
  for (const char* text : {"26GB/s", "26 GB/s", "26000MB/s", " 26 GB/s "}) {
    Targets targets;
    ASSERT_EQ(Parse(targets, {"--link", text}), absl::OkStatus()) << text;
    ASSERT_TRUE(targets.link.has_value());
    EXPECT_DOUBLE_EQ(targets.link->value, 26e9) << text;
  }
  Targets none;
  ASSERT_EQ(Parse(none, {}), absl::OkStatus());
  EXPECT_FALSE(none.link.has_value());
}

TEST(Rate, OthersAreRefusedWithWhatWouldBeRight) {
  for (const char* bad : {"", "26", "26GB", "0GB/s", "-1GB/s", "fast", "1e9B/s", "26GB/h", "nan"}) {
    EXPECT_THAT(ErrorOf({"--link", bad}),
                AllOf(HasSubstr("--link: "), HasSubstr(bad), HasSubstr("as in 26GB/s")))
        << bad;
  }
}

TEST(Size, KeepsToItsBounds) {
  for (const char* good : {"1KiB", "4096B"}) {
    Targets targets;
    EXPECT_EQ(Parse(targets, {"--memory", good}), absl::OkStatus());
  }
  EXPECT_EQ(ErrorOf({"--memory", "1023B"}),
            "--memory: '1023B' is not a size from 1024 to 4096 bytes");
  EXPECT_EQ(ErrorOf({"--memory", "0B"}), "--memory: '0B' is not a size from 1024 to 4096 bytes");
  EXPECT_EQ(ErrorOf({"--memory", "4097B"}),
            "--memory: '4097B' is not a size from 1024 to 4096 bytes");
}

TEST(ParseArguments, ListsNeverLoseAWord) {
  ASSERT_TRUE(rc::check("every word arrives", [] {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("a", "b=c", "", "x y", "="));
    const auto rest = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("a", "--set", "", "-", "--"));
    std::vector<std::string> arguments;
    for (const std::string& word : words) arguments.insert(arguments.end(), {"--set", word});
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    Targets targets;
    RC_ASSERT(Parse(targets, arguments).ok());
    RC_ASSERT(targets.fields == words);
    RC_ASSERT(targets.names == rest);
  }));
}

}  // namespace
}  // namespace horizon
