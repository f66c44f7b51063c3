#include "runtime/data/training_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/runtime/data/fake_chat.h"
#include "tests/runtime/data/fake_tokenizer.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kSequence = 32;

class TrainingDataTest : public testing::Test {
 protected:
  DataOptions Options(std::string_view name, std::string_view text) {
    DataOptions options;
    options.files = {.paths = {JoinPath(folder_, name)},
                     .tokenise = {.tokenizer = &chat_.tokenizer(),
                                  .end_id = FakeTokenizer::kEnd,
                                  .chat = chat_.encoder(),
                                  .vocab = FakeTokenizer::kVocab,
                                  .sequence = kSequence}};
    options.cache_folder = JoinPath(folder_, "cache");
    WriteBytes(*io_, options.files.paths[0], text);
    return options;
  }
  static std::string Questions(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += StrCat("{\"query\": \"", i, "?\", \"response\": \"", 2 * i, "\"}\n");
    }
    return text;
  }
  // Several sources of these many questions, with these weights.
  DataOptions Several(const std::vector<int>& counts, const std::vector<double>& weights) {
    DataOptions options = Options("0.jsonl", Questions(counts[0]));
    for (size_t i = 0; i < counts.size(); ++i) {
      const std::string path = JoinPath(folder_, StrCat(i, ".jsonl"));
      // Every file has its own texts.
      std::string text = Questions(counts[i]);
      for (size_t at = text.find("?"); at != std::string::npos; at = text.find("?", at + 1)) {
        text[at] = static_cast<char>('A' + i);
      }
      WriteBytes(*io_, path, text);
      options.sources.push_back({.name = path, .paths = {path}});
      if (!weights.empty()) options.sources.back().weight = weights[i];
    }
    return options;
  }
  DataListener Listener() {
    return {.progress =
                [this](std::string_view what, Bytes, Bytes) {
                  works_.emplace(what);
                  return absl::OkStatus();
                },
            .warning = [this](std::string_view text) { warnings_.emplace_back(text); }};
  }
  absl::StatusOr<TrainingData> Open(const DataOptions& options) {
    works_.clear();
    warnings_.clear();
    return OpenTrainingData(*io_, options, Listener());
  }
  // The text of each sample of an epoch.
  std::multiset<std::string> Samples(PackedSource& source) {
    std::multiset<std::string> samples;
    const int64_t epoch = source.position().epoch;
    std::vector<TokenRecord> row(kSequence);
    while (source.position().epoch == epoch) {
      EXPECT_TRUE(source.Fill(row).ok());
      std::string sample;
      for (size_t t = 0; t < row.size(); ++t) {
        sample += chat_.tokenizer().Decode({&row[t].id, 1}, Tokenizer::SpecialTokens::kSpell);
        const bool ends = t + 1 == row.size() || row[t + 1].position == 0;
        if (ends && sample.front() != '\0') samples.insert(sample);
        if (ends) sample.clear();
      }
    }
    return samples;
  }
  std::vector<std::string> CacheFiles() {
    return io_->List(JoinPath(folder_, "cache")).value_or(std::vector<std::string>());
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  FakeChat chat_;
  std::set<std::string> works_;
  std::vector<std::string> warnings_;
};

TEST_F(TrainingDataTest, DataIsTokenisedOnceAndThenReadFromItsCache) {
  const DataOptions options = Options("a.jsonl", Questions(100));
  auto data = Open(options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_FALSE(data->from_cache);
  EXPECT_THAT(works_, ElementsAre("reading", "tokenising"));
  EXPECT_EQ(data->eval, nullptr);
  EXPECT_EQ(data->statistics.samples, 100);
  const std::multiset<std::string> samples = Samples(*data->train);
  EXPECT_EQ(samples.size(), 100u);
  EXPECT_EQ(samples.count("7?\n14<|end|>"), 1u);
  ASSERT_EQ(CacheFiles().size(), 1u);
  auto again = Open(options);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->from_cache);
  EXPECT_THAT(works_, ElementsAre("reading"));
  EXPECT_EQ(again->fingerprint, data->fingerprint);
  EXPECT_EQ(again->statistics, data->statistics);
  EXPECT_EQ(Samples(*again->train), samples);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(TrainingDataTest, ACopyElsewhereIsTheSameDataAndAChangeIsNot) {
  const auto first = Open(Options("a.jsonl", Questions(10)));
  const auto copy = Open(Options("b.jsonl", Questions(10)));
  EXPECT_TRUE(copy->from_cache);
  EXPECT_EQ(copy->fingerprint, first->fingerprint);
  const auto changed = Open(Options("a.jsonl", Questions(11)));
  EXPECT_FALSE(changed->from_cache);
  EXPECT_NE(changed->fingerprint, first->fingerprint);
}

TEST_F(TrainingDataTest, EverythingThatChangesRowsChangesTheFingerprint) {
  const DataOptions options = Options("a.jsonl", Questions(100));
  std::set<std::string> fingerprints = {Open(options)->fingerprint};
  const auto differs = [&](auto change) {
    DataOptions changed = options;
    change(changed);
    const auto data = Open(changed);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_TRUE(fingerprints.insert(data->fingerprint).second);
  };
  differs([](DataOptions& o) { o.packing = false; });
  differs([](DataOptions& o) { o.shuffle = false; });
  differs([](DataOptions& o) { o.seed = 1; });
  differs([](DataOptions& o) { o.eval_share = 0.1; });
  differs([](DataOptions& o) { o.files.tokenise.sequence = 16; });
  differs([](DataOptions& o) { o.files.tokenise.train_on_prompt = true; });
}

TEST_F(TrainingDataTest, ATornOrForeignCacheIsMadeAgainAndSaidSo) {
  const DataOptions options = Options("a.jsonl", Questions(50));
  auto data = Open(options);
  const std::multiset<std::string> samples = Samples(*data->train);
  const std::string path = JoinPath(JoinPath(folder_, "cache"), CacheFiles()[0]);
  const std::string good = ReadBytes(*io_, path);
  for (const std::string& bytes : {std::string("nonsense"), good.substr(0, good.size() / 2)}) {
    WriteBytes(*io_, path, bytes);
    auto again = Open(options);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->from_cache);
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("it is made again")));
    EXPECT_EQ(Samples(*again->train), samples);
    EXPECT_EQ(ReadBytes(*io_, path), good);
  }
}

