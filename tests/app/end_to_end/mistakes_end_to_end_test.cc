// What people meet on their first day: tiny models, starts that fail, runs that were moved, names
// with odd characters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kTrain[] = "\"$horizon\" train --machine cpu-desktop --threads 1 ";
constexpr char kShort[] = "--data batches.jsonl --shuffle false --sequence 40 ";

std::string Config(int hidden, int layers, int heads, int vocab, const std::string& tied) {
  return StrCat(R"({"model_type": "llama", "hidden_size": )", hidden, R"(, "intermediate_size": )",
                hidden, R"(, "num_hidden_layers": )", layers, R"(, "num_attention_heads": )", heads,
                R"(, "num_key_value_heads": )", heads, R"(, "vocab_size": )", vocab,
                R"(, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, )",
                R"("hidden_act": "silu", "tie_word_embeddings": )", tied, "}");
}

// The usual smoke test: a layer is smaller than 512 rows of the embedding.
TEST(TinyModels, PlanTrainAndGoOn) {
  struct Size {
    int hidden, layers, heads, vocab;
    const char* tied;
  };
  WriteFile("text.txt", std::string(2000, 'a') + std::string(2000, 'b'));
  for (const Size& size : {Size{8, 1, 1, 32000, "false"}, Size{16, 2, 2, 50257, "true"},
                           Size{2, 1, 1, 259, "false"}, Size{8, 3, 2, 259, "true"}}) {
    const std::string what = StrCat("hidden ", size.hidden, ", vocabulary ", size.vocab);
    RunShell("rm -rf tiny small");
    WriteFile("tiny/config.json",
              Config(size.hidden, size.layers, size.heads, size.vocab, size.tied));
    const ProcessResult planned =
        RunShell("\"$horizon\" plan --model tiny/config.json --machine cpu-desktop --sequence 16");
    EXPECT_EQ(planned.exit_code, 0) << what << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("predicted: ")) << what;
    const std::string train = StrCat(kTrain, "--model tiny --init random --tokenizer byte --data ",
                                     "text.txt --sequence 16 --output small ");
    const ProcessResult trained = RunShell(train + "--steps 2");
    EXPECT_EQ(trained.exit_code, 0) << what << trained.err;
    EXPECT_THAT(trained.out, HasSubstr("trained 2 steps")) << what;
    const ProcessResult further = RunShell(train + "--steps 4 --resume auto");
    EXPECT_EQ(further.exit_code, 0) << what << further.err;
    EXPECT_EQ(RunShell("wc -l <small/metrics.jsonl").out, "4\n") << what;
  }
}

class AStart : public testing::Test {
 protected:
  void SetUp() override {
    PrepareGolden("llama");
    RunShell("rm -rf moved elsewhere broken fresh tiny");
  }
};

TEST_F(AStart, ThatFailsLeavesNothingInTheWayOfTheNext) {
  RunShell("cp -r model broken && truncate -s -1000 broken/model.safetensors");
  const std::string fails = StrCat(kTrain, kShort, "--steps 2 --output run --model broken");
  const std::string works = StrCat(kTrain, kShort, "--steps 2 --output run --model model");
  EXPECT_EQ(RunShell(fails).exit_code, 4);
  EXPECT_EQ(RunShell("ls -d run").exit_code, 2) << "the folder is still there";
  // A folder that was there stays, as it was.
  EXPECT_EQ(RunShell("mkdir run; " + fails).exit_code, 4);
  EXPECT_EQ(RunShell("ls -A run").out, "");
  const ProcessResult retried = RunShell(works);
  EXPECT_EQ(retried.exit_code, 0) << retried.err;
  // Where there is a run, nothing is taken for a failed start.
  const ProcessResult again = RunShell(works);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  EXPECT_EQ(RunShell(fails + " --resume auto").exit_code, 0);  // complete: nothing is read
  EXPECT_EQ(RunShell("wc -l <run/metrics.jsonl").out, "2\n");
}

