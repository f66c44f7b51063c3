#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "model/model_spec.h"
#include "model/stage_work.h"
#include "schedule/schedule.h"
#include "simulator/fair_share.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// What an operation takes when nothing else runs, and what it draws from the shared resources
// meanwhile. At least 1 and at most kLongestNanoseconds.
struct OperationCost {
  int64_t nanoseconds = 0;
  ResourceAmounts draw{};
  // Share of its time that it works; the rest it waits for the limit of a link and neither slows
  // others nor is slowed by them.
  double duty = 1;
  double weight = 1;  // beside others that want the same resource (fair_share.h)
};
inline constexpr int64_t kLongestNanoseconds = int64_t{1} << 42;  // 73 minutes

// What a strategy's software makes of a machine, besides its schedule.
struct Software {
  double link_share = 1;  // of the link's rate
  double adam_speed = 1;  // of its Adam, times the profile's
  Bytes process_bytes;    // of the program itself on the host; 0: as the profile has it
  friend bool operator==(const Software&, const Software&) = default;
};

// How much longer work of a lane takes for each lane that works beside it, as a share of its time
// alone: [work][beside]. Shares of several lanes add up.
using LaneSlowdowns = std::array<std::array<double, kLaneCount>, kLaneCount>;

// Operation + profile -> nanoseconds: rooflines over the profile's curves, each formula in
// docs/cost_model.md. Pure: the same question has the same answer. Keeps references to what it is
// made from.
class CostModel {
 public:
  CostModel(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
            const ChunkTable& chunks, const HardwareProfile& profile, const Software& software = {},
            PassKind kind = PassKind::kTrain);

  // The cost of one operation of a schedule built from the same model, job, plan and chunks.
  OperationCost CostOf(const Schedule& schedule, const Phase& phase,
                       const Operation& operation) const;
  ResourceAmounts capacity() const;
  LaneSlowdowns slowdowns() const;  // the profile's contention matrix

  // The parts, for closed forms and tests.
  enum class Direction { kForward, kBackward };
  // Of a layer chunk (or an embedding's rows) for one micro-batch.
  OperationCost Compute(int32_t chunk, Direction direction, int64_t threads) const;
  OperationCost Loss(int32_t chunk, int64_t tokens, bool with_backward, int64_t threads) const;
  // Of a table on the device: row gradients into a gradient of the whole, which is cleared first.
  OperationCost EmbedBackward(int32_t chunk, int64_t threads) const;
  OperationCost HeadGradient(int32_t chunk, int64_t threads) const;  // fp32 sum, rounded to leave
  OperationCost Elements(Bytes bytes, int64_t threads) const;        // a pass over device memory
  enum class Pages { kPinned, kPageable };
  OperationCost Copy(Lane lane, Bytes bytes, Pages pages, int64_t threads) const;
  OperationCost HostPass(Bytes bytes, int64_t threads) const;
  OperationCost Norm(Bytes bytes, int64_t threads) const;        // on the host
  OperationCost Accumulate(Bytes bytes, int64_t threads) const;  // on the host
  OperationCost Pack(Bytes payload_bytes, int64_t threads) const;
  OperationCost Adam(uint64_t parameters, Bytes bytes, int64_t threads) const;
  Bytes hidden_bytes() const;  // of the hidden states of a micro-batch: an anchor

 private:
  struct Work {
    double gemm_seconds = 0;
    double gemm_bytes = 0;
    uint64_t attention_flops = 0;
    uint64_t element_values = 0;
    int64_t kernels = 0;
  };
  bool on_host() const { return profile_.device.kind == DeviceKind::kHost; }
  Work WorkOf(const StageWork& stage) const;
  double GemmSeconds(const GemmShape& gemm) const;
  // Of the device, when it is the host and only some of its cores compute.
  double ThreadShare(int64_t threads) const;
  OperationCost PassAt(RateGroup group, const Curve& curve, Bytes bytes, int64_t threads) const;
  OperationCost ComputeCost(const Work& work, int64_t threads) const;
  // What operations take in a run of this many seconds alone.
  double InRun(RateGroup group, double seconds) const;
  OperationCost Finish(double seconds, double cores, double dram_bytes, double link_bytes) const;
  OperationCost FinishCompute(double seconds, int64_t threads, double dram_bytes) const;

  const ModelSpec& spec_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const ChunkTable& chunks_;
  const HardwareProfile& profile_;
  const Software software_;
  const TokenBatch batch_;
  const Bytes activation_bytes_;
  const Bytes slot_bytes_;
  std::vector<Work> forward_;   // by chunk
  std::vector<Work> backward_;  // by chunk
};

// The costs of every operation of a schedule, phase by phase.
struct CostTable {
  std::vector<OperationCost> first;
  std::vector<OperationCost> steady;
  std::vector<OperationCost> drain;
  ResourceAmounts capacity{};
  LaneSlowdowns slowdowns{};
};
CostTable CostsOf(const Schedule& schedule, const CostModel& model);

}  // namespace horizon
