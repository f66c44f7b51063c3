#include "runtime/data/token_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/faulting_io.h"
#include "common/str_cat.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr TokenData::Options kInOrder = {.sequence = 4, .vocab = 100, .shuffle = false};

// `count` samples; sample i is the one token i.
std::string OneTokenLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += StrCat(R"({"input_ids": [)", i, "]}\n");
  return text;
}

std::vector<int> Column(std::span<const TokenRecord> records, int32_t TokenRecord::*field) {
  std::vector<int> values;
  for (const TokenRecord& record : records) values.push_back(record.*field);
  return values;
}

class TokenDataTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<TokenData>> Open(std::string_view text,
                                                  const TokenData::Options& options = kInOrder) {
    WriteBytes(*io_, path_, text);
    return TokenData::Open(*io_, path_, options);
  }
  // The first token of each of the next `rows` rows, taken `at_once` rows at a time.
  static std::vector<int> FirstTokens(TokenSource& data, size_t rows, size_t at_once = 1) {
    std::vector<int> tokens;
    std::vector<TokenRecord> records(4 * at_once);
    while (tokens.size() < rows) {
      const absl::StatusOr<int64_t> labelled = data.Fill(records);
      EXPECT_TRUE(labelled.ok()) << labelled.status();
      for (size_t row = 0; row < at_once; ++row) tokens.push_back(records[4 * row].id);
    }
    return tokens;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string path_ = JoinPath(MakeTestFolder(*io_), "tokens.jsonl");
};

TEST_F(TokenDataTest, ShiftsLabelsPadsAndLinks) {
  const auto data = Open(
      "{\"input_ids\": [5, 6, 5, 7], \"labels\": [1, -100, 3, 4]}\n{\"input_ids\": [6, 8]}\r\n");
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<TokenRecord> records(8, {.id = 9, .label = 9, .next_same = 9, .is_first = 9});
  const absl::StatusOr<int64_t> labelled = (*data)->Fill(records);
  ASSERT_TRUE(labelled.ok()) << labelled.status();
  EXPECT_EQ(*labelled, 3);
  EXPECT_THAT(Column(records, &TokenRecord::id), ElementsAre(5, 6, 5, 7, 6, 8, 0, 0));
  EXPECT_THAT(Column(records, &TokenRecord::label),
              ElementsAre(-100, 3, 4, -100, 8, -100, -100, -100));
  EXPECT_THAT(Column(records, &TokenRecord::next_same), ElementsAre(2, 4, -1, -1, -1, -1, 7, -1));
  EXPECT_THAT(Column(records, &TokenRecord::is_first), ElementsAre(1, 1, 0, 1, 0, 1, 1, 0));
  EXPECT_EQ((*data)->samples(), 2);
  EXPECT_EQ((*data)->tokens(), 6);
  EXPECT_EQ((*data)->labelled_tokens(), 3);
}

TEST_F(TokenDataTest, TakesLinesInOrderAndBeginsAgain) {
  for (const std::string_view end : {"\n", ""}) {
    std::string text = OneTokenLines(3);
    text.pop_back();
    const auto data = Open(StrCat(text, end));
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_THAT(FirstTokens(**data, 2), ElementsAre(0, 1));
    EXPECT_EQ((*data)->position(), (DataPosition{.epoch = 0, .index = 2}));
    EXPECT_THAT(FirstTokens(**data, 1), ElementsAre(2));
    EXPECT_EQ((*data)->position(), (DataPosition{.epoch = 1, .index = 0}));
    EXPECT_THAT(FirstTokens(**data, 4), ElementsAre(0, 1, 2, 0));
    EXPECT_EQ((*data)->position(), (DataPosition{.epoch = 2, .index = 1}));
  }
}

