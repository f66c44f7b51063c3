#include "app/options/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/program.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One option of every kind.
struct Settings {
  std::string model;
  int64_t steps = 100;
  double rate = 1e-3;
  std::string state = "fp32";
  std::string shuffle = "true";
  Bytes memory = 1_GiB;
  std::optional<int64_t> warmup;
  std::optional<std::string> data;
  std::optional<Bytes> limit;
  std::optional<BytesPerSecond> link;
  std::vector<std::string> tags = {"none"};
  bool decay_all = false;
  std::optional<std::string> config;
};

// Keeps what it was given; says nothing.
class TrainCommand : public Command {
 public:
  explicit TrainCommand(Settings& out) : out_(out) {}
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "Train"; }
  OptionList Options() override {
    return {
        .options = {
            {.name = "model", .value = &s_.model, .unit = "folder", .help = "M", .required = true},
            {.name = "steps", .value = &s_.steps, .unit = "steps", .help = "S", .minimum = 1},
            {.name = "learning-rate",
             .value = &s_.rate,
             .unit = "per step",
             .help = "R",
             .minimum = 0,
             .maximum = 1},
            {.name = "state",
             .value = &s_.state,
             .unit = "format",
             .help = "F",
             .choices = {"fp32", "bf16-moments"}},
            {.name = "shuffle",
             .value = &s_.shuffle,
             .unit = "choice",
             .help = "C",
             .choices = {"true", "false"}},
            {.name = "device-memory",
             .value = &s_.memory,
             .unit = "bytes",
             .help = "B",
             .maximum = int64_t{1} << 40},
            {.name = "warmup", .value = &s_.warmup, .unit = "steps", .help = "W"},
            {.name = "data", .value = &s_.data, .unit = "file", .help = "D", .required = true},
            {.name = "limit", .value = &s_.limit, .unit = "bytes", .help = "L"},
            {.name = "link", .value = &s_.link, .unit = "rate", .help = "K"},
            {.name = "tag", .value = &s_.tags, .unit = "word", .help = "T"},
            {.name = "decay-all", .value = &s_.decay_all, .help = "A"},
            {.name = "config", .value = &s_.config, .unit = "file", .help = "Options from a file"},
        }};
  }
  absl::Status Run(const CommandContext& context) override {
    context.log.Debug("ran");
    out_ = s_;
    return absl::OkStatus();
  }

 private:
  Settings s_;
  Settings& out_;
};

// Declares no --config.
class PlainCommand : public Command {
 public:
  std::string_view name() const override { return "plain"; }
  std::string_view summary() const override { return "Plain"; }
  OptionList Options() override { return {}; }
  absl::Status Run(const CommandContext&) override { return absl::OkStatus(); }
};

class NoOutput : public Output {
 public:
  absl::Status Write(std::string_view) override { return absl::OkStatus(); }
};

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() : io_(MakePosixIo()), folder_(MakeTestFolder(*io_)) {}

  std::string Path(const std::string& name = "job.yaml") const { return JoinPath(folder_, name); }

  // Runs the program; `log_` has what it said, without the folder.
  int Run(const std::vector<std::string>& arguments) {
    CommandList commands;
    settings_ = Settings();
    commands.push_back(std::make_unique<TrainCommand>(settings_));
    commands.push_back(std::make_unique<PlainCommand>());
    std::FILE* errors = std::tmpfile();
    EXPECT_NE(errors, nullptr);
    VirtualClock clock;
    NoOutput output;
    const ExitCode code = RunProgram(arguments, commands,
                                     ProgramWorld{.io = *io_,
                                                  .clock = clock,
                                                  .output = output,
                                                  .errors = errors,
                                                  .log_style = LogStyle::kPlain});
    std::rewind(errors);
    log_.clear();
    char piece[4096];
    while (const size_t count = std::fread(piece, 1, sizeof(piece), errors)) {
      log_.append(piece, count);
    }
    std::fclose(errors);
    for (size_t at = 0; (at = log_.find(folder_ + "/")) != std::string::npos;) {
      log_.erase(at, folder_.size() + 1);
    }
    return static_cast<int>(code);
  }

  // `horizon train --config job.yaml MORE...` with that text in the file.
  int Train(const std::string& text, const std::vector<std::string>& more = {}) {
    WriteBytes(*io_, Path(), text);
    std::vector<std::string> arguments = {"train", "--config", Path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  std::unique_ptr<Io> io_;
  std::string folder_;
  Settings settings_;
  std::string log_;
};

constexpr char kAll[] = R"(# every kind
model: ./tiny
steps: 7
learning-rate: 3.0000000000000001e-5
state: bf16-moments
shuffle: false
device-memory: 1.5 GiB
warmup: 3
data: "tokens.jsonl"
limit: 4096 B
link: 26GB/s
tag: [a, "2"]
decay-all: true
)";

