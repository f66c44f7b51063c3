#include "common/failure_source.h"

#include "absl/strings/cord.h"

namespace horizon {
namespace {

constexpr char kPayload[] = "horizon/failure-source";
constexpr char kDeviceMark[] = "device";
constexpr char kNumericsMark[] = "numerics";

}  // namespace

absl::Status WithFailureSource(absl::Status status, FailureSource source) {
  switch (source) {
    case FailureSource::kOther:
      status.ErasePayload(kPayload);
      break;
    case FailureSource::kDevice:
      status.SetPayload(kPayload, absl::Cord(kDeviceMark));
      break;
    case FailureSource::kNumerics:
      status.SetPayload(kPayload, absl::Cord(kNumericsMark));
      break;
  }
  return status;
}

FailureSource FailureSourceOf(const absl::Status& status) {
  const auto mark = status.GetPayload(kPayload);
  if (!mark.has_value()) return FailureSource::kOther;
  if (*mark == kDeviceMark) return FailureSource::kDevice;
  if (*mark == kNumericsMark) return FailureSource::kNumerics;
  return FailureSource::kOther;
}

}  // namespace horizon