TEST_F(AStart, ThatWasKilledIsBegunAnew) {
  // What it has written by then, of another model: none of it may stay.
  ASSERT_EQ(RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model")).exit_code, 0);
  RunShell(
      "rm -r run/checkpoints run/model run/run.json run/timeline.json run/eval.jsonl; "
      ": >run/metrics.jsonl; echo {} >run/base/config.json; touch run/plan.json.tmp-1-0 "
      "run/.disk-probe");
  const ProcessResult begun =
      RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model"));
  EXPECT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_EQ(RunShell("cmp run/base/config.json model/config.json").exit_code, 0);
}

TEST_F(AStart, DoesNotTakeFilesOfOthersForItsOwn) {
  RunShell("mkdir -p run/base && echo mine >run/base/notes");
  const ProcessResult refused =
      RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(RunShell("cat run/base/notes").out, "mine\n");
  // With a job of ours beside it, but something else too.
  ASSERT_EQ(RunShell(StrCat(kTrain, kShort, "--steps 2 --output fresh --model model")).exit_code,
            0);
  RunShell("cp fresh/job.json run/ && echo mine >run/notes");
  EXPECT_EQ(RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model")).exit_code, 2);
  EXPECT_EQ(RunShell("cat run/base/notes run/notes").out, "mine\nmine\n");
}

TEST_F(AStart, OfADemoThatFailsDoesNotBlockTheNext) {
  // It writes what it trains on, and is killed before its first step.
  const std::string killed = R"(
coproc demo { exec "$horizon" demo --output demo --steps 1 2>&1; }
process=$demo_PID
while read -r -t 60 line <&${demo[0]}; do
  echo "$line"
  [[ $line == *'data: 10 samples'* ]] && kill -KILL "$process"
done
wait "$process"; echo "ended with $?")";
  RunShell("rm -rf demo");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(RunShell(killed).out,
                AllOf(HasSubstr("info: data: 10 samples"), HasSubstr("ended with 137")));
  }
  RunShell("echo more >demo/notes");
  EXPECT_THAT(RunShell(killed).out, HasSubstr("is there already"));
  RunShell("rm -rf demo; mkdir demo; echo mine >demo/config.json");
  EXPECT_EQ(RunShell("\"$horizon\" demo --output demo --steps 1").exit_code, 2);
  EXPECT_EQ(RunShell("cat demo/config.json").out, "mine\n");
}

TEST_F(AStart, FromAnotherFolderOrOfAMovedRunGoesOn) {
  const ProcessResult begun =
      RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model"));
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_EQ(RunShell("grep -E '^(model|data|output):' run/train.yaml | grep -vcE ': \\[?\"/'").out,
            "0\n");
  EXPECT_THAT(RunShell("cat run/train.yaml").out, HasSubstr("machine: \"cpu-desktop\"\n"));
  const ProcessResult away = RunShell(
      "run=$PWD/run; mkdir -p elsewhere; cd elsewhere; "
      "\"$horizon\" train --config \"$run/train.yaml\" --resume auto --steps 4");
  EXPECT_EQ(away.exit_code, 0) << away.err;
  EXPECT_EQ(RunShell("wc -l <run/metrics.jsonl").out, "4\n");
  const ProcessResult moved = RunShell(
      "mv run moved; \"$horizon\" train --config moved/train.yaml --resume auto --steps 6");
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_EQ(RunShell("wc -l <moved/metrics.jsonl").out, "6\n");
  EXPECT_EQ(RunShell("ls -d run").exit_code, 2) << "the old place was used";
  // Who says --output means it.
  const ProcessResult other = RunShell(
      "\"$horizon\" train --config moved/train.yaml --resume moved --output run --steps 8");
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(RunShell("wc -l <moved/metrics.jsonl").out, "6\n");
}

