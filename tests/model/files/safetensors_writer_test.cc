#include "model/files/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "model/files/safetensors_reader.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class SafetensorsWriterTest : public testing::Test {
 protected:
  absl::Status CreateStatus(const std::vector<TensorDeclaration>& tensors) {
    return SafetensorsWriter::Create(*io_, path_, tensors).status();
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  std::string path_ = JoinPath(folder_, "out.safetensors");
};

const std::vector<TensorDeclaration>& Sample() {
  static const std::vector<TensorDeclaration> tensors = {
      {"bytes", Dtype::kU8, {7}}, {"empty", Dtype::kF64, {0, 3}}, {"halves", Dtype::kBF16, {3, 3}},
      {"one", Dtype::kF64, {}},   {"nibbles", Dtype::kF4, {2}},   {"floats", Dtype::kF32, {5}}};
  return tensors;
}

// Writes Sample() in pieces of `piece` bytes.
absl::Status WriteSample(Io& io, const std::string& path, size_t piece, Bytes buffer) {
  auto writer = SafetensorsWriter::Create(io, path, Sample(),
                                          {.metadata = {{"format", "pt"}}, .buffer = buffer});
  if (!writer.ok()) return writer.status();
  unsigned seed = 0;
  for (const TensorDeclaration& tensor : Sample()) {
    const auto bytes = PatternBytes((*writer)->header().Find(tensor.name)->bytes().value(), seed++);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      const auto part = std::span(bytes).subspan(at, std::min(piece, bytes.size() - at));
      if (absl::Status status = (*writer)->Append(tensor.name, part); !status.ok()) return status;
    }
  }
  return (*writer)->Finish();
}

void ExpectSample(Io& io, const std::string& path) {
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(io, path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(reader->header().tensors().size(), Sample().size());
  ASSERT_EQ(reader->header().metadata().size(), 1);
  EXPECT_EQ(reader->header().metadata()[0].second, "pt");
  unsigned seed = 0;
  for (const TensorDeclaration& tensor : Sample()) {
    const TensorEntry* entry = reader->header().Find(tensor.name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->dtype, tensor.dtype);
    EXPECT_EQ(entry->shape, tensor.shape);
    std::vector<std::byte> bytes(entry->bytes().value());
    ASSERT_TRUE(reader->ReadTensor(tensor.name, bytes).ok());
    EXPECT_EQ(bytes, PatternBytes(bytes.size(), seed++)) << tensor.name;
  }
}

TEST_F(SafetensorsWriterTest, TheSameFileComesOutOfAnyPiecesAndBuffer) {
  std::string first;
  for (const size_t piece : {1, 2, 3, 8, 1000}) {
    for (const uint64_t buffer : {0, 1, 2, 5, 64, 100000}) {
      const std::string path = JoinPath(folder_, StrCat("p", piece, "_b", buffer));
      const absl::Status status = WriteSample(*io_, path, piece, Bytes(CheckedU64(buffer)));
      ASSERT_TRUE(status.ok()) << status;
      ExpectSample(*io_, path);
      const std::string bytes = ReadBytes(*io_, path);
      if (first.empty()) first = bytes;
      ASSERT_EQ(bytes, first) << piece << " " << buffer;
    }
  }
}

TEST_F(SafetensorsWriterTest, TensorsAndDataSectionAreAligned) {
  ASSERT_TRUE(WriteSample(*io_, path_, 100, 4_KiB).ok());
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->header_bytes().value() % 8, 0);
  for (const TensorEntry& tensor : reader->header().tensors()) {
    if (BitsOf(tensor.dtype) < 8) continue;
    EXPECT_EQ(tensor.begin % (BitsOf(tensor.dtype) / 8), 0) << tensor.name;
  }
}

TEST_F(SafetensorsWriterTest, SmallPiecesAreGatheredAndLargeOnesAreNotCopied) {
  RecordingIo recording(*io_);
  auto writer = SafetensorsWriter::Create(
      recording, path_, {{"a", Dtype::kU8, {1000}}, {"b", Dtype::kU8, {5000}}}, {.buffer = 100_B});
  ASSERT_TRUE(writer.ok()) << writer.status();
  recording.transfers.clear();
  const std::vector<std::byte> small(1);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*writer)->Append("a", small).ok());
  EXPECT_LE(recording.transfers.size(), 10);
  for (const Transfer& transfer : recording.transfers) EXPECT_EQ(transfer.bytes, 100);
  recording.transfers.clear();
  const std::vector<std::byte> large(5000);
  ASSERT_TRUE((*writer)->Append("b", large).ok());
  ASSERT_EQ(recording.transfers.size(), 2) << "what was gathered, then the piece";
  EXPECT_EQ(recording.transfers[1].memory, large.data());
  EXPECT_TRUE((*writer)->Finish().ok());
}

