#include "app/train_options.h"

#include <algorithm>

#include "app/device_option.h"
#include "common/enum_words.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

}  // namespace

void TrainOptions::AddTo(OptionList& list) {
  const auto add = [&](Option option) { list.options.push_back(std::move(option)); };
  add({.name = "model",
       .value = &model,
       .unit = "folder, config.json or name",
       .help = "A Hugging Face folder, a config.json, or a catalog name (with --init random)",
       .required = true});
  add({.name = "init",
       .value = &init,
       .unit = "how",
       .help = "Begin with the folder's weights, or with random ones",
       .choices = {"weights", "random"}});
  add({.name = "data",
       .value = &data,
       .unit = "file",
       .help = "What to train on: text, .jsonl or .json of documents, conversations, questions "
               "and answers, or token ids",
       .required = true});
  data_flags.AddTo(list);
  add({.name = "eval-data",
       .value = &eval_data,
       .unit = "file",
       .help = "Held-out data, read as --data is, for loss and perplexity"});
  add({.name = "eval-share",
       .value = &eval_share,
       .unit = "share",
       .help = "Hold this share of the samples out instead, 0 to 0.5"});
  add({.name = "eval-every",
       .value = &eval_every,
       .unit = "steps",
       .help = "Evaluate after so many steps; 0: only after the last",
       .minimum = 0,
       .maximum = kMost});
  add({.name = "shuffle",
       .value = &shuffle,
       .unit = "true|false",
       .help = "Take the samples in an order drawn from the seed, a new one each epoch",
       .choices = {"true", "false"}});
  add({.name = "output",
       .value = &output,
       .unit = "folder",
       .help = "Where metrics, checkpoints and the trained model go; a run in it needs --resume",
       .required = true});
  add({.name = "steps",
       .value = &steps,
       .unit = "steps",
       .help = "Updates to make",
       .minimum = 1,
       .maximum = kMost});
  add({.name = "sequence",
       .value = &sequence,
       .unit = "tokens",
       .help = "Length of a sample; not given: 1024, or the model's limit where that is less",
       .minimum = 1,
       .maximum = kMost});
  add({.name = "micro-batch",
       .value = &micro_batch,
       .unit = "samples",
       .help = "Samples computed at once",
       .minimum = 1,
       .maximum = kMost});
  add({.name = "accumulate",
       .value = &accumulate,
       .unit = "micro-batches",
       .help = "Micro-batches whose gradients make one update",
       .minimum = 1,
       .maximum = kMost});
  add({.name = "learning-rate",
       .value = &learning_rate,
       .unit = "rate",
       .help = "AdamW's step size, the largest of the schedule"});
  add({.name = "schedule",
       .value = &schedule,
       .unit = "kind",
       .help = "How the learning rate goes on after the warm-up",
       .choices = AllWords<LearningRateSchedule>()});
  add({.name = "warmup",
       .value = &warmup,
       .unit = "steps",
       .help = "Steps over which the learning rate rises from 0",
       .minimum = 0,
       .maximum = kMost});
  add({.name = "beta1", .value = &beta1, .unit = "share", .help = "Decay of the first moment"});
  add({.name = "beta2", .value = &beta2, .unit = "share", .help = "Decay of the second moment"});
  add({.name = "epsilon",
       .value = &epsilon,
       .unit = "value",
       .help = "Added to the root of the second moment"});
  add({.name = "weight-decay",
       .value = &weight_decay,
       .unit = "share",
       .help = "Of matrices; norms and biases do not decay"});
  add({.name = "decay-all",
       .value = &decay_all,
       .help = "Let every parameter decay, as PyTorch's AdamW does"});
  add({.name = "clip-norm",
       .value = &clip_norm,
       .unit = "norm",
       .help = "Scale gradients of a larger global norm down to it; 0: never"});
  add({.name = "state",
       .value = &state,
       .unit = "format",
       .help = "How the optimizer's state is kept",
       .choices = AllWords<StateFormat>()});
  add({.name = "optimizer-place",
       .value = &optimizer_place,
       .unit = "place",
       .help = "When a chunk is updated; in_backward needs --clip-norm 0",
       .choices = AllWords<OptimizerPlace>()});
  add({.name = "seed",
       .value = &seed,
       .unit = "number",
       .help = "Of the order of samples, random weights and stochastic rounding",
       .minimum = 0});
  add({.name = "compute",
       .value = &compute,
       .unit = "type",
       .help = "Weights as compute reads them; sums are fp32 either way",
       .choices = AllWords<NumberType>()});
  add({.name = "gradients",
       .value = &gradients,
       .unit = "type",
       .help = "Gradients as they leave the device; not given: as --compute",
       .choices = AllWords<NumberType>()});
  add({.name = "plan",
       .value = &plan,
       .unit = "auto|plan.json",
       .help = "What to follow; auto is the planner's choice for this machine"});
  add(DeviceOption(device));
  add({.name = "device-memory",
       .value = &device_memory,
       .unit = "bytes",
       .help = "Memory of the device; not given: a quarter of the RAM, or what a GPU has free",
       .minimum = 1});
  add({.name = "link",
       .value = &link,
       .unit = "bytes/s",
       .help = "Hold copies to and from device host to this bandwidth, each way"});
  add({.name = "threads",
       .value = &threads,
       .unit = "threads",
       .help = "Cores to plan with; not given: all this process may use",
       .minimum = 1,
       .maximum = 1024});
  add({.name = "machine",
       .value = &machine,
       .unit = "name or file",
       .help = "Plan with this profile instead of the one measured here (`horizon profile`)"});
  add({.name = "log-gradient-norms",
       .value = &log_gradient_norms,
       .help = "Add the norm of every tensor's gradient to metrics.jsonl"});
  add({.name = "on-non-finite",
       .value = &on_non_finite,
       .unit = "what",
       .help = "When a loss or gradient is NaN or infinite: stop the run, or skip the update",
       .choices = {"stop", "skip"}});
  add({.name = "save",
       .value = &save,
       .unit = "what",
       .help = "Checkpoints hold all that is needed to go on, the weights alone, or are not made",
       .choices = {"full", "weights", "none"}});
  add({.name = "save-every",
       .value = &save_every,
       .unit = "steps",
       .help = "Save after so many steps, while training goes on; 0: only at the end or a signal",
       .minimum = 0,
       .maximum = kMost});
  add({.name = "keep",
       .value = &keep,
       .unit = "checkpoints",
       .help = "How many of the newest checkpoints stay",
       .minimum = 2,
       .maximum = kMost});
  add({.name = "on-save-failure",
       .value = &on_save_failure,
       .unit = "what",
       .help = "When a checkpoint cannot be written: continue and try at the next one, or stop",
       .choices = {"continue", "stop"}});
  add({.name = "resume",
       .value = &resume,
       .unit = "auto|folder",
       .help = "Go on from the newest checkpoint of --output (auto), of another run, or from one"});
  add({.name = "export-dtype",
       .value = &export_dtype,
       .unit = "type",
       .help = "Of the trained model on disk",
       .choices = AllWords<NumberType>()});
  add({.name = "config",
       .value = &config,
       .unit = "file",
       .help = "Read these options from a YAML file with the same names; a flag wins"});
  add({.name = "json", .value = &json, .help = "Answer in JSON"});
}

