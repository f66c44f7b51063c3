// Order under every legal timing. Lanes are first-in first-out and waits are the only other order,
// so "a ends before b starts" is a path in the graph of lane neighbours and waits. With few lanes a
// vector clock an operation (the last operation of each lane known to have ended) answers that in
// constant time, and one sweep in any topological order finds every race: of two accesses that
// nothing orders, the sweep meets one second, and its clock does not cover the first. Without races
// what a reader finds is the same in all orders, so contents are checked in the same sweep.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

using Clock = std::array<int32_t, kLaneCount>;

struct Node {
  const Phase* phase = nullptr;
  const Operation* operation = nullptr;
  int32_t step = 0;
  int32_t place = 0;  // within its lane over all steps, from 0
  // Node that must have ended before, though no buffer lies between them; -1: none.
  int64_t awaited = -1;
  Clock ended;  // last place of each lane that has ended when this one has; -1: none
  Lane lane = Lane::kCompute;

  const Operation& op() const { return *operation; }
};

struct BufferState {
  Content content;
  int32_t writer = -1;                      // node; -1: filled before the first step, or not at all
  int32_t written_in = 0;                   // step
  std::array<int32_t, kLaneCount> readers;  // last node of each lane since; -1: none
  bool was_read = false;                    // since it was written
  bool is_slot = false;                     // of the ring
};

// Some strategies are slow on purpose: what other systems do one after another may not overlap
// here, or the comparison would flatter them. The same goes for a plan without prefetch in
// backward, which is there to show what prefetching gains, and for updates after the step, which
// end before the next step begins. Asked for every operation in standing order.
class ForbiddenOverlap {
 public:
  explicit ForbiddenOverlap(const Schedule& schedule)
      : layers_(schedule.chunks.layers),
        baseline_(IsSimulatedOnly(schedule.plan.strategy)),
        one_buffer_(schedule.plan.strategy == Strategy::kReference &&
                    schedule.plan.buffer_depth == 1),
        one_slab_(schedule.plan.strategy == Strategy::kReference &&
                  schedule.plan.gradient_slabs == 1),
        no_backward_prefetch_(!schedule.plan.backward_prefetch),
        after_step_(schedule.kind == PassKind::kTrain &&
                    schedule.plan.strategy != Strategy::kResident &&
                    schedule.job.optimizer_place == OptimizerPlace::kAfterStep) {}

  // The earlier node that must have ended before operation `id` of `phase`, which is `node`,
  // starts; -1: none.
  int64_t Awaited(const Phase& phase, OperationId id, int64_t node) {
    const Operation& op = phase.operations[id];
    if (op.kind == OperationKind::kAccumulate &&
        (baseline_ || (one_slab_ && layers_.contains(op.chunk)))) {
      accumulated_ = node;
    }
    if (op.kind == OperationKind::kAdam) updated_ = node;
    if (op.kind == OperationKind::kNextBatch && op.micro_batch == 0 && after_step_) {
      return updated_;
    }
    if (op.lane == Lane::kCompute) {
      computed_ = node;
      return accumulated_;
    }
    const bool brings_weights =
        op.kind == OperationKind::kPack || op.kind == OperationKind::kLoadChunk;
    if (!brings_weights) return -1;
    const bool alone =
        baseline_ || one_buffer_ || (no_backward_prefetch_ && IsForBackward(phase, id));
    return alone ? computed_ : -1;
  }

 private:
  // The first operation that reads what this load writes recomputes or goes backward.
  static bool IsForBackward(const Phase& phase, OperationId load) {
    for (const Access& written : phase.AccessesOf(phase.operations[load])) {
      if (written.mode != AccessMode::kWrite) continue;
      for (size_t i = load + 1; i < phase.operations.size(); ++i) {
        const Operation& reader = phase.operations[i];
        for (const Access& access : phase.AccessesOf(reader)) {
          if (access.buffer != written.buffer || access.mode != AccessMode::kRead) continue;
          return reader.kind == OperationKind::kRecompute ||
                 reader.kind == OperationKind::kBackward;
        }
      }
    }
    return false;
  }

