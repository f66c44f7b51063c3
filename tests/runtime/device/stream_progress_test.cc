#include "runtime/device/stream_progress.h"

#include <gtest/gtest.h>

namespace horizon {
namespace {

using Kind = StreamProgress::Kind;

TEST(StreamProgress, TheFirstPieceNotDoneIsSuspected) {
  StreamProgress progress;
  progress.AddStream("compute");
  EXPECT_EQ(progress.Suspects(false), "");
  for (const char* name : {"one", "two", "three"}) progress.AddWork(0, Kind::kKernel, name);
  EXPECT_EQ(progress.Suspects(false), "'one' on stream compute");
  progress.SetDone(0, 2);
  EXPECT_EQ(progress.Suspects(false), "'three' on stream compute");
  progress.SetDone(0, 1);
  EXPECT_EQ(progress.Suspects(false), "'three' on stream compute") << "what is done stays done";
  progress.SetDone(progress.End(0));
  EXPECT_EQ(progress.Suspects(false), "");
}

TEST(StreamProgress, AStreamThatWaitsForAnotherIsNotSuspected) {
  StreamProgress progress;
  progress.AddStream("load");
  progress.AddStream("compute");
  progress.AddWork(0, Kind::kCopy, "load 0");
  progress.AddWait(1, progress.End(0));
  progress.AddWork(1, Kind::kKernel, "forward 0");
  progress.AddWork(0, Kind::kCopy, "load 1");
  EXPECT_EQ(progress.Suspects(false), "'load 0' on stream load");
  progress.SetDone(0, 1);
  EXPECT_EQ(progress.Suspects(false), "'load 1' on stream load or 'forward 0' on stream compute");
  EXPECT_EQ(progress.Suspects(true), "'forward 0' on stream compute");
  progress.SetDone(1, 2);
  EXPECT_EQ(progress.Suspects(true), "'load 1' on stream load") << "there is no kernel";
}

TEST(StreamProgress, MarksOf32BitsCountOn) {
  StreamProgress progress;
  progress.AddStream("s");
  progress.SetDone({0, (uint64_t{1} << 32) - 2});
  progress.SetDone(0, 1);
  EXPECT_TRUE(progress.IsDone({0, (uint64_t{1} << 32) + 1}));
  EXPECT_FALSE(progress.IsDone({0, (uint64_t{1} << 32) + 2}));
  progress.SetDone(0, 0);
  EXPECT_TRUE(progress.IsDone({0, (uint64_t{1} << 32) + 1})) << "an old mark changes nothing";
}

}  // namespace
}  // namespace horizon
