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

// How long an operation takes when nothing else runs, and what it draws from the shared resources
// meanwhile.
struct OperationCost {
  int64_t nanoseconds = 0;  // from a CostModel: at least 1 and at most kLongestNanoseconds
  ResourceAmounts draw{};
  // The share of its time in which it works. In the rest it waits because of a bandwidth limit of
  // the PCIe link; while it waits it neither slows other operations nor is slowed by them.
  double duty = 1;
  double weight = 1;  // when it competes for a resource (fair_share.h)
};
inline constexpr int64_t kLongestNanoseconds = int64_t{1} << 42;  // 73 minutes

// How well the software of a strategy uses a machine, apart from its schedule.
struct Software {
  double link_share = 1;  // the share of the link's rate that its copies reach
  // The speed of its GEMMs and attention, of its packing and of its Adam, as multiples of the
  // profile's. Adam is never faster than DRAM carries its bytes (or than the profile says).
  double gemm_speed = 1;
  double pack_speed = 1;
  double adam_speed = 1;
  Bytes process_bytes;  // host memory of the program itself; 0: as in the profile
  friend bool operator==(const Software&, const Software&) = default;
};

// [work][beside]: how much longer the work of a lane takes while lane `beside` works too, as a
// share of its time alone. The shares of several lanes add up.
using LaneSlowdowns = std::array<std::array<double, kLaneCount>, kLaneCount>;

// Computes the time of an operation from a hardware profile: rooflines over the profile's curves.
// docs/cost_model.md has each formula. The model is pure: the same arguments give the same result.
// It keeps references to spec, job, plan, chunks and profile, which must outlive it.
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

  // The costs of single kinds of work, for bounds.h and tests.
  // kRecompute: it fills the kept activations and its output is not needed. A recompute with an
  // output costs what forward does.
  enum class Direction { kForward, kRecompute, kBackward };
  // A pass of one micro-batch through a layer chunk (or the lookup of embedding rows).
  OperationCost Compute(int32_t chunk, Direction direction, int64_t threads) const;
  OperationCost Loss(int32_t chunk, int64_t tokens, bool with_backward, int64_t threads) const;
  // The gradient of a table on the device: it is cleared, then row gradients are added to it.
  OperationCost EmbedBackward(int32_t chunk, int64_t threads) const;
  OperationCost HeadGradient(int32_t chunk, int64_t threads) const;  // round the fp32 sum
  OperationCost Elements(Bytes bytes, int64_t threads) const;        // a pass over device memory
  enum class Pages { kPinned, kPageable };
  OperationCost Copy(Lane lane, Bytes bytes, Pages pages, int64_t threads) const;
  OperationCost HostPass(Bytes bytes, int64_t threads) const;
  OperationCost Norm(Bytes bytes, int64_t threads) const;        // on the host
  OperationCost Accumulate(Bytes bytes, int64_t threads) const;  // on the host
  OperationCost Pack(Bytes payload_bytes, int64_t threads) const;
  OperationCost Adam(uint64_t parameters, Bytes bytes, int64_t threads) const;
  Bytes hidden_bytes() const;  // of the hidden states of a micro-batch: an activation checkpoint

 private:
  struct Work {
    double gemm_seconds = 0;
    double gemm_bytes = 0;
    uint64_t attention_flops = 0;
    uint64_t element_values = 0;
    uint64_t sum_values = 0;
    int64_t kernels = 0;
  };
  bool on_host() const { return profile_.device.kind == DeviceKind::kHost; }
  Work WorkOf(const StageWork& stage) const;
  double GemmSeconds(const GemmShape& gemm) const;
  // On device `host`: the share of the cores that `threads` are; 1 on other devices.
  double ThreadShare(int64_t threads) const;
  OperationCost PassAt(RateGroup group, const Curve& curve, Bytes bytes, int64_t threads) const;
  OperationCost ComputeCost(const Work& work, int64_t threads) const;
  // The seconds that work takes within a run, from the seconds it takes alone.
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
  const double attention_rate_;  // flops a second, of samples of the job's lengths
  std::vector<Work> forward_;    // by chunk
  std::vector<Work> recompute_;  // by chunk, where its output is not needed
  std::vector<Work> backward_;   // by chunk
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
