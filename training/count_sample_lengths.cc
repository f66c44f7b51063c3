#include "training/count_sample_lengths.h"

#include <cstdint>
#include <limits>

#include "common/checked.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

// An epoch of rows stands for all epochs.
int64_t RowsOf(const TrainingJob& job) {
  const CheckedU64 rows = CheckedU64::FromSigned(job.steps) *
                          CheckedU64::FromSigned(job.accumulation) *
                          CheckedU64::FromSigned(job.micro_batch);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (job.epochs > 0) return kMost;
  return rows < CheckedU64(kMost) ? static_cast<int64_t>(rows.value()) : kMost;
}

}  // namespace

absl::StatusOr<std::vector<SampleLength>> CountSampleLengths(const PackedSource& data,
                                                             const TrainingJob& job) {
  ASSIGN_OR_RETURN(std::vector<SampleLength> lengths, data.CountLengths(RowsOf(job)));
  const bool fills_rows = lengths.size() == 1 && lengths.front().length == data.sequence();
  if (fills_rows) lengths.clear();
  return lengths;
}

}  // namespace horizon