absl::StatusOr<TrainingJob> TrainOptions::ToJob(const ModelSpec& spec,
                                                DeviceKind device_kind) const {
  TrainingJob job;
  PlaceOn(device_kind, job);
  job.model = model;
  job.data = data;
  job.sequence = sequence.value_or(std::min<int64_t>(1024, spec.max_positions));
  job.micro_batch = micro_batch;
  job.accumulation = accumulate;
  job.steps = steps;
  job.learning_rate = learning_rate;
  job.warmup_steps = warmup;
  job.beta1 = beta1;
  job.beta2 = beta2;
  job.epsilon = epsilon;
  job.weight_decay = weight_decay;
  job.decay_all = decay_all;
  job.clip_norm = clip_norm;
  job.seed = seed;
  // Choices were checked when the options were read.
  ASSIGN_OR_RETURN(job.learning_rate_schedule, ParseWord<LearningRateSchedule>(schedule));
  ASSIGN_OR_RETURN(job.state_format, ParseWord<StateFormat>(state));
  ASSIGN_OR_RETURN(job.optimizer_place, ParseWord<OptimizerPlace>(optimizer_place));
  ASSIGN_OR_RETURN(job.compute_type, ParseWord<NumberType>(compute));
  ASSIGN_OR_RETURN(job.gradient_type, ParseWord<NumberType>(gradients.value_or(compute)));
  RETURN_IF_ERROR(ValidateJob(spec, job));
  return job;
}

}  // namespace horizon