void ExpectAll(const Settings& settings) {
  EXPECT_EQ(settings.model, "./tiny");
  EXPECT_EQ(settings.steps, 7);
  EXPECT_EQ(settings.rate, 3e-5);
  EXPECT_EQ(settings.state, "bf16-moments");
  EXPECT_EQ(settings.shuffle, "false");
  EXPECT_EQ(settings.memory, 1536_MiB);
  EXPECT_EQ(settings.warmup, 3);
  EXPECT_EQ(settings.data, "tokens.jsonl");
  EXPECT_EQ(settings.limit, 4096_B);
  EXPECT_EQ(settings.link, BytesPerSecond{26e9});
  EXPECT_THAT(settings.tags, ElementsAre("a", "2"));
  EXPECT_TRUE(settings.decay_all);
}

TEST_F(ConfigFile, SetsOptionsOfEveryKindAndSatisfiesRequiredOnes) {
  ASSERT_EQ(Train(kAll), 0) << log_;
  ExpectAll(settings_);
  EXPECT_EQ(settings_.config, Path());
}

TEST_F(ConfigFile, IsFoundInBothSpellingsAndAnyPlace) {
  WriteBytes(*io_, Path(), kAll);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"train", StrCat("--config=", Path())},
           {"--log-level", "error", "train", "--log-level", "error", "--config", Path()}}) {
    ASSERT_EQ(Run(arguments), 0) << log_;
    ExpectAll(settings_);
  }
}

TEST_F(ConfigFile, MayBeJsonUnderItsNameOrAsYaml) {
  const std::string json = R"({
	"model": "./tiny", "steps": 7, "learning-rate": 3e-5, "state": "bf16-moments",
  "shuffle": false, "device-memory": "1.5 GiB", "warmup": 3, "data": "tokens.jsonl",
  "limit": "4096 B", "link": "26GB/s", "tag": ["a", "2"], "decay-all": true})";
  WriteBytes(*io_, Path("job.json"), json);
  ASSERT_EQ(Run({"train", "--config", Path("job.json")}), 0) << log_;
  ExpectAll(settings_);
  std::string without_tab = json;
  without_tab.erase(without_tab.find('\t'), 1);
  ASSERT_EQ(Train(without_tab), 0) << log_;
  ExpectAll(settings_);
  WriteBytes(*io_, Path("job.json"), "model: ./tiny\n");
  EXPECT_EQ(Run({"train", "--config", Path("job.json")}), 2);
}

TEST_F(ConfigFile, AFlagWinsWhereverItStands) {
  ASSERT_EQ(Train(kAll, {"--steps",
                         "9",
                         "--learning-rate=0.5",
                         "--state",
                         "fp32",
                         "--shuffle",
                         "true",
                         "--device-memory",
                         "2 MiB",
                         "--warmup",
                         "1",
                         "--data",
                         "d",
                         "--limit",
                         "5B",
                         "--link",
                         "1GB/s",
                         "--tag",
                         "z",
                         "--model",
                         "m"}),
            0)
      << log_;
  EXPECT_EQ(settings_.model, "m");
  EXPECT_EQ(settings_.steps, 9);
  EXPECT_EQ(settings_.rate, 0.5);
  EXPECT_EQ(settings_.state, "fp32");
  EXPECT_EQ(settings_.shuffle, "true");
  EXPECT_EQ(settings_.memory, 2_MiB);
  EXPECT_EQ(settings_.warmup, 1);
  EXPECT_EQ(settings_.data, "d");
  EXPECT_EQ(settings_.limit, 5_B);
  EXPECT_EQ(settings_.link, BytesPerSecond{1e9});
  EXPECT_THAT(settings_.tags, ElementsAre("z"));
  EXPECT_TRUE(settings_.decay_all);
  WriteBytes(*io_, Path(), kAll);
  ASSERT_EQ(Run({"train", "--steps", "9", "--config", Path()}), 0) << log_;
  EXPECT_EQ(settings_.steps, 9);
}

