#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/options/data_options.h"
#include "app/options/option.h"
#include "model/model_spec.h"
#include "model/sample_lengths.h"
#include "planner/run_length.h"
#include "runtime/data/training_data.h"
#include "schedule/training_job.h"

namespace horizon {

// The length of a training that was asked for. Its data are open: how many steps they have depends
// on the batch of a job, which the planner may choose.
class AskedLength {
 public:
  AskedLength() = default;
  explicit AskedLength(RunLength given) : given_(given) {}
  AskedLength(RunLength given, TrainingData data, int64_t epochs)
      : given_(given), data_(std::move(data)), epochs_(epochs) {}

  // For a job with the sequence length and seed that the data were opened for. The steps are those
  // that `train` would do (training/count_steps.h). Its errors.
  absl::StatusOr<RunLength> Of(const TrainingJob& job) const;
  // The lengths of the samples in one epoch of the data, for TrainingJob::sample_lengths; without
  // data those of the job. Errors of CountSampleLengths.
  absl::StatusOr<std::vector<SampleLength>> SampleLengthsFor(TrainingJob job) const;

 private:
  RunLength given_;
  std::optional<TrainingData> data_;
  int64_t epochs_ = 1;
};

// The options that turn the speed of a plan into hours and money: --tokens, or --data with --epochs
// and the options for reading data, and --price-per-hour.
struct RunLengthOptions {
  std::optional<std::string> tokens;
  std::optional<double> price_per_hour;
  TrainingDataFlags data;
  std::optional<int64_t> epochs;

  void AddTo(OptionList& list);
  // Whether any of them asks for a length or a price.
  bool any() const;
  // Opens the data, if they are given, as `train` does for this job: `model` is the one that was
  // named, whose folder has the tokenizer. InvalidArgument for a number of tokens that cannot be
  // read and for options that contradict each other; errors of OpenJobData.
  absl::StatusOr<AskedLength> Open(const CommandContext& context, const std::string& model,
                                   const ModelSpec& spec, TrainingJob job) const;
};

}  // namespace horizon