TEST_F(SafetensorsWriterTest, TensorsMayComeInAnyOrderAndTakeTurns) {
  auto writer = SafetensorsWriter::Create(
      *io_, path_, {{"a", Dtype::kU8, {4}}, {"b", Dtype::kU8, {4}}}, {.buffer = 64_B});
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto a = PatternBytes(4, 1);
  const auto b = PatternBytes(4, 2);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE((*writer)->Append("b", std::span(b).subspan(i, 1)).ok());
    ASSERT_TRUE((*writer)->Append("a", std::span(a).subspan(i, 1)).ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ((*writer)->file_bytes().value(), ReadBytes(*io_, path_).size());
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, path_);
  ASSERT_TRUE(reader.ok());
  std::vector<std::byte> found(4);
  ASSERT_TRUE(reader->ReadTensor("a", found).ok());
  EXPECT_EQ(found, a);
  ASSERT_TRUE(reader->ReadTensor("b", found).ok());
  EXPECT_EQ(found, b);
}

TEST_F(SafetensorsWriterTest, AMissingByteIsNoticedAndTheFileRemoved) {
  auto writer = SafetensorsWriter::Create(*io_, path_, Sample());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("bytes", PatternBytes(6, 0)).ok());
  const absl::Status status = (*writer)->Finish();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_FALSE(FileExists(*io_, path_));
  EXPECT_EQ((*writer)->Finish(), status) << "the first error stays";
}

TEST_F(SafetensorsWriterTest, OnlyTheLastByteMissingIsNoticedToo) {
  auto writer = SafetensorsWriter::Create(*io_, path_, {{"a", Dtype::kU8, {3}}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("a", PatternBytes(2, 0)).ok());
  const absl::Status status = (*writer)->Finish();
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"a\""));
  EXPECT_THAT(std::string(status.message()), HasSubstr("got 2 of its 3 bytes"));
}

TEST_F(SafetensorsWriterTest, AByteTooManyIsAnErrorThatStays) {
  auto writer = SafetensorsWriter::Create(*io_, path_, Sample());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Append("bytes", PatternBytes(7, 0)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Append("bytes", PatternBytes(1, 0))));
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Append("floats", PatternBytes(20, 0))));
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Finish()));
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(SafetensorsWriterTest, AnUndeclaredTensorIsRefused) {
  auto writer = SafetensorsWriter::Create(*io_, path_, Sample());
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(absl::IsInvalidArgument((*writer)->Append("byte", {})));
}

TEST_F(SafetensorsWriterTest, AWriterThatIsDroppedLeavesNothing) {
  {
    auto writer = SafetensorsWriter::Create(*io_, path_, Sample());
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(FileExists(*io_, path_));
  }
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(SafetensorsWriterTest, AnExistingFileIsLeftAlone) {
  WriteBytes(*io_, path_, "precious");
  EXPECT_TRUE(absl::IsAlreadyExists(CreateStatus(Sample())));
  EXPECT_EQ(ReadBytes(*io_, path_), "precious");
}

TEST_F(SafetensorsWriterTest, DeclarationsThatCouldNotBeReadBackAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::vector<std::vector<TensorDeclaration>> bad = {
      {{"a", Dtype::kU8, {1}}, {"a", Dtype::kU8, {2}}},
      {{"\xFF", Dtype::kU8, {1}}},
      {{"__metadata__", Dtype::kU8, {1}}},
      {{"a", Dtype::kU8, {-1}}},
      {{"a", Dtype::kU8, {-1, -1}}},
      {{"a", Dtype::kF4, {3}}},
      {{"a", Dtype::kU8, {kHuge, 4, 0}}},
      {{"a", Dtype::kF64, {kHuge}}},
  };
  for (const auto& tensors : bad) {
    const absl::Status status = CreateStatus(tensors);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << tensors[0].name << ": " << status;
    EXPECT_FALSE(FileExists(*io_, path_));
  }
}

TEST_F(SafetensorsWriterTest, MetadataThatCouldNotBeReadBackAreRefused) {
  for (const SafetensorsMetadata& metadata :
       {SafetensorsMetadata{{"k", "\xFF"}}, SafetensorsMetadata{{"\xC0\x80", "v"}},
        SafetensorsMetadata{{"k", "1"}, {"k", "2"}}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        SafetensorsWriter::Create(*io_, path_, Sample(), {.metadata = metadata}).status()));
    EXPECT_FALSE(FileExists(*io_, path_));
  }
}

class WriterFaults : public SafetensorsWriterTest, public testing::WithParamInterface<FaultPlan> {};