// --lr-schedule was called --schedule once, on the command line and in train.yaml.
TEST_F(AStart, WithAnOldTrainYamlGoesOn) {
  const ProcessResult begun =
      RunShell(StrCat(kTrain, kShort, "--steps 4 --save-every 2 --lr-schedule cosine ",
                      "--learning-rate 0.01 --output run --model model"));
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  // As it was after two steps, with the file that an earlier version wrote. With another schedule
  // than the saved one the run would be refused.
  const ProcessResult resumed = RunShell(
      "set -e; cut -d, -f1-3 run/metrics.jsonl >whole; "
      "rm -r run/model run/checkpoints/step-00000004; "
      "grep -c '^lr-schedule: \"cosine\"$' run/train.yaml; "
      "sed -i 's/^lr-schedule:/schedule:/' run/train.yaml; "
      "\"$horizon\" train --config run/train.yaml --resume auto >answer; "
      "cut -d, -f1-3 run/metrics.jsonl | cmp whole -");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "1\n");
  // The run that went on has written the file anew.
  EXPECT_EQ(RunShell("grep -c '^lr-schedule:' run/train.yaml").out, "1\n");
  EXPECT_EQ(RunShell("grep -c '^schedule:' run/train.yaml").out, "0\n");
}

TEST_F(AStart, OfACompleteRunSaysThatItsCheckpointIsDamaged) {
  const std::string train = StrCat(kTrain, kShort, "--output run --model model --save-every 1 ");
  ASSERT_EQ(RunShell(train + "--steps 2").exit_code, 0);
  const ProcessResult whole = RunShell(train + "--steps 2 --resume auto");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("is complete"));
  RunShell(
      "printf x | dd of=run/checkpoints/step-00000002/moments.safetensors bs=1 "
      "seek=$(($(stat -c %s run/checkpoints/step-00000002/moments.safetensors) - 2)) "
      "conv=notrunc");
  const ProcessResult damaged = RunShell(train + "--steps 2 --resume auto");
  EXPECT_EQ(damaged.exit_code, 4);
  EXPECT_EQ(damaged.out, "");
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("step-00000002' is damaged"), HasSubstr("CRC-32C"),
                                 HasSubstr("the one before, step 1, opens: --resume "),
                                 HasSubstr("the model it exported is in run/model")));
  // The advice works.
  const ProcessResult again = RunShell(StrCat(
      train,
      "--steps 2 --resume run/checkpoints/step-00000001 && \"$horizon\" checkpoint verify run"));
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST(Names, WithControlCharactersAreShownEscapedEverywhere) {
  const std::string names = "red=$(printf 'a\\033[31mb'); csi=$(printf 'c\\302\\233d'); ";
  WriteFile("odd.yaml", "optimizer-place: \"x\\e[31my\"\n");
  WriteFile("key.yaml", "\"x\\e[31my\": 1\n");
  for (const char* command :
       {"\"$horizon\" \"$red\"", "\"$horizon\" model \"$red\"", "\"$horizon\" train --\"$red\" 1",
        "\"$horizon\" checkpoint verify \"$red\"", "\"$horizon\" plan --model \"$csi\"",
        "mkdir -p \"$red\"; \"$horizon\" checkpoint show \"$red\"",
        "mkdir -p \"$red\"; \"$horizon\" top \"$red\"", "\"$horizon\" weights \"$red\"",
        "\"$horizon\" data check \"$red\"", "\"$horizon\" train --state \"$red\"",
        "\"$horizon\" train --config odd.yaml", "\"$horizon\" train --config key.yaml"}) {
    const ProcessResult result = RunShell(names + command);
    EXPECT_NE(result.exit_code, 0) << command;
    EXPECT_THAT(result.err, StartsWith("error: ")) << command;
    for (const char* control : {"\x1b", "\xc2\x9b"}) {
      EXPECT_THAT(result.out + result.err, Not(HasSubstr(control))) << command;
    }
  }
  EXPECT_THAT(RunShell(names + "\"$horizon\" \"$red\"").err, HasSubstr("a\\x1b[31mb"));
}

