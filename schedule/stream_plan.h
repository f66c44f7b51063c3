#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "common/documents/enum_words.h"
#include "common/documents/json.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_options.h"
#include "schedule/training_job.h"

namespace horizon {

// A StreamPlan says how a job runs on a machine: what is streamed when, and through which buffers.
// A plan changes time and memory, never a bit of the result. The planner makes plans; a person may
// write one.

// Which system's way of offloading a plan follows; see docs/schedule.md.
//   horizon        ours
//   reference      the published implementation
//   resident       everything on the device: the oracle that the others are compared with
//   zero3_offload, fsdp_offload, gemini
//                  systems that the paper compares with (offload_baselines.h)
enum class Strategy { kHorizon, kReference, kResident, kZero3Offload, kFsdpOffload, kGemini };
// Where activation checkpoints are stored.
enum class AnchorHome { kDevice, kHost };
// The order of gradient accumulation.
// batch_major: a micro-batch goes through the whole model before the next one starts.
// chunk_major: all micro-batches go through a chunk while it is loaded.
enum class AccumulationOrder { kBatchMajor, kChunkMajor };
// Where the embedding table is used.
// host: the host gathers rows and scatters their gradients, and only rows cross the PCIe link.
// streamed: the table is loaded like a layer. device: the table stays on the device.
enum class EmbeddingHome { kHost, kStreamed, kDevice };

std::span<const EnumWord<Strategy>> WordsOf(Strategy);
std::span<const EnumWord<AnchorHome>> WordsOf(AnchorHome);
std::span<const EnumWord<AccumulationOrder>> WordsOf(AccumulationOrder);
std::span<const EnumWord<EmbeddingHome>> WordsOf(EmbeddingHome);

// Whether a strategy exists only for comparison in simulation: its schedules are valid, but the
// runtime does not execute them.
bool IsSimulatedOnly(Strategy strategy);

// A loss chunk is a whole number of tiles of this many tokens, so that the number of loss chunks
// never changes a sum.
inline constexpr int64_t kLossTile = 128;

// The fields of a plan file; PlanFieldTable() documents each of them.
struct StreamPlan {
  int64_t version = 1;
  // The model that the plan was made for: empty, or what NameModel() writes.
  std::string model;
  std::string model_fingerprint;
  Strategy strategy = Strategy::kHorizon;
  Bytes chunk_bytes = 512_MiB;
  int64_t buffer_depth = 2;
  bool backward_prefetch = true;
  int64_t resident_chunks = 0;
  int64_t anchor_interval = 1;
  AnchorHome anchor_home = AnchorHome::kDevice;
  bool recompute = true;
  bool keep_feed_forward = true;
  int64_t gradient_slabs = 2;
  AccumulationOrder accumulation_order = AccumulationOrder::kBatchMajor;
  int64_t loss_chunk_tokens = 1024;
  EmbeddingHome embedding_home = EmbeddingHome::kHost;
  int64_t h2d_threads = 1;
  int64_t compute_threads = 1;
  int64_t d2h_threads = 1;
  int64_t host_threads = 1;
  int64_t optimizer_threads = 1;

  friend bool operator==(const StreamPlan&, const StreamPlan&) = default;
};

// What job and plan choose about the passes over a stage.
StageOptions StageOptionsOf(const TrainingJob& job, const StreamPlan& plan);

// A hash of the model's shape, as sixteen hexadecimal digits.
std::string FingerprintOf(const ModelSpec& spec);
// Sets plan.model and plan.model_fingerprint to this model.
void NameModel(const ModelSpec& spec, StreamPlan& plan);

// Returns InvalidArgument naming the field that is out of range or the fields that contradict each
// other: a plan for another model, resident chunks with a strategy that chooses them itself, a loss
// chunk that is not a whole number of tiles, ...
absl::Status ValidatePlan(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

// The same as ReadJob, WriteJob and JobFieldTable (training_job.h).
absl::StatusOr<StreamPlan> ReadPlan(const Document& document);
std::string WritePlan(const StreamPlan& plan);
void WritePlan(const StreamPlan& plan, JsonWriter& writer);  // as one JSON value
std::string PlanFieldTable();

}  // namespace horizon
