#include "runtime/data/sample_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

namespace horizon {
namespace {

using testing::ElementsAre;

using Ids = std::vector<int32_t>;

// Keeps what it is given.
struct Kept {
  std::vector<Ids> ids;
  std::vector<Ids> labels;
  SampleSink sink() {
    return [this](std::span<const int32_t> sample, std::span<const int32_t> its_labels) {
      ids.emplace_back(sample.begin(), sample.end());
      labels.emplace_back(its_labels.begin(), its_labels.end());
      return absl::OkStatus();
    };
  }
};

TEST(SampleCutter, ASampleLongerThanTheSequenceIsCutAndCounted) {
  Kept kept;
  SampleCutter cutter(3, kept.sink());
  ASSERT_TRUE(cutter.AddSample({.ids = {1, 2, 3, 4}, .labels = {-100, -100, 3, 4}}).ok());
  ASSERT_TRUE(cutter.AddSample({.ids = {1, 2, 3}, .labels = {-100, 2, 3}}).ok());
  EXPECT_THAT(kept.ids, ElementsAre(Ids{1, 2, 3}, Ids{1, 2, 3}));
  EXPECT_THAT(kept.labels, ElementsAre(Ids{-100, -100, 3}, Ids{-100, 2, 3}));
  const DataStatistics& statistics = cutter.statistics();
  EXPECT_EQ(statistics.records, 2);
  EXPECT_EQ(statistics.samples, 2);
  EXPECT_EQ(statistics.tokens, 6);
  EXPECT_EQ(statistics.trained_tokens, 3);
  EXPECT_EQ(statistics.truncated, 1);
  EXPECT_EQ(statistics.dropped, 0);
  EXPECT_EQ(statistics.lengths.longest(), 4);
}

TEST(SampleCutter, ASampleWithNothingLeftToLearnIsDropped) {
  Kept kept;
  SampleCutter cutter(3, kept.sink());
  ASSERT_TRUE(cutter.AddSample({.ids = {1, 2, 3, 4}, .labels = {-100, -100, -100, 4}}).ok());
  // The first token cannot be trained: nothing stands before it.
  ASSERT_TRUE(cutter.AddSample({.ids = {1, 2}, .labels = {1, -100}}).ok());
  ASSERT_TRUE(cutter.AddSample({.ids = {1}, .labels = {1}}).ok());
  ASSERT_TRUE(cutter.AddSample({}).ok());
  EXPECT_TRUE(kept.ids.empty());
  EXPECT_EQ(cutter.statistics().dropped, 4);
  EXPECT_EQ(cutter.statistics().truncated, 0);
  EXPECT_EQ(cutter.statistics().records, 4);
  EXPECT_EQ(cutter.statistics().samples, 0);
}

TEST(SampleCutter, EveryTokenOfADocumentIsLearntOnceHoweverItComes) {
  for (const int64_t sequence : {2, 3, 4, 7}) {
    for (int length = 0; length < 30; ++length) {
      for (const size_t part : {1u, 2u, 5u, 100u}) {
        Kept kept;
        SampleCutter cutter(sequence, kept.sink());
        Ids document(static_cast<size_t>(length));
        std::iota(document.begin(), document.end(), 0);
        for (size_t at = 0; at < document.size(); at += part) {
          const auto piece =
              std::span(document).subspan(at).first(std::min(part, document.size() - at));
          ASSERT_TRUE(cutter.AddToDocument(piece).ok());
        }
        ASSERT_TRUE(cutter.EndDocument().ok());
        Ids trained;
        for (size_t i = 0; i < kept.ids.size(); ++i) {
          EXPECT_EQ(kept.labels[i], kept.ids[i]);
          EXPECT_GE(kept.ids[i].size(), 2u);
          EXPECT_LE(static_cast<int64_t>(kept.ids[i].size()), sequence);
          // Only the last is shorter.
          if (i + 1 < kept.ids.size()) {
            EXPECT_EQ(static_cast<int64_t>(kept.ids[i].size()), sequence);
          }
          EXPECT_EQ(kept.ids[i].front(), i == 0 ? 0 : trained.back());
          trained.insert(trained.end(), kept.ids[i].begin() + 1, kept.ids[i].end());
        }
        Ids expected = document;
        if (!expected.empty()) expected.erase(expected.begin());
        EXPECT_EQ(trained, expected) << sequence << " " << length;
        EXPECT_EQ(cutter.statistics().trained_tokens, static_cast<int64_t>(expected.size()));
        EXPECT_EQ(cutter.statistics().dropped, length < 2 ? 1 : 0);
        EXPECT_EQ(cutter.statistics().lengths.longest(), length);
      }
    }
  }
}

TEST(SampleCutter, DocumentsDoNotRunIntoEachOther) {
  Kept kept;
  SampleCutter cutter(4, kept.sink());
  for (const Ids& document : {Ids{1, 2}, Ids{3}, Ids{4, 5, 6}}) {
    ASSERT_TRUE(cutter.AddToDocument(document).ok());
    ASSERT_TRUE(cutter.EndDocument().ok());
  }
  EXPECT_THAT(kept.ids, ElementsAre(Ids{1, 2}, Ids{4, 5, 6}));
  EXPECT_EQ(cutter.statistics().records, 3);
}

TEST(SampleCutter, TheSinksErrorEndsTheWork) {
  SampleCutter cutter(2, [](auto, auto) { return absl::InternalError("full"); });
  EXPECT_FALSE(cutter.AddSample({.ids = {1, 2}, .labels = {1, 2}}).ok());
  EXPECT_FALSE(cutter.AddToDocument(Ids{1, 2}).ok());
}

TEST(SampleCutter, EndsThatAreCutOffOrMissingAreCounted) {
  Kept kept;
  SampleCutter cutter(3, kept.sink());
  const auto add = [&](std::optional<int64_t> last_end) {
    const TokenLine line = {.ids = {1, 2, 3, 4}, .labels = {-100, 2, 3, 4}, .last_end = last_end};
    ASSERT_TRUE(cutter.AddSample(line).ok());
  };
  add(3);
  EXPECT_EQ(cutter.statistics().cut_before_end, 1);
  add(2);
  add(std::nullopt);
  EXPECT_EQ(cutter.statistics().cut_before_end, 1);
  EXPECT_EQ(cutter.statistics().without_end, 0);
  add(TokenLine::kNoEnd);
  EXPECT_EQ(cutter.statistics().cut_before_end, 1);
  EXPECT_EQ(cutter.statistics().without_end, 1);
  EXPECT_EQ(cutter.statistics().truncated, 4);
}

}  // namespace
}  // namespace horizon
