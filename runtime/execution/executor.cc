#include "runtime/execution/executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/start_thread.h"
#include "common/threads/thread_turns.h"

namespace horizon {
namespace {

constexpr std::array<Lane, kLaneCount> kLanes = {Lane::kH2d, Lane::kCompute, Lane::kD2h,
                                                 Lane::kHost, Lane::kOptimizer};

// The payload that marks an error whose message already names its operation.
constexpr char kNamedPayload[] = "horizon/operation";

}  // namespace

Executor::Executor(const Schedule& schedule, const OperationBodies& bodies,
                   const RunEnvironment& environment, const LaneResources& resources,
                   UpdateObserver* observer)
    : schedule_(schedule),
      bodies_(bodies),
      environment_(environment),
      device_(environment.device),
      resources_(resources),
      observer_(observer),
      epoch_(environment.clock.Now()),
      first_(MakePhasePlan(schedule.first)),
      steady_(MakePhasePlan(schedule.steady)),
      drain_(MakePhasePlan(schedule.drain)) {}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(const Schedule& schedule,
                                                           const OperationBodies& bodies,
                                                           const RunEnvironment& environment,
                                                           const LaneResources& resources,
                                                           UpdateObserver* observer) {
  std::unique_ptr<Executor> executor(
      new Executor(schedule, bodies, environment, resources, observer));
  RETURN_IF_ERROR(executor->Start());
  return executor;
}

Executor::PhasePlan Executor::MakePhasePlan(const Phase& phase) const {
  PhasePlan plan{.phase = &phase};
  plan.place.reserve(phase.operations.size());
  for (size_t id = 0; id < phase.operations.size(); ++id) {
    std::vector<OperationId>& lane = plan.lanes[static_cast<size_t>(phase.operations[id].lane)];
    plan.place.push_back(static_cast<int32_t>(lane.size()));
    lane.push_back(static_cast<OperationId>(id));
  }
  return plan;
}

const Executor::PhasePlan& Executor::PlanFor(StepKind kind) const {
  switch (kind) {
    case StepKind::kFirst:
      return first_;
    case StepKind::kSteady:
      return steady_;
    case StepKind::kDrain:
      return drain_;
  }
  return steady_;
}

absl::Status Executor::Start() {
  for (int i = 0; i < kSlots; ++i) {
    Slot& slot = slots_[static_cast<size_t>(i)];
    slot.started = resources_.started(i);
    slot.ended = resources_.ended(i);
    slot.start_ns.resize(slot.started.size());
    slot.end_ns.resize(slot.started.size());
  }
  for (const Lane lane : kLanes) {
    LaneState& state = lanes_[static_cast<size_t>(lane)];
    state.on_device = LaneResources::IsOnDevice(lane);
    state.stream = resources_.stream(lane);
    state.workers = resources_.workers(lane);
  }
  for (const Lane lane : kLanes) {
    ASSIGN_OR_RETURN(lanes_[static_cast<size_t>(lane)].thread,
                     StartThread(std::string(ToString(lane)), [this, lane] { RunLane(lane); }));
  }
  return absl::OkStatus();
}

Executor::~Executor() {
  bool idle = false;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    idle = begun_ == ended_ && error_.ok();
  }
  changed_.notify_all();
  if (!idle) device_.Cancel(absl::CancelledError("the run was stopped"));
  for (LaneState& lane : lanes_) {
    if (lane.thread.joinable()) lane.thread.join();
  }
}

absl::Status Executor::Begin(StepKind kind, StepInput input) {
  CHECK(under_way() < kSlots - 1);
  Slot& next = slot(begun_);
  const PhasePlan& plan = PlanFor(kind);
  std::array<uint64_t, kLaneCount> before{};
  if (begun_ > 0) {
    const Slot& last = slot(begun_ - 1);
    for (size_t lane = 0; lane < before.size(); ++lane) {
      before[lane] = last.before[lane] + last.plan->lanes[lane].size();
    }
  }
  const std::scoped_lock lock(mutex_);
  if (!error_.ok()) return error_;
  next.kind = kind;
  next.plan = &plan;
  next.input = std::move(input);
  next.result = {};
  next.before = before;
  ++begun_;
  changed_.notify_all();
  return absl::OkStatus();
}