  const IndexRange layers_;
  const bool baseline_;
  const bool one_buffer_;
  const bool one_slab_;
  const bool no_backward_prefetch_;
  const bool after_step_;
  int64_t computed_ = -1;     // the last of the compute lane
  int64_t accumulated_ = -1;  // the last gradient that compute waits for
  int64_t updated_ = -1;      // the last update
};

// Unrolls some steps into a graph and checks it in one sweep.
class OrderVerifier {
 public:
  OrderVerifier(const Schedule& schedule, const std::vector<const Phase*>& steps)
      : schedule_(schedule) {
    ForbiddenOverlap overlap(schedule);
    size_t count = 0;
    for (const Phase* step : steps) count += step->operations.size();
    nodes_.reserve(count);
    for (size_t s = 0; s < steps.size(); ++s) {
      step_begin_.push_back(static_cast<int64_t>(nodes_.size()));
      phases_.push_back(steps[s]);
      for (size_t i = 0; i < steps[s]->operations.size(); ++i) {
        const Operation& operation = steps[s]->operations[i];
        Node node{.phase = steps[s],
                  .operation = &operation,
                  .step = static_cast<int32_t>(s),
                  .lane = operation.lane};
        std::vector<int64_t>& lane = lanes_[static_cast<size_t>(node.lane)];
        node.place = static_cast<int32_t>(lane.size());
        node.ended.fill(-1);
        node.awaited = overlap.Awaited(*steps[s], static_cast<OperationId>(i),
                                       static_cast<int64_t>(nodes_.size()));
        lane.push_back(static_cast<int64_t>(nodes_.size()));
        nodes_.push_back(node);
      }
    }
  }

  absl::Status Verify() {
    RETURN_IF_ERROR(ResolveWaits());
    FillInitial();
    return RunInOrder();
  }

 private:
  std::string NameOf(int64_t node) const {
    return StrCat("'", schedule_.NameOf(nodes_[node].op()), "' (step ", nodes_[node].step, ", ",
                  ToString(nodes_[node].op().lane), " lane)");
  }
  std::string NameOfBuffer(BufferId buffer) const {
    return schedule_.NameOf(schedule_.memory.buffers[buffer]);
  }
  absl::Status Broken(const std::string& message) const { return absl::InternalError(message); }

