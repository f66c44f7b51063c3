#include "app/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include "common/failure_source.h"
#include "common/files/io.h"

namespace horizon {
namespace {

absl::Status Error(absl::StatusCode code) { return absl::Status(code, "message"); }

int CodeOf(const absl::Status& status) { return static_cast<int>(ExitCodeOf(status)); }

TEST(ExitCode, EveryStatusCodeHasItsPlaceInTheTable) {
  const std::map<absl::StatusCode, int> table = {
      {absl::StatusCode::kOk, 0},
      {absl::StatusCode::kCancelled, 75},
      {absl::StatusCode::kUnknown, 1},
      {absl::StatusCode::kInvalidArgument, 2},
      {absl::StatusCode::kDeadlineExceeded, 8},
      {absl::StatusCode::kNotFound, 2},
      {absl::StatusCode::kAlreadyExists, 1},
      {absl::StatusCode::kPermissionDenied, 1},
      {absl::StatusCode::kResourceExhausted, 3},
      {absl::StatusCode::kFailedPrecondition, 3},
      {absl::StatusCode::kAborted, 1},
      {absl::StatusCode::kOutOfRange, 1},
      {absl::StatusCode::kUnimplemented, 1},
      {absl::StatusCode::kInternal, 1},
      {absl::StatusCode::kUnavailable, 1},
      {absl::StatusCode::kDataLoss, 4},
      {absl::StatusCode::kUnauthenticated, 1},
  };
  constexpr int kStatusCodes = 17;  // 0 to 16, the canonical codes
  ASSERT_EQ(table.size(), kStatusCodes);
  for (int code = 0; code < kStatusCodes; ++code) {
    const auto status_code = static_cast<absl::StatusCode>(code);
    ASSERT_TRUE(table.contains(status_code)) << code;
    EXPECT_EQ(CodeOf(Error(status_code)), table.at(status_code)) << code;
  }
}

TEST(ExitCode, FailedFileCallsAreSixWhateverTheirCode) {
  for (const int error :
       {EIO, ENOSPC, EDQUOT, EMFILE, EACCES, EPERM, EEXIST, EPIPE, EBADF, EROFS}) {
    EXPECT_EQ(CodeOf(IoError(error, "write 'x'")), 6) << error;
  }
}

TEST(ExitCode, AFileThatIsNotThereIsMisuse) { EXPECT_EQ(CodeOf(IoError(ENOENT, "open 'x'")), 2); }

TEST(ExitCode, OnlyADevicesUnavailableAndInternalAreFive) {
  auto device = [](absl::StatusCode code) {
    return CodeOf(WithFailureSource(Error(code), FailureSource::kDevice));
  };
  EXPECT_EQ(device(absl::StatusCode::kUnavailable), 5);
  EXPECT_EQ(device(absl::StatusCode::kInternal), 5);
  EXPECT_EQ(device(absl::StatusCode::kResourceExhausted), 3);
  EXPECT_EQ(device(absl::StatusCode::kInvalidArgument), 2);
  EXPECT_EQ(device(absl::StatusCode::kDeadlineExceeded), 8);
}

TEST(ExitCode, NumbersThatAreNotFiniteAreSeven) {
  for (const auto code : {absl::StatusCode::kInternal, absl::StatusCode::kOutOfRange,
                          absl::StatusCode::kFailedPrecondition}) {
    EXPECT_EQ(CodeOf(WithFailureSource(Error(code), FailureSource::kNumerics)), 7);
  }
}

TEST(ExitCode, OkCarriesNoMark) {
  EXPECT_EQ(CodeOf(WithFailureSource(absl::OkStatus(), FailureSource::kDevice)), 0);
  EXPECT_EQ(CodeOf(WithFailureSource(absl::OkStatus(), FailureSource::kNumerics)), 0);
}

TEST(FailureSource, IsReplacedAndRemoved) {
  absl::Status status = Error(absl::StatusCode::kInternal);
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kOther);
  status = WithFailureSource(status, FailureSource::kDevice);
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kDevice);
  status = WithFailureSource(status, FailureSource::kNumerics);
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics);
  status = WithFailureSource(status, FailureSource::kOther);
  EXPECT_EQ(FailureSourceOf(status), FailureSource::kOther);
}

}  // namespace
}  // namespace horizon
