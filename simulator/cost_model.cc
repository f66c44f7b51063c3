#include "simulator/cost_model.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/check.h"
#include "schedule/strategy_rules.h"

namespace horizon {
namespace {

// Kernels of a stage that are not GEMMs: norms, rotary, activation, residual.
constexpr int64_t kElementKernels = 4;

TokenBatch BatchOf(const TrainingJob& job, PassKind kind) {
  return {.batch = job.micro_batch, .sequence = kind == PassKind::kDecode ? 1 : job.sequence};
}

// The rate of attention over samples of these lengths: each sample's pairs are computed at the rate
// of its own length. So this is the harmonic mean of the rates, weighted with the pairs.
double AttentionRate(const Curve& curve, int64_t sequence, std::span<const SampleLength> lengths) {
  const auto rate_of = [&](int64_t length) { return curve.At(static_cast<double>(length)); };
  if (lengths.empty()) return rate_of(sequence);
  double pairs = 0;
  double seconds = 0;  // of one flop a pair
  for (const SampleLength& each : lengths) {
    const int64_t length = std::min(each.length, sequence);
    if (lengths.size() == 1) return rate_of(length);
    const double seen =
        static_cast<double>(VisiblePairs(length, 0)) * static_cast<double>(each.samples);
    pairs += seen;
    seconds += seen / rate_of(length);
  }
  return pairs / seconds;
}

}  // namespace

CostModel::CostModel(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                     const ChunkTable& chunks, const HardwareProfile& profile,
                     const Software& software, PassKind kind)
    : spec_(spec),
      job_(job),
      plan_(plan),
      chunks_(chunks),
      profile_(profile),
      software_(software),
      batch_(BatchOf(job, kind)),
      activation_bytes_(ActivationBytes(job)),
      slot_bytes_(BytesOfParameter(job).slot),
      attention_rate_(
          AttentionRate(profile.device.attention, batch_.sequence, job.sample_lengths)) {
  // Most layers are alike: each different piece is worked out once.
  using Key = std::tuple<StageKind, int64_t, int64_t, int64_t, int32_t, Direction, BackwardDepth,
                         unsigned long>;
  std::map<Key, Work> known;
  const StageOptions options = StageOptionsOf(job, plan);
  const auto piece_work = [&](const ChunkPiece& piece, Direction direction) {
    const Stage& stage = chunks_.stages[piece.stage];
    const LayerSpec layer = stage.layer >= 0 ? spec_.layers[stage.layer] : LayerSpec{};
    const Key key{
        stage.kind, piece.units.begin, piece.units.end,        layer.sliding_window,
        layer.rope, direction,         stage.backward_depth(), stage.trained_roles.to_ulong()};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    const auto work_of = [&] {
      switch (direction) {
        case Direction::kForward:
          return ForwardWork(spec_, stage, piece.units, batch_, options);
        case Direction::kRecompute:
          return RecomputeWork(spec_, stage, piece.units, batch_, options);
        case Direction::kBackward:
          return BackwardWork(spec_, stage, piece.units, batch_, options);
      }
      return StageWork{};
    };
    Work work = WorkOf(work_of());
    if (kind == PassKind::kDecode)
      work.attention_flops +=
          CachedAttentionFlops(spec_, stage, piece.units, job_.micro_batch, job_.sequence);
    return known[key] = work;
  };
  const auto chunk_work = [&](const Chunk& chunk, Direction direction) {
    Work sum;
    const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk);
    for (const ChunkPiece& piece : pieces) {
      // Between the stages of a chunk the hidden state is needed.
      const bool hands_on = direction == Direction::kRecompute && &piece != &pieces.back();
      const Work work = piece_work(piece, hands_on ? Direction::kForward : direction);
      sum.gemm_seconds += work.gemm_seconds;
      sum.gemm_bytes += work.gemm_bytes;
      sum.attention_flops += work.attention_flops;
      sum.element_values += work.element_values;
      sum.sum_values += work.sum_values;
      sum.kernels += work.kernels;
    }
    return sum;
  };
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    // The head is costed by its loss chunks; a table's rows by the tokens.
    const bool is_head = chunks_.head.contains(c) && !chunks_.tied;
    const Chunk& chunk = chunks_.chunks[c];
    forward_.push_back(is_head ? Work{} : chunk_work(chunk, Direction::kForward));
    const bool in_training = !is_head && kind == PassKind::kTrain;
    recompute_.push_back(in_training ? chunk_work(chunk, Direction::kRecompute) : Work{});
    backward_.push_back(in_training ? chunk_work(chunk, Direction::kBackward) : Work{});
  }
}

