#include "tests/planner/small_cases.h"

#include <memory>
#include <utility>

#include "common/check.h"
#include "common/files/io.h"
#include "model/load_model_spec.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "schedule/lay_out_memory.h"

namespace horizon {

ModelSpec SmallModel(int64_t layers) {
  ModelSpec spec;
  spec.name = "small";
  spec.hidden = 256;
  spec.intermediate = 512;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_dim = 64;
  spec.vocab = 1024;
  spec.max_positions = 4096;
  spec.layers.resize(layers);
  return spec;
}

HardwareProfile CatalogMachine(std::string_view name) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<HardwareProfile> machine = LoadMachine(*io, name);
  CHECK(machine.ok());
  return *std::move(machine);
}

ModelSpec CatalogModel(const std::string& name) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<ModelConfig> config = LoadModelSpec(*io, name);
  CHECK(config.ok());
  return std::move(config->spec);
}

HardwareProfile SmallMachine(SlowPart slow) {
  HardwareProfile machine = CatalogMachine("t4");
  machine.name = "small";
  machine.device.memory_bytes.value = 1e9;
  machine.device.reserved_bytes.value = 1e6;
  machine.device.launch_seconds.value = 1e-7;
  machine.link.latency_seconds.value = 1e-7;
  machine.host.memory_bytes.value = 8e9;
  machine.host.process_bytes.value = 1e6;
  const auto scale = [](Curve& curve, double factor) { curve = Scaled(std::move(curve), factor); };
  switch (slow) {
    case SlowPart::kNone:
      break;
    case SlowPart::kLink:
      return WithOverrides(std::move(machine), {.link = BytesPerSecond{2e8}});
    case SlowPart::kCompute:
      scale(machine.device.gemm_bf16, 0.02);
      scale(machine.device.attention, 0.02);
      break;
    case SlowPart::kOptimizer:
      for (Curve& curve : machine.host.adam) scale(curve, 0.02);
      break;
    case SlowPart::kDram:
      scale(machine.host.dram, 0.02);
      break;
  }
  return machine;
}

double BesideScratch(const ModelSpec& spec, const TrainingJob& job, double bytes) {
  const absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, job, StreamPlan());
  CHECK(layout.ok());
  uint64_t scratch = 0;
  for (const Buffer& buffer : layout->buffers) {
    if (buffer.kind == BufferKind::kTileScratch) scratch += buffer.bytes.value();
  }
  return bytes + static_cast<double>(scratch) / 0.9;
}

TrainingJob SmallJob(int64_t accumulation, int64_t sequence) {
  TrainingJob job = JobFor(SmallMachine(), Strategy::kHorizon);
  job.sequence = sequence;
  job.accumulation = accumulation;
  return job;
}

PlanSpace SmallSpace(const ModelSpec& spec, const TrainingJob& job) {
  PlanSpace space = SpaceFor(spec, job, SmallMachine(), StreamPlan{}, {});
  space.chunk_bytes.resize(2);
  space.buffer_depth = {2, 4};
  space.resident_chunks = {0, 2};
  space.anchor_interval = {1, 2};
  space.gradient_slabs = {2, 1};
  space.embedding_home = {EmbeddingHome::kHost, EmbeddingHome::kStreamed};
  space.threads.resize(1);
  return space;
}

std::vector<StreamPlan> PlansOf(const PlanSpace& space) {
  std::vector<StreamPlan> plans;
  ForEachPlan(space, [&](const StreamPlan& plan) { plans.push_back(plan); });
  return plans;
}

}  // namespace horizon