TEST_F(TokenDataTest, AMicroBatchMayReachIntoTheNextEpochsAndItsSizeChangesNothing) {
  for (const bool shuffle : {false, true}) {
    TokenData::Options options = kInOrder;
    options.shuffle = shuffle;
    const auto one = Open(OneTokenLines(5), options);
    const std::vector<int> expected = FirstTokens(**one, 24);
    for (const size_t at_once : {2u, 3u, 12u, 24u}) {
      const auto data = Open(OneTokenLines(5), options);
      EXPECT_EQ(FirstTokens(**data, 24, at_once), expected) << at_once;
      EXPECT_EQ((*data)->position(), (*one)->position());
    }
  }
}

TEST_F(TokenDataTest, AShuffledEpochHasEverySampleOnceInAnOrderOfItsOwn) {
  TokenData::Options options = kInOrder;
  options.shuffle = true;
  options.seed = 3;
  const auto data = Open(OneTokenLines(50), options);
  ASSERT_TRUE(data.ok());
  const std::vector<int> first = FirstTokens(**data, 50);
  const std::vector<int> second = FirstTokens(**data, 50);
  EXPECT_NE(first, second);
  for (std::vector<int> epoch : {first, second}) {
    std::sort(epoch.begin(), epoch.end());
    for (int i = 0; i < 50; ++i) EXPECT_EQ(epoch[static_cast<size_t>(i)], i);
  }
  EXPECT_EQ(FirstTokens(**Open(OneTokenLines(50), options), 50), first);
  options.seed = 4;
  EXPECT_NE(FirstTokens(**Open(OneTokenLines(50), options), 50), first);
}

TEST_F(TokenDataTest, ASavedPositionGivesTheSameRowsAgain) {
  TokenData::Options options = kInOrder;
  options.shuffle = true;
  for (size_t before = 0; before < 12; ++before) {
    const auto data = Open(OneTokenLines(5), options);
    FirstTokens(**data, before);
    const DataPosition saved = (*data)->position();
    const std::vector<int> expected = FirstTokens(**data, 11);
    const auto resumed = Open(OneTokenLines(5), options);
    ASSERT_TRUE((*resumed)->Seek(saved).ok());
    EXPECT_EQ((*resumed)->position(), saved);
    EXPECT_EQ(FirstTokens(**resumed, 11), expected) << before;
  }
}

TEST_F(TokenDataTest, RefusesAPositionTheFileDoesNotHave) {
  const auto data = Open(OneTokenLines(5));
  for (const DataPosition position :
       {DataPosition{0, 5}, DataPosition{0, -1}, DataPosition{-1, 0}}) {
    const absl::Status status = (*data)->Seek(position);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("5 samples"));
  }
  EXPECT_EQ((*data)->position(), DataPosition());
  EXPECT_TRUE((*data)->Seek({.epoch = 7, .index = 4}).ok());
}

TEST_F(TokenDataTest, NamesFileLineAndReasonOfABadLine) {
  const std::string good = OneTokenLines(2);
  for (const auto& [line, reason] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"{\"input_ids\": [1}", "not valid JSON"},
           {"{\"input_ids\": [100]}", "input_ids[0] is 100"},
           {"{\"input_ids\": [1], \"labels\": [100]}", "labels[0] is 100"},
           {"{\"input_ids\": []}", "input_ids is empty"},
           {"", "the line is empty"},
           {"{\"input_ids\": [1], \"labels\": [1, 2]}", "labels has 2"},
           {"{\"input_ids\": [1, 1, 1, 1, 1]}", "5 tokens, more than the sequence of 4"}}) {
    for (const std::string_view rest : {"\n", "\n{\"input_ids\": [1]}\n"}) {
      const absl::Status status = Open(StrCat(good, line, rest)).status();
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << line;
      EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat(path_, ":3: ")));
      EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason)));
    }
  }
  EXPECT_THAT(std::string(Open("").status().message()), HasSubstr("holds no samples"));
  EXPECT_THAT(std::string(Open("\n").status().message()), HasSubstr(":1: the line is empty"));
}

