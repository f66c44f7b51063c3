#pragma once

namespace horizon {

// Declares the fields of a TrainingJob (training_job.h) once, with name, unit, range and help text,
// for the visitors of common/documents/record.h. Job files, command-line options and the checks of
// both take the ranges from here.
template <typename Record, typename Visitor>
void VisitJobFields(Record& job, Visitor& visit) {
  visit("version", job.version, {.minimum = 1, .maximum = 1, .help = "version of this format"});
  visit("model", job.model, {.help = "a catalog name, a model folder or a config.json"});
  visit("data", job.data, {.help = "the training data"});
  visit("train", job.train,
        {.help = "train only the tensors whose names match one of these patterns (`*`, `?`, "
                 "`[0-9]`)"});
  visit("freeze", job.freeze, {.help = "train no tensor whose name matches one of these patterns"});
  visit("device", job.device, {.help = "what computes: its arithmetic is part of the job"});
  visit("sequence", job.sequence,
        {.unit = "tokens", .minimum = 1, .maximum = 1 << 24, .help = "tokens of one sequence"});
  visit("micro_batch", job.micro_batch,
        {.unit = "sequences",
         .minimum = 1,
         .maximum = 1 << 20,
         .help = "sequences that pass through the model together"});
  visit("accumulation", job.accumulation,
        {.unit = "micro-batches",
         .minimum = 1,
         .maximum = 1 << 16,
         .help = "micro-batches whose gradients make one step"});
  visit("steps", job.steps,
        {.unit = "steps",
         .minimum = 1,
         .maximum = 1e12,
         .help = "length of the run; the learning-rate schedule ends there"});
  visit("epochs", job.epochs,
        {.unit = "passes",
         .minimum = 0,
         .maximum = 1e6,
         .help = "the data ends after so many passes, whose number of steps `steps` is; 0: it "
                 "repeats for as long as there are steps"});
  visit("learning_rate", job.learning_rate,
        {.minimum = 0, .maximum = 1e3, .help = "AdamW's largest learning rate"});
  visit("learning_rate_schedule", job.learning_rate_schedule,
        {.help = "how the learning rate goes on after the warm-up"});
  visit("warmup_steps", job.warmup_steps,
        {.unit = "steps", .minimum = 0, .maximum = 1e12, .help = "linear rise from 0"});
  visit("schedule_start", job.schedule_start,
        {.unit = "steps",
         .minimum = 0,
         .maximum = 1e12,
         .help = "steps done before the learning-rate schedule begins: above 0 in a run that was "
                 "extended with a new one"});
  visit("beta1", job.beta1,
        {.minimum = 0, .maximum = 0.999999999, .help = "decay of the first moment"});
  visit("beta2", job.beta2,
        {.minimum = 0, .maximum = 0.999999999, .help = "decay of the second moment"});
  visit("epsilon", job.epsilon, {.minimum = 0, .maximum = 1, .help = "AdamW's epsilon"});
  visit("weight_decay", job.weight_decay,
        {.minimum = 0, .maximum = 1e3, .help = "decoupled weight decay"});
  visit("decay_all", job.decay_all, {.help = "decay norms and biases too"});
  visit(
      "clip_norm", job.clip_norm,
      {.minimum = 0, .maximum = 1e30, .help = "clip the global gradient norm to this; 0: no clip"});
  visit(
      "router_aux_loss", job.router_aux_loss,
      {.minimum = 0,
       .maximum = 1e3,
       .help = "coefficient of the loss that spreads the tokens evenly over the experts; 0: none"});
  visit("compute_type", job.compute_type,
        {.help = "weights as the device sees them: both halves, or the high half alone"});
  visit("activation_type", job.activation_type,
        {.help = "activations and anchors: fp32 on `host`, bf16 on `cuda`"});
  visit("gradient_type", job.gradient_type, {.help = "gradients as they leave the device"});
  visit("state_format", job.state_format, {.help = "what the optimizer keeps of a parameter"});
  visit("optimizer_place", job.optimizer_place, {.help = "when a chunk is updated"});
  visit("seed", job.seed, {.minimum = 0, .maximum = 9e18, .help = "of every random choice"});
  visit("sample_lengths", job.sample_lengths,
        {.help = "how many samples in the rows have which length, for predictions alone (results "
                 "do not depend on it); lengths above `sequence` count as that; empty: each row is "
                 "one sample"});
}

}  // namespace horizon
