#include "runtime/data/tokenise_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
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

class TokeniseFilesTest : public testing::Test {
 protected:
  DataFiles Files(const std::vector<std::pair<std::string, std::string>>& texts) {
    DataFiles files;
    for (const auto& [name, text] : texts) {
      files.paths.push_back(JoinPath(folder_, name));
      WriteBytes(*io_, files.paths.back(), text);
    }
    files.tokenise = {.tokenizer = &chat_.tokenizer(),
                      .end_id = FakeTokenizer::kEnd,
                      .chat = chat_.encoder(),
                      .vocab = FakeTokenizer::kVocab,
                      .sequence = 100};
    return files;
  }
  // The samples as text; an error is the only line.
  std::vector<std::string> Run(const DataFiles& files, int threads = 2, Io* io = nullptr) {
    std::vector<std::string> samples;
    const auto keep = [&](std::span<const int32_t> ids, std::span<const int32_t>) {
      samples.push_back(chat_.tokenizer().Decode(ids, Tokenizer::SpecialTokens::kSpell));
      return absl::OkStatus();
    };
    absl::StatusOr<TokenisedFiles> result =
        TokeniseFiles(io != nullptr ? *io : *io_, files, threads, keep);
    status_ = result.status();
    if (!result.ok()) return {std::string(result.status().message())};
    result_ = *std::move(result);
    return samples;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  FakeChat chat_;
  absl::Status status_;
  TokenisedFiles result_;
};

TEST_F(TokeniseFilesTest, FilesOfSeveralKindsAreReadOneAfterTheOther) {
  const DataFiles files = Files({{"a.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"d\"}\n"},
                                 {"b.json", R"([{"query": "Q", "response": "A"}])"},
                                 {"c.txt", "plain\ntext\n"},
                                 {"d.jsonl", R"({"input_ids": [65, 66], "labels": [65, 66]})"}});
  EXPECT_THAT(Run(files),
              ElementsAre("abc<|end|>", "d<|end|>", "Q\nA<|end|>", "plain\ntext\n<|end|>", "AB"));
  EXPECT_THAT(result_.kinds,
              ElementsAre(DataKind::kText, DataKind::kQa, DataKind::kText, DataKind::kTokens));
  EXPECT_EQ(result_.statistics.records, 5);
  EXPECT_EQ(result_.statistics.bad_lines, 0);
  EXPECT_EQ(result_.hashes, *HashFiles(*io_, files.paths));
}

TEST_F(TokeniseFilesTest, TheNumberOfThreadsChangesNothing) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    // One in 97 is bad, one is far longer than a task.
    const std::string words(i == 5000 ? 600'000 : static_cast<size_t>(i * 31 % 150), 'x');
    lines += i % 97 == 0 ? "{\"text\": 1}\n" : StrCat("{\"text\": \"", i, words, "\"}\n");
  }
  DataFiles files = Files({{"a.jsonl", lines}});
  files.on_bad_line = OnBadLine::kSkip;
  const std::vector<std::string> expected = Run(files, 1);
  const TokenisedFiles first = result_;
  EXPECT_EQ(first.statistics.bad_lines, 207);
  ASSERT_EQ(first.bad_lines.size(), TokenisedFiles::kMostBadLines);
  EXPECT_EQ(first.bad_lines[1].where, StrCat(files.paths[0], ":98"));
  for (const int threads : {2, 3, 8}) {
    EXPECT_EQ(Run(files, threads), expected) << threads;
    EXPECT_EQ(result_.statistics, first.statistics);
    EXPECT_EQ(result_.bad_lines[9].where, first.bad_lines[9].where);
  }
  files.on_bad_line = OnBadLine::kStop;
  for (const int threads : {1, 4}) {
    EXPECT_THAT(Run(files, threads), ElementsAre(HasSubstr("a.jsonl:1: text is an integer")));
  }
}

TEST_F(TokeniseFilesTest, ABadLineIsNamedWithFileLineAndReason) {
  const std::string good = "{\"query\": \"Q\", \"response\": \"A\"}\n";
  for (const auto& [bad, reason] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"{\"query\": \"Q\"", "ends before"},
           {"{\"query\": \"Q\", \"response\": 3}", "response is an integer"},
           {"{\"text\": \"of another kind\"}", "no question with an answer"},
           {"{\"query\": \"\\u0001\", \"response\": \"A\"}", "the expression gave up"},
           {"\x80", "not valid JSON"}}) {
    DataFiles files = Files({{"a.jsonl", StrCat(good, "\n", bad, "\n", good)}});
    EXPECT_THAT(Run(files), ElementsAre(HasSubstr(StrCat("a.jsonl:3: "))));
    EXPECT_THAT(std::string(status_.message()), HasSubstr(std::string(reason)));
    EXPECT_TRUE(absl::IsInvalidArgument(status_));
    files.on_bad_line = OnBadLine::kSkip;
    EXPECT_THAT(Run(files), ElementsAre("Q\nA<|end|>", "Q\nA<|end|>"));
    EXPECT_EQ(result_.statistics.bad_lines, 1);
    ASSERT_EQ(result_.bad_lines.size(), 1u);
    EXPECT_EQ(result_.bad_lines[0].where, StrCat(files.paths[0], ":3"));
    EXPECT_THAT(result_.bad_lines[0].reason, HasSubstr(std::string(reason)));
  }
}

