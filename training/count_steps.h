#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/data/packed_source.h"
#include "schedule/training_job.h"

namespace horizon {

// How many steps a training by epochs takes. An epoch gives every sample once. Samples are packed
// into rows, so how many rows that is follows from their lengths; a step takes micro-batch x
// gradient-accumulation of them, and the last step gets what is left, filled up with padding:
//   3 epochs of 700 rows, 2 x 8 rows a step: 2,100 rows, 132 steps, the last one of 4 rows
struct CountedSteps {
  int64_t samples = 0;    // of one epoch
  int64_t done = 0;       // steps that a run that goes on has done already
  int64_t rows = 0;       // that are left to train on, in all epochs
  int64_t steps = 0;      // of the whole run, including those done
  int64_t last_rows = 0;  // of the last step, 1 to `full_rows`; 0: no row is left
  int64_t full_rows = 0;  // of every other step
};

// Counts the steps of `epochs` (>= 1) passes over the data, for a run that has done `done` steps
// and goes on at `position`: {} and 0 for a new one. It reads the lengths of all samples and no
// tokens (PackedSource::CountRows). To know the length of a training before it is planned:
//   ASSIGN_OR_RETURN(const TrainingData data, OpenJobData(io, clock, log, settings, spec, job));
//   ASSIGN_OR_RETURN(const CountedSteps counted, CountSteps(*data.train, job, 3));
absl::StatusOr<CountedSteps> CountSteps(const PackedSource& data, const TrainingJob& job,
                                        int64_t epochs, DataPosition position = {},
                                        int64_t done = 0);

// "3 epochs of 1,000 samples: 2,100 rows in 132 steps, the last one of 4 rows instead of 16". Of a
// run that goes on, the rows and steps that are left.
std::string DescribeCount(const CountedSteps& counted, int64_t epochs);

}  // namespace horizon
