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
#include "schedule/training_job.h"

namespace horizon {

// How a job is run on a machine: what is streamed when, and through which buffers. A plan changes
// time and memory, never a bit of the result. The planner makes plans; a person may write one.

// Whose way of streaming is followed; see docs/schedule.md.
//   horizon        ours
//   reference      the published implementation
//   resident       everything on the device: the oracle the others are compared with
//   zero3_offload, fsdp_offload, gemini
//                  systems the paper compares with (offload_baselines.h)
enum class Strategy { kHorizon, kReference, kResident, kZero3Offload, kFsdpOffload, kGemini };
enum class AnchorHome { kDevice, kHost };
// batch_major: a micro-batch goes through the whole model before the next one starts.
// chunk_major: all micro-batches go through a chunk while it is loaded.
enum class AccumulationOrder { kBatchMajor, kChunkMajor };
// host: rows are gathered and scattered on the host and only they cross the link; streamed: the
// table crosses like a layer; device: the table stays on the device.
enum class EmbeddingHome { kHost, kStreamed, kDevice };

std::span<const EnumWord<Strategy>> WordsOf(Strategy);
std::span<const EnumWord<AnchorHome>> WordsOf(AnchorHome);
std::span<const EnumWord<AccumulationOrder>> WordsOf(AccumulationOrder);
std::span<const EnumWord<EmbeddingHome>> WordsOf(EmbeddingHome);

// The strategy exists to be compared with in simulation: its schedules are right, but nothing runs
// them.
bool IsSimulatedOnly(Strategy strategy);

// Loss chunks are whole tiles of this many tokens, so that their number never changes a sum.
inline constexpr int64_t kLossTile = 128;

struct StreamPlan {
  int64_t version = 1;
  // The model the plan was made for; empty, or equal to what NameModel() writes.
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

// Sixteen hexadecimal digits that differ for models of different shape.
std::string FingerprintOf(const ModelSpec& spec);
// Makes `plan` a plan for this model.
void NameModel(const ModelSpec& spec, StreamPlan& plan);

// InvalidArgument naming what is out of range or does not go together: a plan for another model,
// resident chunks with a strategy that decides by itself, a loss chunk that is no whole tile, ...
absl::Status ValidatePlan(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan);

// As ReadJob, WriteJob and JobFieldTable.
absl::StatusOr<StreamPlan> ReadPlan(const Document& document);
std::string WritePlan(const StreamPlan& plan);
void WritePlan(const StreamPlan& plan, JsonWriter& writer);  // as one value
std::string PlanFieldTable();

}  // namespace horizon
