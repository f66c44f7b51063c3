#include "runtime/loop/append_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/signal_flag.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class AppendFileTest : public testing::Test {
 protected:
  AppendFile::Listener Listener() {
    return [this](const std::string& text) { warnings_.push_back(text); };
  }
  static std::string Line(int64_t step) { return StrCat("{\"step\": ", step, "}\n"); }
  static std::string Lines(int64_t first, int64_t last) {
    std::string text;
    for (int64_t step = first; step <= last; ++step) text += Line(step);
    return text;
  }
  std::string Text() { return ReadBytes(*io_, path_); }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string path_ = JoinPath(MakeTestFolder(*io_), "lines.jsonl");
  std::vector<std::string> warnings_;
};

TEST_F(AppendFileTest, AddsLinesAndGoesOnInALaterRun) {
  for (const int64_t first : {1, 3}) {
    AppendFile file(*io_, LinesAt(path_), Listener());
    ASSERT_TRUE(file.Open().ok());
    file.Append(Line(first));
    file.Append(Line(first + 1));
  }
  EXPECT_EQ(Text(), Lines(1, 4));
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(AppendFileTest, ALineIsOneWriteAndSeenAtOnce) {
  FaultingIo io(*io_, {});
  AppendFile file(io, LinesAt(path_), Listener());
  file.Append(Line(1));
  const uint64_t before = io.calls();
  file.Append(Line(2));
  EXPECT_EQ(io.calls(), before + 1);
  EXPECT_EQ(io.history().back(), "WriteAt " + path_);
  EXPECT_EQ(Text(), Lines(1, 2));
}

TEST_F(AppendFileTest, AFileWithoutLinesIsNotMade) {
  { const AppendFile file(*io_, LinesAt(path_), Listener()); }
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(AppendFileTest, WhatAKilledProcessLeftOfALineIsCutOff) {
  const std::string longer_than_a_piece(10'000, 'x');
  for (const std::string& left : {std::string("{"), std::string("{\"st"), longer_than_a_piece}) {
    for (const std::string& before : {std::string(), Lines(1, 1), Lines(1, 2000)}) {
      WriteBytes(*io_, path_, before + left);
      AppendFile file(*io_, LinesAt(path_), Listener());
      ASSERT_TRUE(file.Open().ok());
      EXPECT_EQ(Text(), before);
      file.Append(Line(3));
      EXPECT_EQ(Text(), before + Line(3));
    }
  }
}

// At every moment the file holds whole lines from the first on, and in the end all of them, if the
// disk took calls again.
TEST_F(AppendFileTest, WhicheverCallFailsReadersSeeWholeLinesAndNoneIsLost) {
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    const uint64_t hit =
        ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, [&](FaultingIo& io) {
          WriteBytes(*io_, path_, "");
          warnings_.clear();
          bool back = false;
          {
            AppendFile file(io, LinesAt(path_), Listener());
            for (int64_t step = 1; step <= 6; ++step) {
              file.Append(Line(step));
              const std::string text = Text();
              EXPECT_TRUE(Lines(1, step).starts_with(text)) << text;
              EXPECT_TRUE(text.empty() || text.back() == '\n') << text;
              if (step == 4) file.Sync();
            }
            back = file.kept_bytes() == 0;
          }
          const std::string text = Text();
          EXPECT_TRUE(Lines(1, 6).starts_with(text)) << text;
          EXPECT_TRUE(text.empty() || text.back() == '\n') << text;
          if (back) {
            EXPECT_EQ(text, Lines(1, 6));
          }
          EXPECT_LE(warnings_.size(), 2u);
        });
    EXPECT_GT(hit, 10u);
  }
}

TEST_F(AppendFileTest, IsSaidOnceWhenLinesAreKeptAndOnceWhenTheyAreWritten) {
  // Calls: Open, Info, Open, (no ReadAt: it is empty), then a write each.
  FaultingIo io(*io_, {.kind = FaultPlan::Kind::kShort, .at_call = 5, .error_number = ENOSPC});
  AppendFile file(io, LinesAt(path_), Listener());
  file.Append(Line(1));
  EXPECT_THAT(warnings_, ElementsAre());
  file.Append(Line(2));
  ASSERT_TRUE(io.reached());
  EXPECT_EQ(Text(), Lines(1, 1));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("No space left"), HasSubstr("Training goes on"),
                                  HasSubstr("kept in memory (at most 1 MiB)")));
  file.Append(Line(3));
  EXPECT_EQ(Text(), Lines(1, 3));
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[1], HasSubstr("is written again; no line is lost"));
}