TEST_F(TrainingDataTest, ThreadsDoNotChangeABitOfTheCache) {
  DataOptions options = Options("a.jsonl", Questions(5000));
  std::string expected;
  for (const int threads : {1, 2, 5}) {
    options.threads = threads;
    options.cache_folder = JoinPath(folder_, StrCat("cache", threads));
    ASSERT_TRUE(Open(options).ok());
    const auto names = io_->List(options.cache_folder);
    const std::string bytes = ReadBytes(*io_, JoinPath(options.cache_folder, names->front()));
    if (threads == 1) expected = bytes;
    EXPECT_EQ(bytes, expected);
  }
}

TEST_F(TrainingDataTest, AShareIsHeldOutForEvaluation) {
  DataOptions options = Options("a.jsonl", Questions(200));
  options.eval_share = 0.1;
  auto data = Open(options);
  ASSERT_TRUE(data.ok()) << data.status();
  const std::multiset<std::string> train = Samples(*data->train);
  const std::multiset<std::string> eval = Samples(*data->eval);
  EXPECT_EQ(train.size(), 180u);
  EXPECT_EQ(eval.size(), 20u);
  for (const std::string& sample : eval) EXPECT_EQ(train.count(sample), 0u);
  EXPECT_TRUE(data->eval->at_end());
}

TEST_F(TrainingDataTest, AFileOfItsOwnIsEvaluatedInOrder) {
  DataOptions options = Options("a.jsonl", Questions(20));
  options.eval_paths = {JoinPath(folder_, "e.json")};
  WriteBytes(*io_, options.eval_paths[0], R"([{"query": "E", "response": "F"}])");
  auto data = Open(options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(Samples(*data->train).size(), 20u);
  EXPECT_THAT(Samples(*data->eval), ElementsAre("E\nF<|end|>"));
  EXPECT_EQ(data->eval_statistics.samples, 1);
  EXPECT_EQ(CacheFiles().size(), 2u);
  EXPECT_TRUE(Open(options)->from_cache);
  options.eval_share = 0.1;
  EXPECT_THAT(std::string(Open(options).status().message()), HasSubstr("choose one"));
}

TEST_F(TrainingDataTest, EvaluationAloneHasEverySampleOnce) {
  const DataOptions options = Options("a.jsonl", Questions(30));
  auto data = OpenEvaluationData(*io_, options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train, nullptr);
  EXPECT_EQ(Samples(*data->eval).size(), 30u);
  EXPECT_TRUE(data->eval->at_end());
  EXPECT_EQ(data->eval_statistics.samples, 30);
  // Training finds what evaluation left.
  EXPECT_TRUE(Open(options)->from_cache);
}

TEST_F(TrainingDataTest, SkippedLinesAreTold) {
  DataOptions options = Options("a.jsonl", StrCat(Questions(3), "{}\nx\n"));
  EXPECT_THAT(std::string(Open(options).status().message()), HasSubstr("a.jsonl:4: "));
  EXPECT_TRUE(CacheFiles().empty());
  options.files.on_bad_line = OnBadLine::kSkip;
  const auto data = Open(options);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->statistics.bad_lines, 2);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("2 bad lines were skipped; the first: ")));
}

TEST_F(TrainingDataTest, RefusesOptionsThatCannotBe) {
  DataOptions options = Options("a.jsonl", Questions(3));
  for (const int64_t sequence : {-1, 0, 1}) {
    options.files.tokenise.sequence = sequence;
    EXPECT_TRUE(absl::IsInvalidArgument(Open(options).status())) << sequence;
  }
  options = Options("a.jsonl", "");
  EXPECT_THAT(std::string(Open(options).status().message()), HasSubstr("holds no samples"));
  options.files.paths = {};
  EXPECT_FALSE(Open(options).ok());
  options.files.paths = {JoinPath(folder_, "none.jsonl")};
  EXPECT_TRUE(absl::IsNotFound(Open(options).status()));
}