namespace {

// A result that is added to an fp32 sum reads and writes that.
double SumBytes(const GemmShape& gemm) {
  return gemm.adds_to_sum ? 8.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) : 0;
}

}  // namespace

// A GEMM takes as long as its flops or its bytes take, whichever is longer, and at least a launch
// (one for all where they are grouped).
double CostModel::GemmSeconds(const GemmShape& gemm) const {
  const Curve& curve = job_.compute_type == NumberType::kFp32 || on_host()
                           ? profile_.device.gemm_fp32
                           : profile_.device.gemm_bf16;
  const double smallest = static_cast<double>(std::min({gemm.m, gemm.n, gemm.k}));
  const double flops =
      2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  const double bytes =
      (static_cast<double>(gemm.m) * static_cast<double>(gemm.k) +
       static_cast<double>(gemm.m) * static_cast<double>(gemm.n)) *
          static_cast<double>(activation_bytes_) +
      static_cast<double>(gemm.k) * static_cast<double>(gemm.n) * static_cast<double>(slot_bytes_) +
      SumBytes(gemm);
  const std::optional<Curve>& share = profile_.device.gemm_share;
  const bool as_experts = gemm.grouped && profile_.device.experts.has_value();
  const double full = as_experts ? profile_.device.experts->At(smallest)
                                 : curve.At(smallest) * (share.has_value() ? share->At(flops) : 1);
  const double rate = full * software_.gemm_speed;
  const auto count = static_cast<double>(gemm.count);
  const double busy = std::max(flops / rate, bytes / profile_.device.memory_bytes_per_second.value);
  const double launch = profile_.device.launch_seconds.value;
  return gemm.grouped ? std::max(busy * count, launch) : std::max(busy, launch) * count;
}

CostModel::Work CostModel::WorkOf(const StageWork& stage) const {
  Work work{.attention_flops = stage.attention_flops,
            .element_values = stage.element_values,
            .sum_values = stage.sum_values,
            .kernels = kElementKernels};
  for (const GemmShape& gemm : stage.gemms) {
    work.gemm_seconds += GemmSeconds(gemm);
    const auto times = static_cast<double>(gemm.count);
    work.gemm_bytes += times * SumBytes(gemm);
    work.gemm_bytes += times * static_cast<double>(activation_bytes_) *
                       (static_cast<double>(gemm.m) * static_cast<double>(gemm.k) +
                        static_cast<double>(gemm.k) * static_cast<double>(gemm.n) +
                        static_cast<double>(gemm.m) * static_cast<double>(gemm.n));
  }
  return work;
}

double CostModel::ThreadShare(int64_t threads) const {
  if (!on_host()) return 1;
  return std::min(1.0, static_cast<double>(threads) / static_cast<double>(profile_.host.cores));
}

double CostModel::InRun(RateGroup group, double seconds) const {
  const std::optional<Figure>& share = profile_.in_runs[static_cast<size_t>(group)];
  return share.has_value() ? seconds / share->value : seconds;
}

OperationCost CostModel::Finish(double seconds, double cores, double dram_bytes,
                                double link_bytes) const {
  const double nanoseconds =
      std::clamp(std::round(seconds * 1e9), 1.0, static_cast<double>(kLongestNanoseconds));
  OperationCost cost{.nanoseconds = static_cast<int64_t>(nanoseconds)};
  cost.draw[static_cast<size_t>(Resource::kCores)] =
      std::min(cores, static_cast<double>(profile_.host.cores));
  // Nothing draws more than there is: its own duration already has that limit in it.
  const ResourceAmounts limit = capacity();
  const auto draw = [&](Resource resource, double bytes) {
    const auto r = static_cast<size_t>(resource);
    cost.draw[r] = std::min(bytes / nanoseconds, limit[r]);
  };
  draw(Resource::kDram, dram_bytes);
  draw(Resource::kLink, link_bytes);
  return cost;
}

