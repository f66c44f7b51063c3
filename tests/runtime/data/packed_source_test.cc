#include "runtime/data/packed_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/runtime/data/made_cache.h"

namespace horizon {
namespace {

constexpr int64_t kSequence = 16;
using Row = std::vector<TokenRecord>;

// One sample as it lies in a row.
struct Found {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // shifted
  friend bool operator==(const Found&, const Found&) = default;
};

// The samples of a row, cut where positions begin again; padding is the last and is checked here.
std::vector<Found> SamplesOf(const Row& row) {
  std::vector<Found> samples;
  for (const TokenRecord& record : row) {
    if (record.position == 0) samples.emplace_back();
    EXPECT_EQ(record.position, static_cast<int32_t>(samples.back().ids.size()));
    samples.back().ids.push_back(record.id);
    samples.back().labels.push_back(record.label);
  }
  return samples;
}

class PackedSourceTest : public testing::Test {
 protected:
  void Make(int count) {
    samples_ = NumberedSamples(count, kSequence, 5);
    // Id 0 is padding's: here samples begin with 1.
    for (TokenLine& sample : samples_) {
      for (int32_t& id : sample.ids) ++id;
      for (int32_t& label : sample.labels) label += label < 0 ? 0 : 1;
    }
    cache_ = MakeCache(*io_, folder_, samples_, kSequence);
    ASSERT_NE(cache_, nullptr);
  }
  PackedSource Source(const PackedSource::Options& options) {
    return PackedSource(*cache_, SampleSplit::All(cache_->samples()), options);
  }
  static Row NextRow(TokenSource& source) {
    Row row(kSequence, {.id = 9, .label = 9, .next_same = 9, .is_first = 9, .position = 9});
    const absl::StatusOr<int64_t> labelled = source.Fill(row);
    EXPECT_TRUE(labelled.ok()) << labelled.status();
    return row;
  }
  // The rows of the epoch the source stands at the beginning of.
  static std::vector<Row> Epoch(TokenSource& source) {
    const int64_t epoch = source.position().epoch;
    std::vector<Row> rows;
    while (source.position().epoch == epoch) rows.push_back(NextRow(source));
    return rows;
  }
  // What a sample looks like in a row.
  Found Expected(int32_t number) const {
    const TokenLine& line = samples_[static_cast<size_t>(number)];
    Found found = {.ids = line.ids, .labels = line.labels};
    found.labels.erase(found.labels.begin());
    found.labels.push_back(-100);
    return found;
  }
  // Checks that rows hold each of the samples once, whole and with its labels, and gives their
  // order.
  std::vector<int32_t> CheckOnce(const std::vector<Row>& rows, size_t count) const {
    std::vector<int32_t> order;
    for (const Row& row : rows) {
      EXPECT_EQ(row.size(), static_cast<size_t>(kSequence));
      for (const Found& found : SamplesOf(row)) {
        if (found.ids.front() == 0) {
          EXPECT_EQ(found.labels, std::vector<int32_t>(found.ids.size(), kPaddingLabel));
          continue;
        }
        EXPECT_EQ(found, Expected(found.ids.front() - 1));
        order.push_back(found.ids.front() - 1);
      }
    }
    std::vector<int32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_EQ(sorted.size(), count);
    return order;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  std::vector<TokenLine> samples_;
  std::unique_ptr<TokenCache> cache_;
};

TEST_F(PackedSourceTest, AnEpochHasEverySampleOncePackedOrPadded) {
  for (const int count : {1, 2, 100, 1024, 1025, 2500}) {
    Make(count);
    for (const bool packing : {true, false}) {
      for (const bool shuffle : {true, false}) {
        PackedSource source = Source({.packing = packing, .shuffle = shuffle, .seed = 3});
        const std::vector<Row> first = Epoch(source);
        const std::vector<int32_t> order = CheckOnce(first, static_cast<size_t>(count));
        if (!packing) {
          EXPECT_EQ(first.size(), static_cast<size_t>(count));
          EXPECT_TRUE(count == 2 ||
                      std::is_sorted(order.begin(), order.end()) == (!shuffle || count == 1));
        } else if (count >= 100) {
          EXPECT_LT(first.size(), static_cast<size_t>(count) * 3 / 4);
        }
        const std::vector<int32_t> next = CheckOnce(Epoch(source), static_cast<size_t>(count));
        // Two samples keep their order now and then.
        EXPECT_TRUE(count == 2 || (next == order) == (!shuffle || count == 1)) << count;
      }
    }
  }
}

TEST_F(PackedSourceTest, LinksAndCountsHoldForTheWholeMicroBatch) {
  Make(50);
  PackedSource source = Source({.seed = 1});
  PackedSource by_row = Source({.seed = 1});
  Row batch(3 * kSequence);
  const absl::StatusOr<int64_t> labelled = source.Fill(batch);
  ASSERT_TRUE(labelled.ok());
  EXPECT_EQ(*labelled, std::count_if(batch.begin(), batch.end(),
                                     [](const TokenRecord& record) { return record.label >= 0; }));
  std::map<int32_t, size_t> last;
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto before = last.find(batch[i].id);
    EXPECT_EQ(batch[i].is_first, before == last.end() ? 1 : 0);
    if (before != last.end()) {
      EXPECT_EQ(batch[before->second].next_same, static_cast<int>(i));
    }
    last[batch[i].id] = i;
  }
  for (size_t row = 0; row < 3; ++row) {
    const Row alone = NextRow(by_row);
    for (size_t t = 0; t < alone.size(); ++t) {
      const TokenRecord& record = batch[row * kSequence + t];
      EXPECT_EQ(record.id, alone[t].id);
      EXPECT_EQ(record.label, alone[t].label);
      EXPECT_EQ(record.position, alone[t].position);
    }
  }
  EXPECT_EQ(source.position(), by_row.position());
}

std::vector<int32_t> Ids(const Row& row) {
  std::vector<int32_t> ids;
  for (const TokenRecord& record : row) ids.push_back(record.id);
  return ids;
}

TEST_F(PackedSourceTest, SeekAtEveryPositionGivesTheRowsThatFollowed) {
  Make(1500);
  for (const bool packing : {true, false}) {
    const PackedSource::Options options = {.packing = packing, .seed = 7};
    PackedSource source = Source(options);
    std::vector<DataPosition> positions;
    std::vector<std::vector<int32_t>> rows;
    std::vector<double> passes;
    double samples = 0;
    while (source.position().epoch < 2) {
      positions.push_back(source.position());
      passes.push_back(source.passes());
      EXPECT_DOUBLE_EQ(passes.back(), samples / 1500) << positions.size();
      const Row row = NextRow(source);
      for (const Found& found : SamplesOf(row)) samples += found.ids.front() == 0 ? 0 : 1;
      rows.push_back(Ids(row));
    }
    PackedSource resumed = Source(options);
    // Backwards, so that nothing is left from the row before.
    for (size_t i = rows.size(); i-- > 0;) {
      ASSERT_TRUE(resumed.Seek(positions[i]).ok());
      EXPECT_EQ(resumed.position(), positions[i]);
      EXPECT_EQ(resumed.passes(), passes[i]);
      ASSERT_EQ(Ids(NextRow(resumed)), rows[i]) << i;
      if (i + 1 < rows.size()) {
        EXPECT_EQ(resumed.position(), positions[i + 1]);
        ASSERT_EQ(Ids(NextRow(resumed)), rows[i + 1]) << i;
      }
    }
  }
}

TEST_F(PackedSourceTest, RefusesPositionsThatAreNone) {
  Make(1500);
  PackedSource source = Source({.seed = 7});
  std::vector<int64_t> good;
  for (int64_t index = 0; index < 3000; ++index) {
    if (source.Seek({.epoch = 3, .index = index}).ok()) good.push_back(index);
  }
  PackedSource walk = Source({.seed = 7});
  ASSERT_TRUE(walk.Seek({.epoch = 3}).ok());
  std::vector<int64_t> walked;
  while (walk.position().epoch == 3) {
    walked.push_back(walk.position().index);
    NextRow(walk);
  }
  EXPECT_EQ(good, walked);
  ASSERT_TRUE(source.Seek({.epoch = 1, .index = 2}).ok());
  for (const DataPosition position :
       {DataPosition{-1, 0}, DataPosition{0, -1}, DataPosition{0, 1 << 20}}) {
    const absl::Status status = source.Seek(position);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("1500 samples"));
    EXPECT_EQ(source.position(), (DataPosition{1, 2}));
  }
}

TEST_F(PackedSourceTest, TheSeedDecidesTheOrder) {
  Make(300);
  const auto order = [&](int64_t seed) {
    PackedSource source = Source({.seed = seed});
    return CheckOnce(Epoch(source), 300);
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

// Rows written down once stay: a run is resumed with the rows it was started with.
TEST_F(PackedSourceTest, RowsDoNotChangeBetweenVersions) {
  Make(20);
  PackedSource source = Source({.seed = 1});
  std::string text;
  for (const Row& row : Epoch(source)) {
    for (const Found& found : SamplesOf(row)) text += StrCat(found.ids.front(), " ");
    text += "| ";
  }
  EXPECT_EQ(
      text,
      "10 2 | 11 0 | 1 0 | 13 14 | 3 0 | 15 17 12 8 0 | 5 19 0 | 18 0 | 7 16 | 20 9 4 | 6 0 | ");
}

TEST_F(PackedSourceTest, EvaluationEndsAndPadsItsLastMicroBatch) {
  Make(1100);
  for (const bool packing : {true, false}) {
    PackedSource source = Source({.packing = packing, .shuffle = false, .epochs = 1});
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_FALSE(source.at_end());
      std::vector<Row> rows;
      while (!source.at_end()) {
        Row batch(7 * kSequence);
        ASSERT_TRUE(source.Fill(batch).ok());
        for (size_t row = 0; row < 7; ++row) {
          rows.emplace_back(batch.begin() + static_cast<std::ptrdiff_t>(row) * kSequence,
                            batch.begin() + static_cast<std::ptrdiff_t>(row + 1) * kSequence);
        }
      }
      CheckOnce(rows, 1100);
      Row more(2 * kSequence);
      EXPECT_EQ(*source.Fill(more), 0);
      EXPECT_EQ(Ids(more), std::vector<int32_t>(2 * kSequence));
      EXPECT_EQ(more[kSequence].position, 0);
      EXPECT_EQ(more.back().position, kSequence - 1);
      EXPECT_EQ(source.position(), (DataPosition{.epoch = 1}));
      EXPECT_TRUE(source.Seek(source.position()).ok());
      EXPECT_FALSE(source.Seek({.epoch = 1, .index = 1}).ok());
      ASSERT_TRUE(source.Seek({}).ok());
    }
  }
}

TEST_F(PackedSourceTest, CountsTheRowsThatAreLeftFromEveryPosition) {
  for (const int count : {1, 700, 1024, 2300}) {
    Make(count);
    for (const bool packing : {true, false}) {
      for (const bool shuffle : {true, false}) {
        const PackedSource::Options options = {
            .packing = packing, .shuffle = shuffle, .seed = 4, .epochs = 3};
        PackedSource walk = Source(options);
        std::vector<DataPosition> positions;
        for (; !walk.at_end(); NextRow(walk)) positions.push_back(walk.position());
        const PackedSource source = Source(options);
        const auto rows = static_cast<int64_t>(positions.size());
        EXPECT_EQ(*source.CountRows({}, 3), rows);
        EXPECT_EQ(*source.CountRows({.epoch = 3}, 3), 0);
        for (int64_t done = 0; done < rows; done += done % 64 < 62 ? 61 : 1) {
          EXPECT_EQ(*source.CountRows(positions[static_cast<size_t>(done)], 3), rows - done);
        }
        EXPECT_EQ(source.position(), DataPosition{});
      }
    }
  }
}

// The lengths are those that rows have when they are cut where positions begin again, with padding
// as one more sample.
TEST_F(PackedSourceTest, CountsTheLengthsOfSamplesInTheFirstRows) {
  for (const int count : {1, 700, 2300}) {
    Make(count);
    for (const bool packing : {true, false}) {
      const PackedSource::Options options = {.packing = packing, .seed = 4};
      PackedSource walk = Source(options);
      const std::vector<Row> rows = Epoch(walk);
      const PackedSource source = Source(options);
      for (const size_t some : {size_t{0}, size_t{1}, rows.size() / 2, rows.size()}) {
        SampleLengthCounter counter;
        for (size_t row = 0; row < some; ++row) {
          for (const Found& found : SamplesOf(rows[row])) {
            counter.Add(static_cast<int64_t>(found.ids.size()));
          }
        }
        const auto lengths = source.CountLengths(static_cast<int64_t>(some));
        ASSERT_TRUE(lengths.ok()) << lengths.status();
        EXPECT_EQ(*lengths, counter.Finish()) << count << " samples, " << some << " rows";
        EXPECT_EQ(TokensOf(*lengths), CheckedU64(some * kSequence));
      }
      // More rows than an epoch has: those of one epoch.
      EXPECT_EQ(*source.CountLengths(int64_t{1} << 60),
                *source.CountLengths(static_cast<int64_t>(rows.size())));
      EXPECT_EQ(source.position(), DataPosition{});
    }
  }
}

// A run by epochs has every sample once in each, and then padding without end.
TEST_F(PackedSourceTest, EndsAfterItsEpochs) {
  Make(300);
  PackedSource source = Source({.seed = 2, .epochs = 2});
  PackedSource endless = Source({.seed = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_FALSE(source.at_end());
    const std::vector<Row> rows = Epoch(source);
    CheckOnce(rows, 300);
    const std::vector<Row> same = Epoch(endless);
    ASSERT_EQ(rows.size(), same.size());
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(Ids(rows[i]), Ids(same[i]));
  }
  EXPECT_TRUE(source.at_end());
  EXPECT_EQ(Ids(NextRow(source)), std::vector<int32_t>(kSequence));
  EXPECT_EQ(source.position(), (DataPosition{.epoch = 2}));
  EXPECT_TRUE(source.Seek({.epoch = 2}).ok());
  EXPECT_FALSE(source.Seek({.epoch = 2, .index = 1}).ok());
  EXPECT_FALSE(source.Seek({.epoch = 3}).ok());
  ASSERT_TRUE(source.Seek({.epoch = 1}).ok());
  EXPECT_FALSE(source.at_end());
}

TEST_F(PackedSourceTest, TheTwoPartsOfASplitShareNoSample) {
  Make(500);
  std::vector<int32_t> all;
  for (const SampleSplit::Part part : {SampleSplit::Part::kTrain, SampleSplit::Part::kEval}) {
    const auto split = SampleSplit::Create(500, 0.2, 9, part);
    ASSERT_TRUE(split.ok());
    PackedSource source(*cache_, *split, {.seed = 9});
    const size_t count = part == SampleSplit::Part::kTrain ? 400 : 100;
    for (int epoch = 0; epoch < 2; ++epoch) {
      const std::vector<int32_t> part_order = CheckOnce(Epoch(source), count);
      if (epoch == 0) all.insert(all.end(), part_order.begin(), part_order.end());
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 500u);
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST_F(PackedSourceTest, AfterAnErrorThePositionIsAsBefore) {
  Make(40);
  const std::string path = JoinPath(folder_, "samples.tokens");
  const std::string good = ReadBytes(*io_, path);
  PackedSource source = Source({.seed = 1});
  const Row first = NextRow(source);
  const DataPosition position = source.position();
  WriteBytes(*io_, path, good.substr(0, CacheHeaderBytes().value()));
  Row batch(2 * kSequence);
  EXPECT_TRUE(absl::IsDataLoss(source.Fill(batch).status()));
  EXPECT_EQ(source.position(), position);
  WriteBytes(*io_, path, good);
  ASSERT_TRUE(source.Fill(batch).ok());
  PackedSource other = Source({.seed = 1});
  EXPECT_EQ(Ids(NextRow(other)), Ids(first));
  EXPECT_EQ(Ids(NextRow(other)), Ids(Row(batch.begin(), batch.begin() + kSequence)));
}

}  // namespace
}  // namespace horizon
