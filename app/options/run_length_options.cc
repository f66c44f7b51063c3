#include "app/options/run_length_options.h"

#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "training/count_sample_lengths.h"
#include "training/count_steps.h"
#include "training/data_settings.h"

namespace horizon {
namespace {

constexpr int64_t kMostEpochs = 1'000'000;

// Training is not evaluated here, but a share that is held out makes an epoch shorter.
bool IsForEvaluation(const Option& option) { return option.name == "eval-data"; }

}  // namespace

absl::StatusOr<RunLength> AskedLength::Of(const TrainingJob& job) const {
  if (!data_.has_value()) return given_;
  ASSIGN_OR_RETURN(const CountedSteps counted, CountSteps(*data_->train, job, epochs_));
  RunLength length = given_;
  length.data = RunData{
      .epochs = epochs_, .samples = counted.samples, .rows = counted.rows, .steps = counted.steps};
  length.tokens = static_cast<double>(counted.steps * job.accumulation * job.micro_batch_tokens());
  return length;
}

absl::StatusOr<std::vector<SampleLength>> AskedLength::SampleLengthsFor(TrainingJob job) const {
  if (!data_.has_value()) return job.sample_lengths;
  job.epochs = epochs_;
  return CountSampleLengths(*data_->train, job);
}

void RunLengthOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "tokens",
                          .value = &tokens,
                          .unit = "number",
                          .help = "Length of the training in tokens, such as 10M or 1.5B, to show "
                                  "how long it takes (default 1B)"});
  const size_t first = list.options.size();
  data.AddTo(list);
  std::erase_if(list.options, IsForEvaluation);
  for (size_t i = first; i < list.options.size(); ++i) {
    Option& option = list.options[i];
    if (option.name == "eval-share") option.group = "Data";
    if (option.name != "data") continue;
    option.help =
        "Training data, as for 'horizon train', in place of --tokens: their steps are counted";
    option.required = false;
  }
  // Beside --data, among those that most people need.
  list.options.insert(list.options.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                      {.name = "epochs",
                       .value = &epochs,
                       .unit = "passes",
                       .help = "Passes over the data of --data (default 1, or the job file's)",
                       .minimum = 1,
                       .maximum = kMostEpochs});
  list.options.push_back({.name = "price-per-hour",
                          .value = &price_per_hour,
                          .unit = "money",
                          .help = "Price of the machine per hour, to show what the training costs",
                          .minimum = 0});
}

bool RunLengthOptions::any() const {
  return tokens.has_value() || price_per_hour.has_value() || !data.paths.empty() ||
         epochs.has_value();
}

absl::StatusOr<AskedLength> RunLengthOptions::Open(const CommandContext& context,
                                                   const std::string& model, const ModelSpec& spec,
                                                   TrainingJob job) const {
  RunLength length{.price_per_hour = price_per_hour};
  if (tokens.has_value()) {
    ASSIGN_OR_RETURN(length.tokens, ParseTokens(*tokens));
  }
  if (data.paths.empty()) {
    if (!epochs.has_value()) return AskedLength(length);
    return absl::InvalidArgumentError(
        StrCat("--epochs ", *epochs,
               " counts passes over data: name them with --data, or give the "
               "length with --tokens"));
  }
  if (tokens.has_value()) {
    return absl::InvalidArgumentError(StrCat("--tokens ", *tokens, " and --data ",
                                             data.paths.front(),
                                             " both say how long to train: give one of them"));
  }
  job.model = model;
  job.epochs = epochs.value_or(job.epochs > 0 ? job.epochs : 1);
  ASSIGN_OR_RETURN(const DataSettings settings, data.ToSettings(context, ".horizon-tokens"));
  ASSIGN_OR_RETURN(TrainingData opened,
                   OpenJobData(context.io, context.clock, context.log, settings, spec, job));
  return AskedLength(length, std::move(opened), job.epochs);
}

}  // namespace horizon