TEST_F(TokenDataTest, LinesLieAcrossTheBordersOfWhatIsReadAtOnce) {
  std::string text;
  std::vector<int> expected;
  for (int i = 0; i < 9000; ++i) {
    // Lengths that are prime to the size of a read; some lines are longer than several reads.
    const size_t spaces = i == 77 ? 3'333'333 : static_cast<size_t>(i * 37 % 511);
    text += StrCat("{", std::string(spaces, ' '), "\"input_ids\": [", i % 100, "]}\n");
    expected.push_back(i % 100);
  }
  const auto data = Open(text);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->samples(), 9000);
  EXPECT_EQ(FirstTokens(**data, 9000), expected);
}

TEST_F(TokenDataTest, ALineMayBe64MebibytesAndNotAByteMore) {
  const std::string line = R"({"input_ids": [1]})";
  std::string text = std::string((size_t{64} << 20) - line.size(), ' ') + line;
  for (const std::string_view end : {"\n", "", "\n{\"input_ids\": [2]}"}) {
    const auto data = Open(text + std::string(end));
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_THAT(FirstTokens(**data, 1), ElementsAre(1));
  }
  text.insert(0, " ");
  for (const std::string_view end : {"\n", "", "\n{\"input_ids\": [2]}"}) {
    EXPECT_THAT(std::string(Open(text + std::string(end)).status().message()),
                HasSubstr(":1: the line is longer than 64 MiB"));
  }
}

TEST_F(TokenDataTest, ReadsOnlyTheLineItNeeds) {
  WriteBytes(*io_, path_, OneTokenLines(100));
  RecordingIo io(*io_);
  const auto data = TokenData::Open(io, path_, kInOrder);
  ASSERT_TRUE((*data)->Seek({.epoch = 0, .index = 50}).ok());
  io.transfers.clear();
  EXPECT_THAT(FirstTokens(**data, 1), ElementsAre(50));
  ASSERT_EQ(io.transfers.size(), 1u);
  EXPECT_EQ(io.transfers[0].offset, OneTokenLines(50).size());
  EXPECT_EQ(io.transfers[0].bytes, std::string_view("{\"input_ids\": [50]}\n").size());
}

TEST_F(TokenDataTest, AFileThatChangedIsDataLossAndThePositionStays) {
  for (const std::string_view changed :
       {"{\"input_ids\": [0]}\n{\"input_ids\": [500]}\n", "{\"input_ids\": [0]}\n",
        "{\"input_ids\": [0]}\n{\"input_id"}) {
    const auto data = Open("{\"input_ids\": [0]}\n{\"input_ids\": [1]}\n");
    ASSERT_TRUE(data.ok());
    WriteBytes(*io_, path_, changed);
    std::vector<TokenRecord> records(8);
    const absl::Status status = (*data)->Fill(records).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat(path_, ":2: ")));
    EXPECT_EQ((*data)->position(), DataPosition());
    EXPECT_THAT(FirstTokens(**data, 1), ElementsAre(0));
  }
}

TEST_F(TokenDataTest, EveryFailingCallIsReportedAndAFailedFillCanBeRepeated) {
  WriteBytes(*io_, path_, OneTokenLines(3));
  const uint64_t hit = ForEachFault(*io_, {.error_number = ENXIO}, [&](FaultingIo& io) {
    const auto data = TokenData::Open(io, path_, kInOrder);
    absl::Status first = data.status();
    std::vector<int> tokens;
    std::vector<TokenRecord> records(4);
    for (int call = 0; data.ok() && call < 4; ++call) {
      const absl::StatusOr<int64_t> labelled = (*data)->Fill(records);
      if (labelled.ok()) tokens.push_back(records[0].id);
      if (first.ok()) first = labelled.status();
    }
    EXPECT_EQ(IoErrno(first), io.reached() ? ENXIO : 0) << first;
    for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], static_cast<int>(i % 3));
  });
  EXPECT_GT(hit, 8u);
}

TEST_F(TokenDataTest, AMissingFileIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(TokenData::Open(*io_, path_, kInOrder).status()));
}

}  // namespace
}  // namespace horizon