TEST_F(ConfigFile, WhatItDoesNotNameKeepsItsDefaultOrIsStillRequired) {
  ASSERT_EQ(Train("model: m\ndata: d\n"), 0) << log_;
  EXPECT_EQ(settings_.steps, 100);
  EXPECT_EQ(settings_.rate, 1e-3);
  EXPECT_EQ(settings_.warmup, std::nullopt);
  EXPECT_THAT(settings_.tags, ElementsAre("none"));
  EXPECT_FALSE(settings_.decay_all);
  EXPECT_EQ(Train("model: m\n"), 2);
  EXPECT_EQ(log_, "error: --data FILE is missing: D; see 'horizon help train'\n");
  EXPECT_EQ(Train("model: m\n", {"--data", "d"}), 0) << log_;
}

TEST_F(ConfigFile, AFlagOfFalseStaysOffAndTheCommandLineTurnsItOn) {
  const std::string text = "model: m\ndata: d\ndecay-all: false\n";
  ASSERT_EQ(Train(text), 0) << log_;
  EXPECT_FALSE(settings_.decay_all);
  ASSERT_EQ(Train(text, {"--decay-all"}), 0) << log_;
  EXPECT_TRUE(settings_.decay_all);
}

TEST_F(ConfigFile, AListReplacesTheDefaultAndMayBeOneWordOrEmpty) {
  ASSERT_EQ(Train("model: m\ndata: d\ntag: one\n"), 0) << log_;
  EXPECT_THAT(settings_.tags, ElementsAre("one"));
  ASSERT_EQ(Train("model: m\ndata: d\ntag: []\n"), 0) << log_;
  EXPECT_THAT(settings_.tags, IsEmpty());
}

TEST_F(ConfigFile, NumbersKeepEveryBit) {
  ASSERT_EQ(Train("model: m\ndata: d\nlearning-rate: 0.1234567890123456789\n"), 0) << log_;
  EXPECT_EQ(settings_.rate, 0.1234567890123456789);
  ASSERT_EQ(Train("model: m\ndata: d\nlearning-rate: 1\nsteps: 9223372036854775807\n"), 0) << log_;
  EXPECT_EQ(settings_.rate, 1.0);
  EXPECT_EQ(settings_.steps, 9223372036854775807);
}

TEST_F(ConfigFile, AWordInQuotesMayBeANumberToo) {
  ASSERT_EQ(Train("model: '7'\ndata: 'true'\nsteps: '12'\n"), 0) << log_;
  EXPECT_EQ(settings_.model, "7");
  EXPECT_EQ(settings_.data, "true");
  EXPECT_EQ(settings_.steps, 12);
}

TEST_F(ConfigFile, KeysAndWordsMayHaveUnderscoresOrDashes) {
  ASSERT_EQ(Train("model: m\ndata: d\nlearning_rate: 0.5\nstate: bf16_moments\ndecay_all: true\n"),
            0)
      << log_;
  EXPECT_EQ(settings_.rate, 0.5);
  EXPECT_EQ(settings_.state, "bf16-moments");
  EXPECT_TRUE(settings_.decay_all);
  EXPECT_EQ(Train("model: m\ndata: d\nlearning_rate: 0.5\nlearning-rate: 0.25\n"), 2);
  EXPECT_THAT(log_, HasSubstr("\"learning_rate\" is given twice"));
  EXPECT_EQ(Train("model: m\ndata: d\nlearning_rates: 0.5\n"), 2);
  EXPECT_THAT(log_, HasSubstr("did you mean 'learning-rate'?"));
}

