#include "app/planning_options.h"

#include <algorithm>
#include <charconv>

#include "app/device_option.h"
#include "app/this_machine.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "planner/calibration.h"
#include "planner/machine_catalog.h"
#include "planner/planned_job.h"
#include "schedule/load_files.h"

namespace horizon {

Option ModelOption(OptionTarget target) {
  return {.name = "model",
          .value = target,
          .unit = "name or path",
          .help = "Catalog name, Hugging Face id, model folder or config.json",
          .required = true};
}

Option MachineOption(OptionTarget target) {
  return {.name = "machine",
          .value = target,
          .unit = "name or file",
          .help = "A machine of 'horizon machines', a profile in JSON, or 'this' one",
          .required = std::holds_alternative<std::vector<std::string>*>(target)};
}

void OverrideOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "host-memory",
                          .value = &host_memory,
                          .unit = "bytes",
                          .help = "As if the machine had this much RAM (768GiB)",
                          .minimum = 1});
  list.options.push_back({.name = "device-memory",
                          .value = &device_memory,
                          .unit = "bytes",
                          .help = "As if the device had this much memory (24GiB)",
                          .minimum = 1});
  list.options.push_back({.name = "link",
                          .value = &link,
                          .unit = "bytes/s",
                          .help = "As if the link carried this much one way (26GB/s)"});
  list.options.push_back({.name = "cores",
                          .value = &cores,
                          .unit = "cores",
                          .help = "As if the host had this many cores",
                          .minimum = 1,
                          .maximum = 4096});
}

absl::StatusOr<HardwareProfile> OverrideOptions::Load(const CommandContext& context,
                                                      const std::string& machine) const {
  HardwareProfile profile;
  if (machine == kThisMachine) {
    ASSIGN_OR_RETURN(const ChosenDevice device, ChooseDevice(context, "auto"));
    ASSIGN_OR_RETURN(profile, ProfileOfThisMachine(context, device));
  } else {
    ASSIGN_OR_RETURN(profile, LoadCalibratedMachine(context.io, machine));
    TellWhoseProfile(context, machine, profile);
  }
  return WithOverrides(
      std::move(profile),
      {.host_memory = host_memory, .device_memory = device_memory, .link = link, .cores = cores});
}

void JobOptions::AddTo(OptionList& list) {
  list.options.push_back({.name = "strategy",
                          .value = &strategy,
                          .unit = "strategy",
                          .help = "Whose way of streaming",
                          .choices = AllWords<Strategy>()});
  list.options.push_back({.name = "sequence",
                          .value = &sequence,
                          .unit = "tokens",
                          .help = "Tokens a sequence; if not given 1024, or the job file's",
                          .minimum = 1});
  list.options.push_back({.name = "batch",
                          .value = &batch,
                          .unit = "sequences",
                          .help = "Sequences a micro-batch, or auto to have one proposed; if not "
                                  "given 1, or the job file's"});
  list.options.push_back({.name = "state",
                          .value = &state,
                          .unit = "format",
                          .help = "How weights and moments are kept: fp32, bf16-moments, "
                                  "8bit-moments, bf16-weights, or auto to have one proposed; if "
                                  "not given as the strategy has it"});
  list.options.push_back({.name = "job",
                          .value = &job_file,
                          .unit = "file",
                          .help = "What is trained, in JSON or YAML (docs/formats.md); the options "
                                  "above change it"});
  list.options.push_back({.name = "margin",
                          .value = &margin_percent,
                          .unit = "percent",
                          .help = "Share of each memory that must stay free"});
}

absl::StatusOr<Strategy> JobOptions::ReadStrategy() const { return ParseWord<Strategy>(strategy); }

absl::StatusOr<TrainingJob> JobOptions::Read(Io& io, const std::string& model,
                                             int64_t max_positions,
                                             const HardwareProfile& profile) const {
  if (!(margin_percent >= 0 && margin_percent < 100)) {
    return absl::InvalidArgumentError(
        StrCat("--margin needs a percentage from 0 to below 100, found ", margin_percent));
  }
  ASSIGN_OR_RETURN(const Strategy kind, ReadStrategy());
  TrainingJob job = JobFor(profile, kind);
  job.sequence = std::min<int64_t>(job.sequence, max_positions);
  if (job_file.has_value()) {
    ASSIGN_OR_RETURN(job, LoadJob(io, *job_file));
    RETURN_IF_ERROR(CheckDevice(job, profile));
  }
  if (job.model.empty()) job.model = model;
  if (sequence.has_value()) job.sequence = *sequence;
  if (batch.has_value() && !proposes_batch()) {
    const char* const end = batch->data() + batch->size();
    const auto [rest, error] = std::from_chars(batch->data(), end, job.micro_batch);
    if (error != std::errc() || rest != end || job.micro_batch < 1) {
      return absl::InvalidArgumentError(
          StrCat("--batch needs a number of sequences from 1, or auto; found '", *batch, "'"));
    }
  }
  if (!state.empty() && !proposes_state()) {
    absl::StatusOr<StateFormat> format = ParseWord<StateFormat>(state);
    if (!format.ok()) {
      return absl::InvalidArgumentError(
          StrCat("--state ", std::string(format.status().message()), ", or auto"));
    }
    job.state_format = *format;
  }
  return job;
}

absl::Status CheckDevice(const TrainingJob& job, const HardwareProfile& profile) {
  if (job.device == profile.device.kind) return absl::OkStatus();
  const bool cuda = profile.device.kind == DeviceKind::kCuda;
  return absl::InvalidArgumentError(
      StrCat("the job is for device ", ToString(job.device), ", but ", profile.name,
             " computes on ", ToString(profile.device.kind), ": set device to ",
             ToString(profile.device.kind), " and activation_type to ",
             ToString(cuda ? NumberType::kBf16 : NumberType::kFp32), " in the job file"));
}

}  // namespace horizon