TEST_F(TrainingDataTest, EveryFailingCallIsReportedAndNothingTornIsLeft) {
  const DataOptions options = Options("a.jsonl", Questions(5));
  ForEachFault(*io_, {.error_number = EDQUOT}, [&](FaultingIo& io) {
    for (const std::string& name : CacheFiles()) {
      ASSERT_TRUE(io_->Unlink(JoinPath(options.cache_folder, name)).ok());
    }
    const absl::Status status = OpenTrainingData(io, options).status();
    EXPECT_EQ(IoErrno(status), io.reached() ? EDQUOT : 0) << status;
    const auto after = Open(options);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_TRUE(warnings_.empty());
  });
}

TEST_F(TrainingDataTest, SeveralFilesGiveEachOfTheirSamplesOnceAnEpoch) {
  const absl::StatusOr<TrainingData> data = Open(Several({30, 50, 1}, {}));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->statistics.samples, 81);
  EXPECT_EQ(data->statistics.lengths.count(), 81);
  ASSERT_EQ(data->sources.size(), 3u);
  EXPECT_EQ(data->sources[1].samples, 50);
  EXPECT_EQ(data->sources[1].passes(), 1);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const std::multiset<std::string> samples = Samples(*data->train);
    EXPECT_EQ(samples.size(), 81u);
    EXPECT_EQ(std::set<std::string>(samples.begin(), samples.end()).size(), 81u);
  }
}

TEST_F(TrainingDataTest, WithWeightsFilesAreDrawnInProportion) {
  const absl::StatusOr<TrainingData> data = Open(Several({30, 50}, {3, 1}));
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->sources[0].draws, 60);
  EXPECT_EQ(data->sources[0].passes(), 2);
  EXPECT_EQ(data->sources[1].draws, 20);
  const std::multiset<std::string> samples = Samples(*data->train);
  EXPECT_EQ(samples.size(), 80u);
  EXPECT_EQ(std::count_if(samples.begin(), samples.end(),
                          [](const std::string& text) { return text.find('A') != text.npos; }),
            60);
}

TEST_F(TrainingDataTest, OtherFilesOrWeightsAreOtherData) {
  const auto fingerprint = [&](const DataOptions& options) {
    const absl::StatusOr<TrainingData> data = Open(options);
    EXPECT_TRUE(data.ok()) << data.status();
    return data.ok() ? data->fingerprint : "";
  };
  std::set<std::string> all;
  DataOptions swapped = Several({30, 50}, {3, 1});
  std::swap(swapped.sources[0], swapped.sources[1]);
  all.insert(fingerprint(swapped));
  for (const std::vector<double>& weights : {std::vector<double>{}, {3, 1}, {1, 3}, {3, 2}}) {
    all.insert(fingerprint(Several({30, 50}, weights)));
  }
  all.insert(fingerprint(Several({30}, {})));
  all.insert(fingerprint(Several({30, 50, 50}, {})));
  EXPECT_EQ(all.size(), 7u);
  // A file is the same data whether it is one source or named alone, as it was before there were
  // sources: a run begun then goes on.
  DataOptions alone = Several({30}, {});
  const std::string as_source = fingerprint(alone);
  alone.sources.clear();
  EXPECT_EQ(fingerprint(alone), as_source);
  alone.sources = {{.name = "0", .paths = alone.files.paths, .weight = 7}};
  EXPECT_EQ(fingerprint(alone), as_source);
}

TEST_F(TrainingDataTest, EverySourceHoldsItsShareOut) {
  DataOptions options = Several({30, 50, 1}, {1, 1, 1});
  options.eval_share = 0.1;
  const absl::StatusOr<TrainingData> data = Open(options);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->sources[0].samples, 27);
  EXPECT_EQ(data->sources[1].samples, 45);
  EXPECT_EQ(data->sources[2].samples, 1);  // too small to hold anything out
  const std::multiset<std::string> held_out = Samples(*data->eval);
  EXPECT_EQ(held_out.size(), 8u);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const std::string& sample : Samples(*data->train)) EXPECT_EQ(held_out.count(sample), 0u);
  }
  options = Several({2, 3}, {});
  options.eval_share = 0.1;
  EXPECT_THAT(std::string(Open(options).status().message()), HasSubstr("less than one sample"));
}

TEST_F(TrainingDataTest, WeightsThatMeanNothingAreRefused) {
  EXPECT_THAT(std::string(Open(Several({3, 5}, {1, 0})).status().message()),
              HasSubstr("1 of 2 data sources have a weight"));
  EXPECT_THAT(std::string(Open(Several({3, 5}, {1, -1})).status().message()),
              HasSubstr("the weight -1"));
  EXPECT_THAT(std::string(Open(Several({3, 5}, {1, 1e-9})).status().message()),
              HasSubstr("so small"));
}

}  // namespace
}  // namespace horizon