absl::StatusOr<StepResult> Executor::End() {
  CHECK(begun_ > ended_);
  const int64_t step = ended_;
  Slot& oldest = slot(step);
  {
    std::unique_lock lock(mutex_);
    uint64_t last_sum = 0;
    Nanoseconds since = environment_.clock.Now();
    const auto all_done = [&] {
      for (size_t lane = 0; lane < lanes_.size(); ++lane) {
        if (lanes_[lane].done < oldest.before[lane] + oldest.plan->lanes[lane].size()) return false;
      }
      return true;
    };
    while (error_.ok() && !all_done()) {
      changed_.wait_for(lock, std::chrono::seconds(1));
      uint64_t sum = 0;
      for (const LaneState& lane : lanes_) sum += lane.done;
      const Nanoseconds now = environment_.clock.Now();
      if (sum != last_sum) {
        last_sum = sum;
        since = now;
      } else if (now - since > environment_.stall_limit && error_.ok()) {
        error_ = absl::DeadlineExceededError(
            StrCat("no operation has ended for ", (now - since).count() / 1'000'000'000,
                   " seconds; the lanes are at: ", DescribeLanes()));
        changed_.notify_all();
        if (environment_.on_stall) environment_.on_stall(error_);
      }
    }
    if (!error_.ok()) return error_;
  }
  // Device lanes have only enqueued their work; the events of their last operations say when it has
  // ended.
  for (const Lane lane : kLanes) {
    const std::vector<OperationId>& operations = oldest.plan->lanes[static_cast<size_t>(lane)];
    if (!LaneResources::IsOnDevice(lane) || operations.empty()) continue;
    const OperationId last = operations.back();
    if (const absl::Status status = device_.Await(oldest.ended[last]); !status.ok()) {
      Fail(WithOperationName(oldest, oldest.plan->phase->operations[last], status));
      const std::scoped_lock lock(mutex_);
      return error_;
    }
  }
  RETURN_IF_ERROR(CollectTimes(oldest));
  const std::scoped_lock lock(mutex_);
  ++ended_;
  return oldest.result;
}

absl::Status Executor::CollectTimes(const Slot& slot) {
  timeline_.steps = {slot.kind};
  timeline_.entries.clear();
  const std::vector<Operation>& operations = slot.plan->phase->operations;
  timeline_.entries.reserve(operations.size());
  for (size_t id = 0; id < operations.size(); ++id) {
    TimelineEntry entry{.operation = static_cast<OperationId>(id),
                        .lane = operations[id].lane,
                        .start_ns = slot.start_ns[id],
                        .end_ns = slot.end_ns[id],
                        .bytes = operations[id].bytes};
    if (LaneResources::IsOnDevice(entry.lane)) {
      const absl::StatusOr<Nanoseconds> start = device_.TimeOf(slot.started[id]);
      RETURN_IF_ERROR(WithOperationName(slot, operations[id], start.status()));
      const absl::StatusOr<Nanoseconds> end = device_.TimeOf(slot.ended[id]);
      RETURN_IF_ERROR(WithOperationName(slot, operations[id], end.status()));
      entry.start_ns = (*start - epoch_).count();
      entry.end_ns = (*end - epoch_).count();
    }
    timeline_.entries.push_back(entry);
  }
  return absl::OkStatus();
}

void Executor::RunLane(Lane lane) {
  // These lanes mostly wait, and compute waits for the data that they bring and take away.
  if (lane != Lane::kCompute && lane != Lane::kOptimizer) RequestShortTimeSlice();
  LaneState& state = lanes_[static_cast<size_t>(lane)];
  for (int64_t step = 0;; ++step) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !error_.ok() || begun_ > step; });
      if (!error_.ok() || begun_ <= step) return;
    }
    for (const OperationId id : slot(step).plan->lanes[static_cast<size_t>(lane)]) {
      if (const absl::Status status = RunOne(lane, step, id); !status.ok()) return Fail(status);
      const std::scoped_lock lock(mutex_);
      ++state.done;
      state.doing.clear();
      changed_.notify_all();
      if (!error_.ok() || stopping_) return;
    }
  }
}

absl::Status Executor::RunOne(Lane lane, int64_t step, OperationId id) {
  Slot& current = slot(step);
  LaneState& state = lanes_[static_cast<size_t>(lane)];
  const Phase& phase = *current.plan->phase;
  const Operation& operation = phase.operations[id];
  {
    const std::scoped_lock lock(mutex_);
    state.doing = schedule_.NameOf(operation);
  }
  for (const Wait& wait : phase.WaitsOf(operation)) RETURN_IF_ERROR(WaitFor(lane, step, wait));
  const OperationBodies::Call call = CallOf(step, operation);
  const absl::Status status =
      state.on_device ? RunOnDevice(state, current, id, call) : RunOnHost(state, current, id, call);
  return WithOperationName(current, operation, status);
}