// A GPU takes nothing of the host. On device `host` threads that work on one kernel wait for each
// other again and again, and whoever else wants a core has it meanwhile.
OperationCost CostModel::FinishCompute(double seconds, int64_t threads, double dram_bytes) const {
  if (!on_host()) return Finish(seconds, 0, 0, 0);
  OperationCost cost = Finish(seconds, static_cast<double>(threads), dram_bytes, 0);
  const std::optional<Figure>& weight = profile_.host.compute_weight;
  if (weight.has_value() && threads > 1) cost.weight = std::min(1.0, weight->value);
  return cost;
}

ResourceAmounts CostModel::capacity() const {
  return {static_cast<double>(profile_.host.cores), profile_.host.dram.Highest() * 1e-9,
          profile_.link.both_ways_bytes_per_second.value * 1e-9};
}

LaneSlowdowns CostModel::slowdowns() const {
  LaneSlowdowns slowdowns{};
  for (const LaneContention& pair : profile_.contention) {
    // A neighbour makes nothing faster; what was measured so is noise.
    slowdowns[static_cast<size_t>(pair.work)][static_cast<size_t>(pair.beside)] =
        std::max(0.0, 1 / pair.speed.value - 1);
  }
  return slowdowns;
}

OperationCost CostModel::ComputeCost(const Work& work, int64_t threads) const {
  const double share = ThreadShare(threads);
  const DeviceProfile& device = profile_.device;
  const double bytes =
      static_cast<double>(work.element_values) * static_cast<double>(activation_bytes_) +
      static_cast<double>(work.sum_values) * sizeof(float);
  const double elements = std::max(bytes / device.element_bytes_per_second.value,
                                   static_cast<double>(work.kernels) * device.launch_seconds.value);
  const double attention =
      static_cast<double>(work.attention_flops) / (attention_rate_ * software_.gemm_speed);
  const double seconds =
      InRun(RateGroup::kCompute, (work.gemm_seconds + elements + attention) / share);
  return FinishCompute(seconds, threads, work.gemm_bytes + bytes);
}

OperationCost CostModel::Compute(int32_t chunk, Direction direction, int64_t threads) const {
  switch (direction) {
    case Direction::kForward:
      return ComputeCost(forward_[chunk], threads);
    case Direction::kRecompute:
      return ComputeCost(recompute_[chunk], threads);
    case Direction::kBackward:
      return ComputeCost(backward_[chunk], threads);
  }
  CHECK(false);
  return {};
}

OperationCost CostModel::Loss(int32_t chunk, int64_t tokens, bool with_backward,
                              int64_t threads) const {
  const UnitRange rows = chunks_.PiecesOf(chunks_.chunks[chunk]).front().units;
  const TokenBatch batch{.batch = 1, .sequence = tokens};
  const Stage& head = chunks_.stages.back();
  const StageWork forward_work = ForwardWork(spec_, head, rows, batch);
  Work work = WorkOf(forward_work);
  auto flops = static_cast<double>(forward_work.flops);
  if (with_backward) {
    const StageWork backward_work = BackwardWork(spec_, head, rows, batch);
    const Work backward = WorkOf(backward_work);
    flops += static_cast<double>(backward_work.flops);
    work.gemm_seconds += backward.gemm_seconds;
    work.gemm_bytes += backward.gemm_bytes;
    work.element_values += backward.element_values;
    work.kernels += backward.kernels;
  }
  // Logits are fp32 whatever the activations are.
  work.element_values = work.element_values * 4 / activation_bytes_.value();
  const std::optional<Curve>& rate = profile_.device.head;
  if (!rate.has_value()) return ComputeCost(work, threads);
  const double alone =
      flops / (rate->At(static_cast<double>(tokens)) * software_.gemm_speed) / ThreadShare(threads);
  return FinishCompute(
      InRun(RateGroup::kCompute, std::max(alone, profile_.device.launch_seconds.value)), threads,
      work.gemm_bytes +
          static_cast<double>(work.element_values) * static_cast<double>(activation_bytes_));
}

