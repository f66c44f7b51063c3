#include "model/files/safetensors_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/recording_io.h"
#include "tests/model/safetensors_cases.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class SafetensorsReaderTest : public testing::Test {
 protected:
  // Three tensors of 16, 0 and 5 bytes; the data counts up from 0.
  std::string WriteSample() {
    std::string path = JoinPath(folder_, "sample.safetensors");
    WriteBytes(*io_, path,
               SafetensorsFile(StrCat("{", EntryText("a", "F32", "[2,2]", "[0,16]"), ",",
                                      EntryText("empty", "F32", "[0]", "[16,16]"), ",",
                                      EntryText("b", "U8", "[5]", "[16,21]"), "}   "),
                               21));
    return path;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

std::vector<int> Numbers(std::span<const std::byte> bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

// With HORIZON_SAFETENSORS_CASES set to a folder the files stay there for the oracle to read.
TEST_F(SafetensorsReaderTest, GivesEveryHandMadeFileItsVerdict) {
  const char* kept = ::getenv("HORIZON_SAFETENSORS_CASES");
  const std::string folder = kept == nullptr ? folder_ : kept;
  for (const SafetensorsCase& one : AllSafetensorsCases()) {
    const std::string path = JoinPath(folder, one.name + ".safetensors");
    WriteBytes(*io_, path, one.bytes);
    const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, path);
    ASSERT_EQ(reader.ok(), one.accepted) << one.name << ": " << reader.status();
    if (reader.ok()) continue;
    EXPECT_EQ(reader.status().code(), absl::StatusCode::kDataLoss) << reader.status();
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr(path));
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr(one.message)) << one.name;
  }
}

TEST_F(SafetensorsReaderTest, ReadsTensorsAndEveryRangeOfThem) {
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, WriteSample());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<std::byte> bytes(5);
  ASSERT_TRUE(reader->ReadTensor("b", bytes).ok());
  EXPECT_EQ(Numbers(bytes), (std::vector<int>{16, 17, 18, 19, 20}));
  EXPECT_TRUE(reader->ReadTensor("empty", {}).ok());
  for (uint64_t begin = 0; begin <= 16; ++begin) {
    for (uint64_t end = begin; end <= 16; ++end) {
      std::vector<std::byte> part(end - begin);
      ASSERT_TRUE(reader->ReadRange("a", begin, part).ok());
      for (uint64_t i = begin; i < end; ++i) ASSERT_EQ(part[i - begin], std::byte(i));
    }
  }
}

TEST_F(SafetensorsReaderTest, RefusesOtherSizesAndRangesAndNames) {
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, WriteSample());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<std::byte> bytes(32);
  for (const size_t size : {0, 4, 6, 21}) {
    EXPECT_TRUE(absl::IsInvalidArgument(reader->ReadTensor("b", std::span(bytes).first(size))));
  }
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const uint64_t offset : {uint64_t{1}, uint64_t{5}, uint64_t{1} << 63, kMost - 4, kMost}) {
    EXPECT_TRUE(absl::IsInvalidArgument(reader->ReadRange("b", offset, std::span(bytes).first(5))))
        << offset;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(reader->ReadRange("b", 6, {})));
  EXPECT_TRUE(reader->ReadRange("b", 5, {}).ok());
  EXPECT_TRUE(absl::IsNotFound(reader->ReadTensor("c", {})));
  EXPECT_TRUE(absl::IsNotFound(reader->ReadRange("__metadata__", 0, {})));
}