// Answers that are written where a person reads them.
TEST_F(AStart, ShowsNamesEscapedInItsAnswerToo) {
  const std::string odd = "odd=$(printf 'r\\033[31mx'); ";
  RunShell(odd + "rm -rf \"$odd\"");
  const ProcessResult trained =
      RunShell(StrCat(odd, kTrain, kShort, "--steps 2 --model model --output \"$odd\""));
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, AllOf(HasSubstr("r\\x1b[31mx/model"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(trained.err, Not(HasSubstr("\x1b")));
  const ProcessResult verified = RunShell(odd + "\"$horizon\" checkpoint verify \"$odd\"");
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, Not(HasSubstr("\x1b")));
  const ProcessResult shown = RunShell(odd + "\"$horizon\" top --once \"$odd\"");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, Not(HasSubstr("\x1b")));
}

// A run folder may come from somebody else, and who looks at it may be allowed to read more.
TEST_F(AStart, LinksInARunFolderAreNotFollowedByThoseWhoShowIt) {
  ASSERT_EQ(RunShell(StrCat(kTrain, kShort, "--steps 2 --output run --model model")).exit_code, 0);
  RunShell("rm -rf secret && mkdir secret");
  for (const char* name :
       {"run.json", "metrics.jsonl", "job.json", "timelines.json", "base/config.json", "base"}) {
    const std::string link = StrCat("mv run/", name, " secret/x && ln -s $PWD/secret/x run/", name);
    ASSERT_EQ(RunShell(link).exit_code, 0) << name;
    for (const char* command : {"top --once run", "top --json run", "report run --output o.html"}) {
      const ProcessResult result = RunShell(StrCat("\"$horizon\" ", command));
      EXPECT_EQ(result.exit_code, 4) << name << " " << command;
      EXPECT_EQ(result.out, "") << name << " " << command;
      EXPECT_THAT(result.err, HasSubstr(StrCat("run/", name, " is a symbolic link"))) << command;
    }
    ASSERT_EQ(RunShell(StrCat("rm run/", name, " && mv secret/x run/", name)).exit_code, 0);
  }
  // The folder may be reached through one: whoever names it has chosen that.
  EXPECT_EQ(RunShell("ln -sfn run link; \"$horizon\" top --once link").exit_code, 0);
}

TEST(DataCheck, WithoutAUsableRecordIsAnError) {
  WriteFile("bad.jsonl", "\nnot json\n{\"text\": 3}\n");
  WriteFile("none.jsonl", "");
  for (const char* file : {"bad.jsonl", "none.jsonl"}) {
    const ProcessResult result =
        RunShell(StrCat("\"$horizon\" data check --tokenizer byte ", file));
    EXPECT_EQ(result.exit_code, 2) << file;
    EXPECT_THAT(result.out, HasSubstr("records    0")) << file;
    EXPECT_THAT(result.err, HasSubstr("there is no sample to learn from")) << file;
    EXPECT_EQ(RunShell(StrCat("\"$horizon\" data check --tokenizer byte --json ", file)).exit_code,
              2);
  }
  WriteFile("one.jsonl", "not json\n{\"text\": \"some\"}\n");
  EXPECT_EQ(RunShell("\"$horizon\" data check --tokenizer byte one.jsonl").exit_code, 0);
}

// As docs/data.md has it, for all layouts alike.
TEST(DataCheck, BytesThatAreNotUtf8CountAsTheReplacementCharacter) {
  WriteFile("lines.jsonl",
            "{\"text\": \"a\xff"
            "b\xe4\"}\n");
  WriteFile("array.json",
            "[{\"text\": \"a\xff"
            "b\xe4\"}]");
  WriteFile("valid.jsonl",
            "{\"text\": \"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"}\n");
  const std::string check = "\"$horizon\" data check --tokenizer byte --json --on-bad-line stop ";
  const std::string ids = " | grep -A20 '\"example\"'";
  const ProcessResult wanted = RunShell(check + "valid.jsonl" + ids);
  for (const char* file : {"lines.jsonl", "array.json"}) {
    const ProcessResult result = RunShell(check + file);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(RunShell(StrCat(check, file, ids)).out, wanted.out) << file;
  }
  EXPECT_THAT(wanted.out, HasSubstr("239,\n      191,\n      189"));
}

}  // namespace
}  // namespace horizon