OperationCost CostModel::EmbedBackward(int32_t chunk, int64_t threads) const {
  return Elements(
      chunks_.chunks[chunk].trained * BytesOfParameter(job_).gradient + 3 * hidden_bytes(),
      threads);
}

OperationCost CostModel::HeadGradient(int32_t chunk, int64_t threads) const {
  return Elements(chunks_.chunks[chunk].trained * (4_B + BytesOfParameter(job_).gradient), threads);
}

OperationCost CostModel::Elements(Bytes bytes, int64_t threads) const {
  const double seconds =
      InRun(RateGroup::kCompute,
            std::max(static_cast<double>(bytes) / profile_.device.element_bytes_per_second.value /
                         ThreadShare(threads),
                     profile_.device.launch_seconds.value));
  return FinishCompute(seconds, threads, static_cast<double>(bytes));
}

OperationCost CostModel::Copy(Lane lane, Bytes bytes, Pages pages, int64_t threads) const {
  const LinkProfile& link = profile_.link;
  const bool in = lane == Lane::kH2d;
  const Curve& curve = pages == Pages::kPinned ? (in ? link.h2d_pinned : link.d2h_pinned)
                                               : (in ? link.h2d_pageable : link.d2h_pageable);
  const double size = static_cast<double>(bytes);
  const double busy =
      InRun(in ? RateGroup::kCopiesIn : RateGroup::kCopiesOut,
            link.latency_seconds.value +
                (bytes == 0_B ? 0 : size / (curve.At(size) * software_.link_share)));
  const std::optional<Figure>& limit = link.limit_bytes_per_second;
  const double seconds = limit.has_value() ? std::max(busy, size / limit->value) : busy;
  // On device `host` a copy is a memcpy by our threads: both sides of it are DRAM. A core that
  // waits for the limit is free for others.
  OperationCost cost =
      on_host() ? Finish(seconds, static_cast<double>(threads) * busy / seconds, 2 * size, 0)
                : Finish(seconds, 0, size, size);
  cost.duty = busy / seconds;
  return cost;
}

OperationCost CostModel::HostPass(Bytes bytes, int64_t threads) const {
  return PassAt(RateGroup::kPasses, profile_.host.dram, bytes, threads);
}

OperationCost CostModel::Norm(Bytes bytes, int64_t threads) const {
  return PassAt(RateGroup::kNorm, profile_.host.norm.value_or(profile_.host.dram), bytes, threads);
}

OperationCost CostModel::Accumulate(Bytes bytes, int64_t threads) const {
  const bool as_bf16 = BytesOfParameter(job_).kept_gradient == 2_B;
  return PassAt(
      RateGroup::kAccumulate,
      as_bf16 ? profile_.host.accumulate.value_or(profile_.host.dram) : profile_.host.dram, bytes,
      threads);
}

OperationCost CostModel::PassAt(RateGroup group, const Curve& curve, Bytes bytes,
                                int64_t threads) const {
  const auto size = static_cast<double>(bytes);
  return Finish(InRun(group, size / curve.At(static_cast<double>(threads))),
                static_cast<double>(threads), size, 0);
}

OperationCost CostModel::Pack(Bytes payload_bytes, int64_t threads) const {
  const auto size = static_cast<double>(payload_bytes);
  const double rate = profile_.host.pack.At(static_cast<double>(threads)) * software_.pack_speed;
  return Finish(size / rate, static_cast<double>(threads), 2 * size, 0);
}

OperationCost CostModel::Adam(uint64_t parameters, Bytes bytes, int64_t threads) const {
  const Curve& curve = profile_.host.adam[static_cast<size_t>(job_.state_format)];
  const auto count = static_cast<double>(parameters);
  const double profiled = curve.At(static_cast<double>(threads));
  // Other software may be faster than the profile says, but not than memory.
  const double carried = profile_.host.dram.Highest() / (static_cast<double>(bytes) / count);
  const double rate = std::min(profiled * software_.adam_speed, std::max(profiled, carried));
  return Finish(InRun(RateGroup::kAdam, count / rate), static_cast<double>(threads),
                static_cast<double>(bytes), 0);
}