  absl::Status ResolveWaits() {
    waits_begin_.assign(nodes_.size() + 1, 0);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      waits_begin_[n] = static_cast<int64_t>(waits_.size());
      for (const Wait& wait : nodes_[n].phase->WaitsOf(nodes_[n].op())) {
        const std::optional<int64_t> target = Resolve(nodes_[n], wait);
        if (!target.has_value()) {
          return Broken(StrCat(NameOf(static_cast<int64_t>(n)), " waits for operation ",
                               wait.operation, wait.previous_step ? " of the step before" : "",
                               ", which does not exist"));
        }
        waits_.push_back(*target);
        in_standing_order_ &= *target < static_cast<int64_t>(n);
      }
    }
    waits_begin_[nodes_.size()] = static_cast<int64_t>(waits_.size());
    return absl::OkStatus();
  }

  std::optional<int64_t> Resolve(const Node& node, const Wait& wait) const {
    const int32_t step = node.step - (wait.previous_step ? 1 : 0);
    if (step < 0) return std::nullopt;
    const Phase& phase = *phases_[step];
    const int64_t index =
        wait.operation + (wait.previous_step ? static_cast<int64_t>(phase.body_begin) : 0);
    if (index < 0 || index >= static_cast<int64_t>(phase.operations.size())) return std::nullopt;
    return step_begin_[step] + index;
  }

  void FillInitial() {
    buffers_.assign(schedule_.memory.buffers.size(), {});
    for (size_t b = 0; b < buffers_.size(); ++b) {
      buffers_[b].readers.fill(-1);
      buffers_[b].is_slot = schedule_.memory.buffers[b].kind == BufferKind::kRingSlot;
    }
    for (const Access& access : schedule_.initial) {
      buffers_[access.buffer].content = access.content;
      buffers_[access.buffer].written_in = -static_cast<int32_t>(access.age);
    }
  }

  // Where every wait points backwards the order in which the nodes stand is a topological one.
  absl::Status RunInOrder() {
    if (!in_standing_order_) return RunInOrderOfWaits();
    for (size_t n = 0; n < nodes_.size(); ++n) RETURN_IF_ERROR(Visit(static_cast<int64_t>(n)));
    return absl::OkStatus();
  }

  // Kahn's algorithm over lane neighbours and waits.
  absl::Status RunInOrderOfWaits() {
    std::vector<int32_t> missing(nodes_.size(), 0);
    std::vector<int64_t> successor_begin(nodes_.size() + 1, 0);
    for (const int64_t target : waits_) ++successor_begin[target + 1];
    for (size_t n = 0; n < nodes_.size(); ++n) successor_begin[n + 1] += successor_begin[n];
    std::vector<int64_t> successors(waits_.size());
    std::vector<int64_t> filled(successor_begin.begin(), successor_begin.end() - 1);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      for (int64_t w = waits_begin_[n]; w < waits_begin_[n + 1]; ++w) {
        successors[filled[waits_[w]]++] = static_cast<int64_t>(n);
        ++missing[n];
      }
      if (nodes_[n].place > 0) ++missing[n];
    }
    std::vector<int64_t> ready;
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (missing[n] == 0) ready.push_back(static_cast<int64_t>(n));
    }
    size_t done = 0;
    const auto release = [&](int64_t n) {
      if (--missing[n] == 0) ready.push_back(n);
    };
    while (!ready.empty()) {
      const int64_t n = ready.back();
      ready.pop_back();
      ++done;
      RETURN_IF_ERROR(Visit(n));
      for (int64_t s = successor_begin[n]; s < successor_begin[n + 1]; ++s) release(successors[s]);
      const std::vector<int64_t>& lane = lanes_[static_cast<size_t>(nodes_[n].op().lane)];
      const size_t next = static_cast<size_t>(nodes_[n].place) + 1;
      if (next < lane.size()) release(lane[next]);
    }
    return done == nodes_.size() ? absl::OkStatus() : NameCycle(missing);
  }

  // Every operation left over follows another one left over; going back along them ends in a cycle.
  absl::Status NameCycle(const std::vector<int32_t>& missing) const {
    int64_t n = 0;
    while (missing[n] == 0) ++n;
    std::vector<char> seen(nodes_.size(), 0);
    int64_t waiting = n;
    int64_t awaited = n;
    while (!seen[n]) {
      seen[n] = 1;
      const int64_t blocked = n;
      for (int64_t w = waits_begin_[n]; w < waits_begin_[n + 1]; ++w) {
        if (missing[waits_[w]] > 0) {
          n = waits_[w];
          waiting = blocked;
          awaited = n;
          break;
        }
      }
      if (n == blocked) {
        n = lanes_[static_cast<size_t>(nodes_[n].op().lane)][nodes_[n].place - 1];
      }
    }
    return Broken(StrCat("wait cycle: ", NameOf(waiting), " waits for ", NameOf(awaited),
                         ", which cannot start before it (through ", FirstBuffer(awaited), ")"));
  }

  std::string FirstBuffer(int64_t node) const {
    const std::span<const Access> accesses = nodes_[node].phase->AccessesOf(nodes_[node].op());
    return accesses.empty() ? "no buffer" : NameOfBuffer(accesses.front().buffer);
  }

  absl::Status Visit(int64_t n) {
    Node& node = nodes_[n];
    const size_t lane = static_cast<size_t>(node.lane);
    if (node.place > 0) node.ended = nodes_[lanes_[lane][node.place - 1]].ended;
    for (int64_t w = waits_begin_[n]; w < waits_begin_[n + 1]; ++w) {
      const Clock& other = nodes_[waits_[w]].ended;
      for (size_t l = 0; l < kLaneCount; ++l) node.ended[l] = std::max(node.ended[l], other[l]);
    }
    if (node.awaited >= 0 && !EndedBefore(node.awaited, n)) {
      return Broken(StrCat(NameOf(n), " may start before ", NameOf(node.awaited),
                           " has ended, which this plan of strategy ",
                           ToString(schedule_.plan.strategy), " does not let overlap"));
    }
    const std::span<const Access> accesses = node.phase->AccessesOf(node.op());
    for (const Access& access : accesses) {
      if (access.mode == AccessMode::kRead) RETURN_IF_ERROR(VisitRead(n, access));
    }
    for (const Access& access : accesses) {
      if (access.mode == AccessMode::kWrite) RETURN_IF_ERROR(VisitWrite(n, access));
    }
    node.ended[lane] = node.place;
    return absl::OkStatus();
  }

  // `node.ended` still is what had ended before it started.
  bool EndedBefore(int64_t earlier, int64_t later) const {
    const Node& a = nodes_[earlier];
    return nodes_[later].ended[static_cast<size_t>(a.lane)] >= a.place;
  }

  absl::Status VisitRead(int64_t n, const Access& access) {
    BufferState& buffer = buffers_[access.buffer];
    if (buffer.writer >= 0 && !EndedBefore(buffer.writer, n)) {
      return Broken(StrCat(NameOf(n), " reads ", NameOfBuffer(access.buffer), " while ",
                           NameOf(buffer.writer), " may still be writing it"));
    }
    buffer.readers[static_cast<size_t>(nodes_[n].lane)] = static_cast<int32_t>(n);
    buffer.was_read = true;
    const auto by = [&] {
      return buffer.writer >= 0 ? StrCat("left by ", NameOf(buffer.writer))
                                : std::string("there from the start");
    };
    if (buffer.content != access.content) {
      return Broken(StrCat(NameOf(n), " needs ", schedule_.NameOf(access.content), " in ",
                           NameOfBuffer(access.buffer), " but finds ",
                           schedule_.NameOf(buffer.content), ", ", by()));
    }
    const int32_t age = Ages(access.content) ? nodes_[n].step - buffer.written_in : 0;
    if (age != access.age) {
      return Broken(StrCat(NameOf(n), " needs ", schedule_.NameOf(access.content), " in ",
                           NameOfBuffer(access.buffer), " as written ",
                           static_cast<int>(access.age), " steps before, but it is ", age,
                           " steps old, ", by()));
    }
    return absl::OkStatus();
  }

  absl::Status VisitWrite(int64_t n, const Access& access) {
    BufferState& buffer = buffers_[access.buffer];
    if (buffer.writer >= 0 && buffer.writer != n && !EndedBefore(buffer.writer, n)) {
      return Broken(StrCat(NameOf(n), " overwrites ", NameOfBuffer(access.buffer), " while ",
                           NameOf(buffer.writer), " may still be writing it"));
    }
    for (const int32_t reader : buffer.readers) {
      if (!buffer.was_read) break;
      if (reader < 0 || reader == n || EndedBefore(reader, n)) continue;
      return Broken(StrCat(NameOf(n), " overwrites ", NameOfBuffer(access.buffer), " while ",
                           NameOf(reader), " may still be reading it"));
    }
    if (LoadedInVain(access.buffer)) {
      return Broken(StrCat(NameOf(n), " overwrites ", NameOfBuffer(access.buffer),
                           " before anything has read what ", NameOf(buffer.writer), " loaded"));
    }
    if (buffer.was_read) buffer.readers.fill(-1);
    buffer.was_read = false;
    buffer.writer = static_cast<int32_t>(n);
    buffer.content = access.content;
    buffer.written_in = nodes_[n].step;
    return absl::OkStatus();
  }

  // A slot holds a chunk that nothing has read since it was loaded. Where a chunk is loaded
  // although the ring still has it, contents alone would not tell a load into the wrong slot.
  bool LoadedInVain(BufferId b) const {
    const BufferState& buffer = buffers_[b];
    return buffer.is_slot && buffer.writer >= 0 && !buffer.was_read;
  }

  // A constant table does not age, nor do frozen weights, nor weights and caches that a pass does
  // not update.
  bool Ages(const Content& content) const {
    const ContentKind kind = content.kind;
    if (kind == ContentKind::kRotaryTable) return false;
    if (schedule_.kind == PassKind::kTrain) {
      const bool weights = kind == ContentKind::kWeights || kind == ContentKind::kLowHalf;
      return !weights || schedule_.chunks.chunks[content.a].trained > 0;
    }
    return kind != ContentKind::kWeights && kind != ContentKind::kLowHalf &&
           kind != ContentKind::kMoments && kind != ContentKind::kKvCache;
  }

  const Schedule& schedule_;
  std::vector<const Phase*> phases_;
  std::vector<int64_t> step_begin_;
  std::vector<Node> nodes_;
  std::array<std::vector<int64_t>, kLaneCount> lanes_;  // nodes by place
  std::vector<int64_t> waits_;                          // nodes, grouped by waiter
  std::vector<int64_t> waits_begin_;
  bool in_standing_order_ = true;  // no operation waits for a later one
  std::vector<BufferState> buffers_;
};