TEST_F(ConfigFile, ABadValueIsRefusedAsAFlagWouldBeWithFileAndLine) {
  struct Case {
    std::string line;
    std::string reason;
  };
  for (const auto& [line, reason] : std::vector<Case>{
           {"steps: many", "steps: 'many' is not a whole number of steps of at least 1"},
           {"steps: 0", "steps: '0' is not a whole number of steps of at least 1"},
           {"steps: 2.0", "steps: '2.0' is not a whole number of steps of at least 1"},
           {"steps: 2e3", "steps: '2000.0' is not a whole number of steps of at least 1"},
           {"steps: true", "steps: 'true' is not a whole number of steps of at least 1"},
           {"steps: 1e300", "steps: '1e+300' is not a whole number of steps of at least 1"},
           {"steps: [3]", "steps: takes one value, not a list"},
           {"steps: null", "steps: has no value"},
           {"steps: {most: 3}",
            "steps: nested keys are not accepted; every key is the name of a flag"},
           {"learning-rate: 1.5", "learning-rate: '1.5' is not a number from 0 to 1"},
           {"learning-rate: fast", "learning-rate: 'fast' is not a number from 0 to 1"},
           {"state: fp23", "state: 'fp23' is none of fp32, bf16-moments; did you mean 'fp32'?"},
           {"state: 1.5", "state: must be a string, not a number; put it in quotes"},
           {"shuffle: 3", "shuffle: '3' is none of true, false"},
           {"data: 1.10", "data: must be a string, not a number; put it in quotes"},
           {"data: 2024", "data: must be a string, not an integer; put it in quotes"},
           {"data: true", "data: must be a string, not true or false; put it in quotes"},
           {"device-memory: 2 TiB",
            "device-memory: '2 TiB' is not a size of at most 1099511627776 "
            "bytes"},
           {"limit: 64",
            "limit: \"64\" is a number without a unit; write 64GiB, 64MiB or 64B (bytes)"},
           {"decay-all: 1", "decay-all: must be true or false"},
           {"decay-all: 'true'", "decay-all: must be true or false"},
           {"decay-all: ~", "decay-all: must be true or false"},
           {"tag: [a, [b]]", "tag[1]: takes one value, not a list"},
           {"tag: [a, 3]", "tag[1]: must be a string, not an integer; put it in quotes"}}) {
    EXPECT_EQ(Train(StrCat("model: m\n\n", line, "\ndata2: d\n")), 2) << line;
    const std::string hint = reason.ends_with('?') ? "" : "; see 'horizon help train'";
    EXPECT_EQ(log_, StrCat("error: job.yaml:3: ", reason, hint, "\n"));
  }
  EXPECT_EQ(Train("steps:\n"), 2);
  EXPECT_THAT(log_, HasSubstr("steps: has no value"));
  EXPECT_EQ(Train("limit: 3 bananas\n"), 2);
  EXPECT_THAT(log_, HasSubstr("error: job.yaml:1: limit: "));
  EXPECT_THAT(log_, HasSubstr("bananas"));
  EXPECT_EQ(Train("link: 26\n"), 2);
  EXPECT_THAT(log_, HasSubstr("error: job.yaml:1: link: "));
  EXPECT_THAT(log_, HasSubstr(", as in 26GB/s"));
}

TEST_F(ConfigFile, AnUnknownKeyIsRefusedWithTheNearestName) {
  EXPECT_EQ(Train("model: m\ndata: d\nlearn-rate: 1\n"), 2);
  EXPECT_EQ(log_, "error: job.yaml:3: unknown key \"learn-rate\"; did you mean 'learning-rate'?\n");
  EXPECT_EQ(Train("model: m\ndata: d\nzzzz: 1\n"), 2);
  EXPECT_EQ(log_, "error: job.yaml:3: unknown key \"zzzz\"; see 'horizon help train'\n");
}

TEST_F(ConfigFile, NamesNeitherAnotherFileNorWhatIsNoOptionOfTheCommand) {
  for (const std::string key : {"config", "help", "log-level", "version", "--steps"}) {
    EXPECT_EQ(Train(StrCat("model: m\ndata: d\n", key, ": x\n")), 2);
    EXPECT_THAT(log_, HasSubstr(StrCat("job.yaml:3: unknown key \"", key, "\"")));
  }
}

TEST_F(ConfigFile, AFileThatIsNoListOfKeysIsRefused) {
  for (const std::string text : {"", "# nothing\n", "- model\n", "model\n", "a: b: c\n",
                                 "model: m\nmodel: n\n", "model: &x m\n"}) {
    EXPECT_EQ(Train(text), 2) << text;
    EXPECT_THAT(log_, HasSubstr("error: job.yaml:")) << text;
  }
}