absl::Status Executor::WaitFor(Lane lane, int64_t step, const Wait& wait) {
  const int64_t of_step = wait.previous_step ? step - 1 : step;
  Slot& other = slot(of_step);
  const OperationId id =
      wait.operation + (wait.previous_step ? other.plan->phase->body_begin : OperationId{0});
  const Operation& operation = other.plan->phase->operations[id];
  const uint64_t count = other.before[static_cast<size_t>(operation.lane)] +
                         static_cast<uint64_t>(other.plan->place[id]) + 1;
  if (!AwaitDone(operation.lane, count)) return absl::CancelledError("another lane has failed");
  if (!LaneResources::IsOnDevice(operation.lane)) return absl::OkStatus();
  if (!LaneResources::IsOnDevice(lane)) {
    return WithOperationName(other, operation, device_.Await(other.ended[id]));
  }
  return WithOperationName(other, operation,
                           device_.Wait(lanes_[static_cast<size_t>(lane)].stream, other.ended[id]));
}

bool Executor::AwaitDone(Lane lane, uint64_t count) {
  const LaneState& state = lanes_[static_cast<size_t>(lane)];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !error_.ok() || state.done >= count; });
  return error_.ok() && state.done >= count;
}

OperationBodies::Call Executor::CallOf(int64_t step, const Operation& operation) {
  Slot& current = slot(step);
  return {.phase = *current.plan->phase,
          .operation = operation,
          .input = current.input,
          .previous_input = step > 0 ? slot(step - 1).input : current.input,
          .previous_result = step > 0 ? &slot(step - 1).result : nullptr,
          .result = current.result};
}

absl::Status Executor::RunOnDevice(LaneState& lane, Slot& slot, OperationId id,
                                   const OperationBodies::Call& call) {
  const Operation& operation = call.operation;
  RETURN_IF_ERROR(device_.Record(lane.stream, slot.started[id]));
  if (bodies_.IsTransfer(operation.kind)) {
    const OperationBodies::Transfer transfer = bodies_.TransferOf(call);
    RETURN_IF_ERROR(
        operation.lane == Lane::kH2d
            ? device_.CopyToDevice(lane.stream, transfer.device, transfer.host, transfer.bytes)
            : device_.CopyToHost(lane.stream, transfer.host, transfer.device, transfer.bytes));
  } else {
    LaunchOptions launch{.name = std::string(ToString(operation.kind)),
                         .direction = LinkDirection::kToDevice};
    if (operation.lane == Lane::kH2d) launch.link_bytes = operation.bytes;
    if (device_.ChecksKernelMemory()) launch.memory = bodies_.DeviceMemoryOf(call);
    RETURN_IF_ERROR(
        device_.Launch(lane.stream, launch, [this, &slot, call](const KernelContext& context) {
          return WithOperationName(slot, call.operation,
                                   bodies_.Run(call, environment_.kernels, context));
        }));
  }
  return device_.Record(lane.stream, slot.ended[id]);
}

absl::Status Executor::RunOnHost(LaneState& lane, Slot& slot, OperationId id,
                                 const OperationBodies::Call& call) {
  UpdateObserver* observer = call.operation.kind == OperationKind::kAdam ? observer_ : nullptr;
  const int64_t updated = observer == nullptr ? 0 : OperationBodies::StepOfUpdate(call);
  slot.start_ns[id] = Now();
  if (observer != nullptr) observer->BeforeUpdate(updated, call.operation.chunk);
  const KernelContext context{.workers = lane.workers};
  RETURN_IF_ERROR(bodies_.Run(call, HostKernels(), context));
  if (observer != nullptr) observer->AfterUpdate(updated, call.operation.chunk);
  slot.end_ns[id] = Now();
  return absl::OkStatus();
}

absl::Status Executor::WithOperationName(const Slot& slot, const Operation& operation,
                                         const absl::Status& status) {
  if (status.ok() || status.GetPayload(kNamedPayload).has_value()) return status;
  absl::Status named(status.code(),
                     StrCat("step ", slot.input.number, ", ", schedule_.NameOf(operation), ": ",
                            std::string(status.message())));
  status.ForEachPayload([&](auto type, const auto& payload) { named.SetPayload(type, payload); });
  named.SetPayload(kNamedPayload, {});
  return named;
}

void Executor::Fail(absl::Status status) {
  {
    const std::scoped_lock lock(mutex_);
    if (error_.ok()) error_ = status;
  }
  changed_.notify_all();
  device_.Cancel(std::move(status));
}

std::string Executor::DescribeLanes() const {
  std::string text;
  for (const Lane lane : kLanes) {
    const LaneState& state = lanes_[static_cast<size_t>(lane)];
    text += StrCat(text.empty() ? "" : "; ", ToString(lane), ": ",
                   state.doing.empty() ? "nothing" : state.doing);
  }
  return text;
}

}  // namespace horizon