TEST_F(AppendFileTest, KeepsTheNewestLinesOfABoundedAmount) {
  FaultingIo io(*io_, {.extent = FaultPlan::Extent::kFromThereOn, .at_call = 1});
  const std::string line = std::string(100'000, 'x') + "\n";
  {
    AppendFile file(io, LinesAt(path_), Listener());
    for (int i = 0; i < 25; ++i) file.Append(line);
    EXPECT_LE(file.kept_bytes(), AppendFile::kMostKept);
    EXPECT_EQ(file.kept_bytes(), 10 * line.size());
    EXPECT_EQ(file.lost_entries(), 15);
    file.Append(std::string(2 * AppendFile::kMostKept, 'y'));  // never fits
    EXPECT_EQ(file.kept_bytes(), 0u);
    EXPECT_EQ(file.lost_entries(), 26);
    file.Append(Line(1));
  }
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[1], HasSubstr("27 lines"));
}

TEST_F(AppendFileTest, AFolderThatIsMissingIsAnErrorWithItsName) {
  AppendFile file(*io_, LinesAt(JoinPath(path_, "no/lines.jsonl")), Listener());
  EXPECT_THAT(std::string(file.Open().message()), HasSubstr(path_));
}

// The kernel's own refusal, which takes what fits and not the rest: every size of the file.
TEST_F(AppendFileTest, ALimitOnFileSizesLeavesNoPartOfALine) {
  IgnoreWriteSignals();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto limit = [&](rlim_t bytes) {
    const rlimit now{.rlim_cur = bytes, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  };
  const std::string all = Lines(1, 4);
  for (size_t bytes = 0; bytes <= all.size(); ++bytes) {
    WriteBytes(*io_, path_, "");
    AppendFile file(*io_, LinesAt(path_), Listener());
    limit(bytes);
    for (int64_t step = 1; step <= 4; ++step) file.Append(Line(step));
    limit(before.rlim_cur);
    const size_t fits = all.rfind('\n', bytes == 0 ? 0 : bytes - 1);
    EXPECT_EQ(Text(), bytes == 0 || fits == std::string::npos ? "" : all.substr(0, fits + 1));
    file.Append(Line(5));
    EXPECT_EQ(Text(), Lines(1, 5)) << bytes;
  }
}

// A file whose first bytes say what it is: they come with the first entry, in a file of their own
// or not at all, and are not lost with the oldest entries.
TEST_F(AppendFileTest, AHeaderComesBeforeTheFirstEntryWhicheverCallFails) {
  const AppendFile::Options options{.path = path_, .entry = "record", .header = "head"};
  {
    AppendFile file(*io_, options, Listener());
    ASSERT_TRUE(file.Open().ok());
    EXPECT_EQ(Text(), "");
    file.Append("one");
    EXPECT_EQ(Text(), "headone");
  }
  AppendFile(*io_, options, Listener()).Append("two");
  EXPECT_EQ(Text(), "headonetwo");
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, [&](FaultingIo& io) {
      WriteBytes(*io_, path_, "");
      AppendFile file(io, options, Listener());
      for (const std::string_view entry : {"aaa", "bbb", "ccc"}) {
        file.Append(entry);
        const std::string text = Text();
        EXPECT_TRUE(text.empty() || (text.size() - 4) % 3 == 0) << text;
        EXPECT_TRUE(std::string("headaaabbbccc").starts_with(text)) << text;
      }
      if (file.kept_bytes() == 0) {
        EXPECT_EQ(Text(), "headaaabbbccc");
      }
    });
  }
}

}  // namespace
}  // namespace horizon