TEST_F(ConfigFile, AMissingFileIsMisuseAndAnUnreadableOneAnInputOutputError) {
  EXPECT_EQ(Run({"train", "--config", Path("none.yaml")}), 2);
  EXPECT_THAT(log_, HasSubstr("none.yaml"));
  // A name longer than any file system takes.
  EXPECT_EQ(Run({"train", "--config", Path(std::string(5000, 'x'))}), 6);
}

TEST_F(ConfigFile, MisuseOfTheCommandLineComesFirst) {
  EXPECT_EQ(Train("steps: many\n", {"--setps", "3"}), 2);
  EXPECT_EQ(log_, "error: unknown option '--setps'; did you mean '--steps'?\n");
  EXPECT_EQ(Run({"train", "--config"}), 2);
  EXPECT_THAT(log_, HasSubstr("--config"));
  EXPECT_EQ(Train(kAll, {"--config", "other.yaml"}), 2);
  EXPECT_THAT(log_, HasSubstr("is given more than once"));
}

TEST_F(ConfigFile, HelpNeedsNoGoodFile) {
  EXPECT_EQ(Train("steps: many\n", {"--help"}), 0) << log_;
  EXPECT_EQ(Run({"train", "--help", "--config", Path("none.yaml")}), 0) << log_;
}

TEST_F(ConfigFile, BehindTheDoubleDashNothingIsAnOption) {
  WriteBytes(*io_, Path(), kAll);
  EXPECT_EQ(Run({"train", "--", "--config", Path()}), 2);
  EXPECT_THAT(log_, HasSubstr("--model FOLDER is missing"));
}

TEST_F(ConfigFile, IsUnknownToACommandThatDoesNotDeclareIt) {
  WriteBytes(*io_, Path(), "steps: 3\n");
  EXPECT_EQ(Run({"plain", "--config", Path()}), 2);
  EXPECT_THAT(log_, HasSubstr("unknown option '--config'"));
  EXPECT_EQ(Run({"plain"}), 0);
}

TEST_F(ConfigFile, ALevelBeforeTheCommandIsUntouched) {
  WriteBytes(*io_, Path(), kAll);
  ASSERT_EQ(Run({"--log-level", "debug", "train", "--config", Path()}), 0);
  EXPECT_THAT(log_, EndsWith("debug: ran\n"));
}

TEST(ConfigFileText, ReadsBackToTheSameValues) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = JoinPath(MakeTestFolder(*io), "train.yaml");
  bool help = true;
  bool flag = true;
  double rate = 0.1;
  std::string text = "a: \"b\" # \\ \n\t\x01 caf\xC3\xA9 \xC2\x85 \xEF\xBB\xBF";
  std::optional<std::string> given = "";
  std::optional<std::string> missing;
  std::optional<Bytes> size = 7_B;
  std::optional<BytesPerSecond> speed = BytesPerSecond{2.6e10 / 3};
  std::optional<BytesPerSecond> slow = BytesPerSecond{1e-7};
  std::vector<std::string> words = {"1.10", "null", "~", "yes", ""};
  std::vector<Option> options = {{.name = "help", .value = &help, .answers_alone = true},
                                 {.name = "flag", .value = &flag},
                                 {.name = "rate", .value = &rate},
                                 {.name = "text", .value = &text},
                                 {.name = "given", .value = &given},
                                 {.name = "missing", .value = &missing},
                                 {.name = "size", .value = &size},
                                 {.name = "speed", .value = &speed},
                                 {.name = "slow", .value = &slow},
                                 {.name = "words", .value = &words}};
  WriteBytes(*io, path, ConfigFileText(options));
  const std::string old_text = std::exchange(text, "");
  const std::vector<std::string> old_words = std::exchange(words, {});
  help = false;
  flag = false;
  rate = 0;
  given.reset();
  size.reset();
  speed.reset();
  slow.reset();
  const absl::Status status = ReadConfigFile(*io, path, options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(help);
  EXPECT_TRUE(flag);
  EXPECT_EQ(rate, 0.1);
  EXPECT_EQ(text, old_text);
  EXPECT_EQ(given, "");
  EXPECT_EQ(missing, std::nullopt);
  EXPECT_EQ(size, 7_B);
  ASSERT_TRUE(speed.has_value() && slow.has_value());
  EXPECT_EQ(speed->value, 2.6e10 / 3);
  EXPECT_EQ(slow->value, 1e-7);
  EXPECT_EQ(words, old_words);
}

}  // namespace
}  // namespace horizon