Bytes CostModel::hidden_bytes() const {
  return static_cast<uint64_t>(batch_.tokens() * spec_.hidden) * activation_bytes_;
}

OperationCost CostModel::CostOf(const Schedule& schedule, const Phase& phase,
                                const Operation& op) const {
  const int64_t threads = op.threads;
  switch (op.kind) {
    case OperationKind::kForward:
    case OperationKind::kEmbed:
      return Compute(op.chunk, Direction::kForward, threads);
    case OperationKind::kRecompute: {
      const bool kept_alone =
          RulesOf(job_, plan_).recomputes_kept_alone && !chunks_.RecomputePassesOn(op.chunk);
      return Compute(op.chunk, kept_alone ? Direction::kRecompute : Direction::kForward, threads);
    }
    case OperationKind::kBackward:
      return Compute(op.chunk, Direction::kBackward, threads);
    case OperationKind::kEmbedBackward:
      return EmbedBackward(op.chunk, threads);
    case OperationKind::kLogSumExp:
    case OperationKind::kLoss: {
      const int64_t begin = op.part * plan_.loss_chunk_tokens;
      const int64_t tokens = std::min(plan_.loss_chunk_tokens, batch_.tokens() - begin);
      return Loss(op.chunk, tokens, op.kind == OperationKind::kLoss, threads);
    }
    case OperationKind::kLogits:
      return Loss(op.chunk, job_.micro_batch, false, threads);
    case OperationKind::kHeadGradient:
      return HeadGradient(op.chunk, threads);
    case OperationKind::kLoadTokens:
    case OperationKind::kLoadRows:
    case OperationKind::kLoadChunk:
    case OperationKind::kLoadAnchor:
    case OperationKind::kSaveAnchor:
    case OperationKind::kOffloadGradient:
    case OperationKind::kOffloadRows:
    case OperationKind::kOffloadNorms:
    case OperationKind::kOffloadFaults:
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadRouting:
    case OperationKind::kOffloadLogits: {
      bool pageable = false;
      for (const Access& access : phase.AccessesOf(op)) {
        pageable |= schedule.memory.buffers[access.buffer].memory == Memory::kHost;
      }
      // The low half of fp32 weights lies beside the high one and is pinned like it.
      return Copy(op.lane, op.bytes, pageable ? Pages::kPageable : Pages::kPinned, threads);
    }
    case OperationKind::kPack:
      return Pack(op.bytes / 2, threads);  // read and written
    case OperationKind::kNextBatch:
    case OperationKind::kGather:
    case OperationKind::kScatter:
    case OperationKind::kReport:
    case OperationKind::kTiedSum:
    case OperationKind::kCheckUpdate:
    case OperationKind::kClipFactor:
    case OperationKind::kClipGradient:
      return op.lane == Lane::kCompute ? Elements(op.bytes, threads) : HostPass(op.bytes, threads);
    case OperationKind::kAccumulate:
      return op.lane == Lane::kCompute ? Elements(op.bytes, threads)
                                       : Accumulate(op.bytes, threads);
    case OperationKind::kNorm:
      return op.lane == Lane::kCompute ? Elements(op.bytes, threads) : Norm(op.bytes, threads);
    case OperationKind::kAdam:
      return op.lane == Lane::kCompute ? Elements(op.bytes, threads)
                                       : Adam(chunks_.chunks[op.chunk].trained, op.bytes, threads);
  }
  CHECK(false);
  return {};
}

CostTable CostsOf(const Schedule& schedule, const CostModel& model) {
  CostTable table;
  const auto fill = [&](const Phase& phase, std::vector<OperationCost>& costs) {
    costs.reserve(phase.operations.size());
    for (const Operation& op : phase.operations) {
      costs.push_back(model.CostOf(schedule, phase, op));
    }
  };
  fill(schedule.first, table.first);
  fill(schedule.steady, table.steady);
  fill(schedule.drain, table.drain);
  table.capacity = model.capacity();
  table.slowdowns = model.slowdowns();
  return table;
}

}  // namespace horizon