// A wait one step back names an operation by its place in the body, so the bodies must be alike.
absl::Status CheckBodies(const Schedule& schedule) {
  const Phase& first = schedule.first;
  const Phase& steady = schedule.steady;
  if (steady.operations.empty()) return absl::OkStatus();
  const size_t count = first.operations.size() - first.body_begin;
  if (steady.operations.size() - steady.body_begin != count) {
    return absl::InternalError(StrCat("the body of first has ", count, " operations, of steady ",
                                      steady.operations.size() - steady.body_begin));
  }
  for (size_t i = 0; i < count; ++i) {
    const Operation& a = first.operations[first.body_begin + i];
    const Operation& b = steady.operations[steady.body_begin + i];
    if (a.kind != b.kind || a.lane != b.lane || a.chunk != b.chunk ||
        a.micro_batch != b.micro_batch || a.part != b.part || a.bytes != b.bytes) {
      return absl::InternalError(StrCat("operation ", i, " of the body is '", schedule.NameOf(a),
                                        "' in first but '", schedule.NameOf(b), "' in steady"));
    }
  }
  return absl::OkStatus();
}

// Whoever runs a schedule may take the operations of a step in the order in which they stand.
absl::Status CheckStandingOrder(const Schedule& schedule) {
  for (const Phase* phase : {&schedule.first, &schedule.steady, &schedule.drain}) {
    for (size_t i = 0; i < phase->operations.size(); ++i) {
      for (const Wait& wait : phase->WaitsOf(phase->operations[i])) {
        if (wait.previous_step || wait.operation < static_cast<OperationId>(i)) continue;
        return absl::InternalError(
            StrCat("'", schedule.NameOf(phase->operations[i]), "' stands before '",
                   schedule.NameOf(phase->operations[wait.operation]), "', which it waits for"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyOrder(const Schedule& schedule) {
  RETURN_IF_ERROR(CheckBodies(schedule));
  const bool repeats = !schedule.steady.operations.empty();
  const Phase* first = &schedule.first;
  const Phase* steady = &schedule.steady;
  const Phase* drain = &schedule.drain;
  if (repeats) RETURN_IF_ERROR(OrderVerifier(schedule, {first, steady, steady, drain}).Verify());
  RETURN_IF_ERROR(OrderVerifier(schedule, {first, drain}).Verify());
  return CheckStandingOrder(schedule);
}

}  // namespace horizon