INSTANTIATE_TEST_SUITE_P(
    Plans, WriterFaults,
    testing::Values(FaultPlan{.kind = FaultPlan::Kind::kFail, .error_number = EIO},
                    FaultPlan{.kind = FaultPlan::Kind::kFail, .error_number = ENOSPC},
                    FaultPlan{.kind = FaultPlan::Kind::kShort, .error_number = ENOSPC},
                    FaultPlan{.kind = FaultPlan::Kind::kFail, .error_number = EDQUOT}));

TEST_P(WriterFaults, AreReportedAndLeaveNoFileThatLooksWhole) {
  const uint64_t hit = ForEachFault(*io_, GetParam(), [&](FaultingIo& io) {
    const absl::Status status = WriteSample(io, path_, 3, 16_B);
    if (!io.reached()) {
      ASSERT_TRUE(status.ok()) << status;
      ExpectSample(*io_, path_);
      ASSERT_TRUE(io_->Unlink(path_).ok());
      return;
    }
    EXPECT_EQ(IoErrno(status), GetParam().error_number) << status;
    if (!FileExists(*io_, path_)) return;
    // It may stay only where removing it fails as well, as on a disk that is gone.
    EXPECT_THAT(io.history().back(), HasSubstr("Unlink"));
    ASSERT_TRUE(io_->Unlink(path_).ok());
  });
  EXPECT_GT(hit, 10);
}

TEST_F(SafetensorsWriterTest, IsSyncedBeforeItIsClosedAndNeverSyncedAgain) {
  ForEachFault(*io_, {}, [&](FaultingIo& io) {
    WriteSample(io, path_, 100, 4_KiB).IgnoreError();
    std::vector<std::string> ends;
    for (const std::string& call : io.history()) {
      if (call.starts_with("Sync") || call.starts_with("Close")) ends.push_back(call.substr(0, 4));
    }
    EXPECT_LE(std::count(ends.begin(), ends.end(), "Sync"), 1);
    if (!io.reached()) {
      EXPECT_EQ(ends, (std::vector<std::string>{"Sync", "Clos"}));
    }
    if (FileExists(*io_, path_)) {
      ASSERT_TRUE(io_->Unlink(path_).ok());
    }
  });
}

rc::Gen<TensorDeclaration> AnyTensor() {
  return rc::gen::exec([] {
    TensorDeclaration tensor;
    tensor.dtype = *rc::gen::elementOf(std::vector<Dtype>(AllDtypes().begin(), AllDtypes().end()));
    const int rank = *rc::gen::inRange(0, 5);
    for (int i = 0; i < rank; ++i) tensor.shape.push_back(*rc::gen::inRange<int64_t>(0, 6));
    if (BitsOf(tensor.dtype) < 8) tensor.shape.push_back(4);
    tensor.name = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
    return tensor;
  });
}

TEST_F(SafetensorsWriterTest, WhatIsWrittenIsReadBackWhateverItIs) {
  int run = 0;
  EXPECT_TRUE(rc::check([&] {
    std::map<std::string, TensorDeclaration> by_name;
    for (TensorDeclaration& tensor :
         *rc::gen::container<std::vector<TensorDeclaration>>(AnyTensor())) {
      by_name[tensor.name] = tensor;
    }
    std::vector<TensorDeclaration> tensors;
    tensors.reserve(by_name.size());
    for (const auto& [name, tensor] : by_name) tensors.push_back(tensor);
    const std::string path = JoinPath(folder_, StrCat("run", run++));
    auto writer = SafetensorsWriter::Create(
        *io_, path, tensors,
        {.metadata = {{*rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127)), "v"}},
         .buffer = Bytes(CheckedU64(*rc::gen::inRange<uint64_t>(0, 200)))});
    RC_ASSERT(writer.ok());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto bytes =
          PatternBytes((*writer)->header().Find(tensors[i].name)->bytes().value(), i);
      size_t at = 0;
      while (at < bytes.size()) {
        const size_t piece = std::min(bytes.size() - at, *rc::gen::inRange<size_t>(1, 300));
        RC_ASSERT((*writer)->Append(tensors[i].name, std::span(bytes).subspan(at, piece)).ok());
        at += piece;
      }
    }
    RC_ASSERT((*writer)->Finish().ok());
    const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(*io_, path);
    RC_ASSERT(reader.ok());
    RC_ASSERT(reader->header().tensors().size() == tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorEntry* entry = reader->header().Find(tensors[i].name);
      RC_ASSERT(entry != nullptr);
      RC_ASSERT(entry->dtype == tensors[i].dtype);
      RC_ASSERT(entry->shape == tensors[i].shape);
      std::vector<std::byte> bytes(entry->bytes().value());
      RC_ASSERT(reader->ReadTensor(tensors[i].name, bytes).ok());
      RC_ASSERT(bytes == PatternBytes(bytes.size(), i));
    }
  }));
}

}  // namespace
}  // namespace horizon