// Nothing but the tensor's bytes moves, and it moves straight to where it was asked for.
TEST_F(SafetensorsReaderTest, ReadsOneTensorOnceIntoTheCallersMemory) {
  const std::string path = WriteSample();
  RecordingIo recording(*io_);
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(recording, path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const uint64_t data = 8 + reader->header_bytes().value();
  ASSERT_EQ(recording.transfers.size(), 2);
  EXPECT_EQ(recording.transfers[0].bytes, 8);
  EXPECT_EQ(recording.transfers[1].offset, 8);
  EXPECT_EQ(Bytes(recording.transfers[1].bytes), reader->header_bytes());

  recording.transfers.clear();
  std::vector<std::byte> bytes(16);
  ASSERT_TRUE(reader->ReadTensor("a", bytes).ok());
  ASSERT_TRUE(reader->ReadRange("b", 2, std::span(bytes).first(3)).ok());
  ASSERT_EQ(recording.transfers.size(), 2);
  EXPECT_EQ(recording.transfers[0].offset, data);
  EXPECT_EQ(recording.transfers[0].bytes, 16);
  EXPECT_EQ(recording.transfers[0].memory, bytes.data());
  EXPECT_EQ(recording.transfers[1].offset, data + 16 + 2);
  EXPECT_EQ(recording.transfers[1].bytes, 3);
  EXPECT_EQ(recording.transfers[1].memory, bytes.data());
}

TEST_F(SafetensorsReaderTest, AHeaderBeyondTheCallersLimitIsNotRead) {
  const std::string path = WriteSample();
  RecordingIo recording(*io_);
  EXPECT_TRUE(absl::IsDataLoss(SafetensorsReader::Open(recording, path, 16_B).status()));
  EXPECT_EQ(recording.transfers.size(), 1) << "only the length";
}

TEST_F(SafetensorsReaderTest, WhatIsNoRegularFileIsRefusedWithoutBlocking) {
  const std::string fifo = JoinPath(folder_, "fifo.safetensors");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(SafetensorsReader::Open(*io_, fifo).ok());
  EXPECT_FALSE(SafetensorsReader::Open(*io_, folder_).ok());
  EXPECT_FALSE(SafetensorsReader::Open(*io_, "/dev/zero").ok());
  EXPECT_TRUE(absl::IsNotFound(SafetensorsReader::Open(*io_, JoinPath(folder_, "none")).status()));
}

// A mapping would end the process here.
TEST_F(SafetensorsReaderTest, AFileTruncatedAtAnyMomentIsDataLoss) {
  const std::string path = JoinPath(folder_, "large.safetensors");
  constexpr uint64_t kData = 65536;
  const std::string bytes =
      SafetensorsFile(StrCat("{", EntryText("a", "U8", "[65536]", "[0,65536]"), "}"), kData);
  std::vector<std::byte> into(kData);
  uint64_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const uint64_t length = (state >> 33) % bytes.size();
    WriteBytes(*io_, path, bytes);
    const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(length)), 0);
    const absl::Status status = reader->ReadTensor("a", into);
    ASSERT_TRUE(absl::IsDataLoss(status)) << status;
    ASSERT_THAT(std::string(status.message()), HasSubstr("tensor \"a\""));
  }
}

TEST_F(SafetensorsReaderTest, EveryTruncatedFileIsRefused) {
  const std::string whole = ReadBytes(*io_, WriteSample());
  const std::string path = JoinPath(folder_, "cut.safetensors");
  for (size_t length = 0; length < whole.size(); ++length) {
    WriteBytes(*io_, path, std::string_view(whole).substr(0, length));
    ASSERT_TRUE(absl::IsDataLoss(SafetensorsReader::Open(*io_, path).status())) << length;
  }
}

class ReaderFaults : public SafetensorsReaderTest,
                     public testing::WithParamInterface<FaultPlan::Kind> {};

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderFaults,
                         testing::Values(FaultPlan::Kind::kFail, FaultPlan::Kind::kShort,
                                         FaultPlan::Kind::kShrink));

TEST_P(ReaderFaults, AreReportedAtEveryCall) {
  const std::string path = WriteSample();
  const FaultPlan::Kind kind = GetParam();
  uint64_t failures = 0;
  ForEachFault(*io_, {.kind = kind}, [&](FaultingIo& io) {
    absl::Status status;
    {
      const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(io, path);
      status = reader.status();
      std::vector<std::byte> bytes(16);
      if (status.ok()) status = reader->ReadTensor("a", bytes);
      if (status.ok()) status = reader->ReadRange("b", 1, std::span(bytes).first(4));
    }
    if (status.ok()) {
      // Calls that cannot shrink are left alone.
      EXPECT_TRUE(!io.reached() || kind == FaultPlan::Kind::kShrink);
      return;
    }
    ++failures;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    if (kind == FaultPlan::Kind::kShrink) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    } else {
      EXPECT_EQ(IoErrno(status), EIO) << status;
    }
  });
  EXPECT_GE(failures, 8) << "two reads of the header and two of data, each in two extents";
}

}  // namespace
}  // namespace horizon
