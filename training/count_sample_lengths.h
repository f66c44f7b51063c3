#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "model/sample_lengths.h"
#include "runtime/data/packed_source.h"
#include "schedule/training_job.h"

namespace horizon {

// Finds TrainingJob::sample_lengths in the data: how long the samples are in the rows that a new
// run of this job reads: in its steps, or in one epoch if the job has epochs
// (PackedSource::CountLengths says how many of them are looked at). Empty if each row is one sample
// without padding. It reads lengths and no tokens. To plan a run with the
// attention that its samples cost:
//   ASSIGN_OR_RETURN(const TrainingData data, OpenJobData(io, clock, log, settings, spec, job));
//   ASSIGN_OR_RETURN(job.sample_lengths, CountSampleLengths(*data.train, job));
absl::StatusOr<std::vector<SampleLength>> CountSampleLengths(const PackedSource& data,
                                                             const TrainingJob& job);

}  // namespace horizon
