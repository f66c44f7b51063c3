// `horizon completion` in the shells it is for, as far as they are installed; bash always is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What bash offers for the last of these words, which are cut as bash does it (also at '='), one on
// each line.
std::string Offered(const std::string& words) {
  const ProcessResult result = RunShell(
      "export horizon; cat >drive.sh <<'END'\n"
      "source <(\"$horizon\" completion bash)\n"
      "COMP_WORDS=(horizon " +
      words +
      ")\n"
      "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
      "COMP_LINE=\"${COMP_WORDS[*]}\" COMP_POINT=${#COMP_LINE}\n"
      "_horizon\n"
      "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
      "END\n"
      "LC_ALL=C bash --norc drive.sh | LC_ALL=C sort");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "") << words;
  return result.out;
}

TEST(BashCompletion, IsRegisteredAndHasGoodSyntax) {
  const ProcessResult result = RunShell(
      "\"$horizon\" completion bash >completion.sh && bash -n completion.sh && "
      "bash --norc -c 'source ./completion.sh; complete -p horizon'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "complete -F _horizon horizon\n");
}

TEST(BashCompletion, OffersCommandsAndWhatMayStandBeforeThem) {
  EXPECT_EQ(Offered("tra"), "train\n");
  EXPECT_THAT(Offered("''"), AllOf(HasSubstr("plan\n"), HasSubstr("completion\n")));
  EXPECT_EQ(Offered("--ver"), "--version\n");
  EXPECT_EQ(Offered("--log-level w"), "warning\n");
  EXPECT_EQ(Offered("--log-level debug pla"), "plan\n");
  EXPECT_EQ(Offered("help max"), "max-model\n");
  EXPECT_EQ(Offered("nonsense --"), "\n");
}

TEST(BashCompletion, OffersTheOptionsOfTheCommand) {
  EXPECT_EQ(Offered("plan --host-m"), "--host-memory\n");
  EXPECT_THAT(Offered("plan --"), AllOf(HasSubstr("--machine\n"), HasSubstr("--help\n"),
                                        Not(HasSubstr("--learning-rate"))));
  EXPECT_THAT(Offered("train --model m --l"),
              AllOf(HasSubstr("--learning-rate\n"), HasSubstr("--link\n")));
  EXPECT_EQ(Offered("plan -h"), "-h\n");
}

TEST(BashCompletion, OffersChoicesMachinesAndModels) {
  EXPECT_EQ(Offered("train --lr-schedule co"), "constant\ncosine\n");
  EXPECT_EQ(Offered("train --lr-schedule = co"), "constant\ncosine\n");
  EXPECT_EQ(Offered("train --lr-schedule ="), Offered("train --lr-schedule ''"));
  EXPECT_EQ(Offered("plan --machine rtx409"), "rtx4090\n");
  EXPECT_THAT(Offered("plan --machine thi"), StartsWith("this\n"));
  EXPECT_EQ(Offered("machines --from gh"), "gh200\n");
  EXPECT_EQ(Offered("plan --json --model qwen2.5-0"), "qwen2.5-0.5b\n");
  EXPECT_EQ(Offered("model smollm2-13"), "smollm2-135m\n");
  EXPECT_EQ(Offered("plan --batch 1"), "\n") << "any number";
  EXPECT_EQ(Offered("plan --explain --mod"), "--model\n") << "a flag takes no word";
}

TEST(BashCompletion, OffersFilesAndFoldersWhereTheyAreTaken) {
  RunShell("mkdir -p 'a folder' && touch 'a file.json'");
  EXPECT_EQ(Offered("simulate --plan a"), "a file.json\na folder\n");
  EXPECT_EQ(Offered("export a"), "a folder\n");
  EXPECT_EQ(Offered("plan --state a"), "\n");
  EXPECT_EQ(Offered("tokenize -- a"), "a file.json\na folder\n");
}

// Whether a shell is installed; where it is not, its script cannot be tried.
bool Has(const std::string& shell) { return RunShell("command -v " + shell).exit_code == 0; }

TEST(ZshCompletion, HasGoodSyntaxAndIsRegistered) {
  ASSERT_TRUE(Has("zsh")) << "install the package of tools/packages.txt";
  const ProcessResult result = RunShell(
      "\"$horizon\" completion zsh >completion.zsh && zsh -n completion.zsh && "
      "zsh -f -c 'autoload -Uz compinit && compinit -u -D && source ./completion.zsh && print "
      "$_comps[horizon]'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "_horizon_start\n");
}

TEST(FishCompletion, OffersTheSame) {
  ASSERT_TRUE(Has("fish")) << "install the package of tools/packages.txt";
  const auto offered = [](const std::string& line) {
    return RunShell(
               "export horizon; HOME=$PWD fish --no-config -c '\"$horizon\" completion fish | "
               "source; complete -C "
               "\"horizon " +
               line + "\"'")
        .out;
  };
  EXPECT_THAT(offered("tra"), StartsWith("train\t"));
  EXPECT_THAT(offered("plan --host-m"), StartsWith("--host-memory"));
  EXPECT_THAT(offered("train --lr-schedule co"), AllOf(HasSubstr("cosine"), HasSubstr("constant")));
  EXPECT_THAT(offered("plan --machine rtx40"), HasSubstr("rtx4090"));
}

TEST(Completion, OfAnotherShellIsMisuse) {
  const ProcessResult result = RunShell("\"$horizon\" completion tcsh");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("bash, zsh and fish"));
}

}  // namespace
}  // namespace horizon