TEST_F(TokeniseFilesTest, AnElementIsNamedByItsNumberToo) {
  EXPECT_THAT(Run(Files({{"a.json", "[{\"text\": \"a\"},\n{\"text\": 2}]"}})),
              ElementsAre(HasSubstr("a.json:2 (element 2): text is an integer")));
}

TEST_F(TokeniseFilesTest, BadRecordsBeforeTheKindIsKnownAreCounted) {
  DataFiles files = Files({{"a.jsonl", "{}\nx\n{\"text\": \"abc\"}\n"}});
  EXPECT_THAT(Run(files), ElementsAre(HasSubstr("a.jsonl:1: its keys () are those of no kind")));
  files.on_bad_line = OnBadLine::kSkip;
  EXPECT_THAT(Run(files), ElementsAre("abc<|end|>"));
  EXPECT_EQ(result_.statistics.bad_lines, 2);
}

TEST_F(TokeniseFilesTest, AGivenKindIsNotGuessed) {
  DataFiles files = Files({{"a.jsonl", R"({"text": "abc", "query": "Q", "response": "A"})"}});
  EXPECT_THAT(Run(files), ElementsAre("Q\nA<|end|>"));
  files.kind = DataKind::kText;
  EXPECT_THAT(Run(files), ElementsAre("abc<|end|>"));
  files.kind = DataKind::kQa;
  files.paths = Files({{"a.txt", "abc"}}).paths;
  EXPECT_THAT(Run(files), ElementsAre(HasSubstr("it is plain text, not qa data")));
}

TEST_F(TokeniseFilesTest, WhatCannotBeTokenisedAtAllIsNoBadLine) {
  DataFiles files = Files({{"a.jsonl", R"({"query": "Q", "response": "A"})"}});
  files.on_bad_line = OnBadLine::kSkip;
  files.tokenise.chat = absl::InvalidArgumentError("choose a chat format");
  EXPECT_THAT(Run(files), ElementsAre("choose a chat format"));
  const FakeChat other("chatml");
  files.tokenise.chat = other.encoder();
  EXPECT_EQ(Run(files).size(), 1u);
  EXPECT_TRUE(status_.ok());
}

TEST_F(TokeniseFilesTest, ALongTextIsCutIntoSamplesThatMissNothing) {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += StrCat("line ", i, "\n");
  DataFiles files = Files({{"a.txt", text}});
  files.tokenise.sequence = 1000;
  std::string together;
  for (const std::string& sample : Run(files)) {
    together += together.empty() ? sample : sample.substr(1);
  }
  EXPECT_EQ(together, StrCat(text, "<|end|>"));
  EXPECT_EQ(result_.statistics.records, 1);
  EXPECT_EQ(result_.statistics.lengths.longest(), static_cast<int64_t>(text.size()) + 1);
}

TEST_F(TokeniseFilesTest, EmptyFilesGiveNothing) {
  EXPECT_THAT(Run(Files({{"a.jsonl", ""}, {"b.json", "[]"}, {"c.json", ""}})), ElementsAre());
  EXPECT_TRUE(status_.ok());
  Files({{"d.txt", ""}});
  EXPECT_THAT(Run(Files({{"d.txt", ""}})), ElementsAre());
  EXPECT_EQ(result_.statistics.dropped, 1);
}

TEST_F(TokeniseFilesTest, ProgressIsToldAndMayEndTheWork) {
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += "{\"text\": \"some words to read\"}\n";
  const DataFiles files = Files({{"a.jsonl", lines}, {"b.jsonl", lines}});
  Bytes last;
  const auto sink = [](auto, auto) { return absl::OkStatus(); };
  ASSERT_TRUE(TokeniseFiles(*io_, files, 2, sink, [&](Bytes done, Bytes total) {
                EXPECT_EQ(total, Bytes(2 * lines.size()));
                EXPECT_GE(done, last);
                last = done;
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(last, Bytes(2 * lines.size()));
  const auto stop = [](Bytes, Bytes) { return absl::CancelledError("stopped"); };
  EXPECT_TRUE(absl::IsCancelled(TokeniseFiles(*io_, files, 2, sink, stop).status()));
  EXPECT_TRUE(absl::IsCancelled(HashFiles(*io_, files.paths, stop).status()));
}

TEST_F(TokeniseFilesTest, EveryFailingCallIsReported) {
  const DataFiles files = Files({{"a.jsonl", "{\"text\": \"abc\"}\n"}, {"b.txt", "def"}});
  const uint64_t hit = ForEachFault(*io_, {.error_number = ENXIO}, [&](FaultingIo& io) {
    const std::vector<std::string> samples = Run(files, 1, &io);
    EXPECT_EQ(IoErrno(status_), io.reached() ? ENXIO : 0) << status_;
  });
  EXPECT_GE(hit, 8u);
  EXPECT_TRUE(absl::IsNotFound(HashFiles(*io_, {JoinPath(folder_, "none")}).status()));
}

}  // namespace
}  // namespace horizon
