#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/command.h"
#include "app/option.h"
#include "common/io.h"
#include "common/units.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Options that several planning commands share, declared once.

// --model and --machine, which every question needs. A machine that is not given is the one the
// program runs on, where the target's default is kThisMachine.
Option ModelOption(OptionTarget target);
Option MachineOption(OptionTarget target);
inline constexpr char kThisMachine[] = "this";

// What is changed about a machine: --host-memory, --device-memory, --link, --cores.
struct OverrideOptions {
  std::optional<Bytes> host_memory;
  std::optional<Bytes> device_memory;
  std::optional<BytesPerSecond> link;
  std::optional<int64_t> cores;

  void AddTo(OptionList& list);
  // The machine named (catalog or file, calibrated; or this one, as it was measured or is now),
  // with these changes.
  absl::StatusOr<HardwareProfile> Load(const CommandContext& context,
                                       const std::string& machine) const;
};

// The job as far as the command line says it: --strategy, --sequence, --batch, --state, --job.
struct JobOptions {
  std::string strategy = "horizon";
  std::optional<int64_t> sequence;
  std::optional<std::string> batch;  // nothing: 1, or the job file's
  std::string state;                 // empty: as the strategy has it
  std::optional<std::string> job_file;
  double margin_percent = 5;

  void AddTo(OptionList& list);
  absl::StatusOr<Strategy> ReadStrategy() const;
  bool proposes_batch() const { return batch == "auto"; }
  bool proposes_state() const { return state == "auto"; }
  // The job file, or the strategy's default job on this machine, with what the options change;
  // a sequence not given is 1024, or the model's limit where that is less. InvalidArgument for a
  // value out of range, or a job file for another kind of device.
  absl::StatusOr<TrainingJob> Read(Io& io, const std::string& model, int64_t max_positions,
                                   const HardwareProfile& profile) const;
  double margin() const { return margin_percent / 100; }
};

// InvalidArgument where the job is for another kind of device than the machine's.
absl::Status CheckDevice(const TrainingJob& job, const HardwareProfile& profile);

}  // namespace horizon
