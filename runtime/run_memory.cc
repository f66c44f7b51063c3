#include "runtime/run_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr uint64_t kStageBytes = uint64_t{1} << 20;

// What failed, in front of how.
absl::Status Annotate(const absl::Status& status, const std::string& what) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), StrCat(what, ": ", std::string(status.message())));
  status.ForEachPayload(
      [&](auto type, const auto& payload) { annotated.SetPayload(type, payload); });
  return annotated;
}

}  // namespace

RunMemory::RunMemory(const Schedule& schedule, Device& device)
    : schedule_(&schedule), device_(&device) {
  const std::vector<Buffer>& buffers = schedule.memory.buffers;
  for (size_t id = 0; id < buffers.size(); ++id) {
    const size_t kind = static_cast<size_t>(buffers[id].kind);
    if (by_kind_.size() <= kind) by_kind_.resize(kind + 1);
    std::vector<BufferId>& ids = by_kind_[kind];
    if (static_cast<int32_t>(ids.size()) <= buffers[id].index)
      ids.resize(buffers[id].index + 1, -1);
    ids[buffers[id].index] = static_cast<BufferId>(id);
  }
}

absl::StatusOr<RunMemory> RunMemory::Create(const Schedule& schedule, Device& device) {
  RunMemory memory(schedule, device);
  const auto total = [&](Memory kind) { return schedule.memory.totals[static_cast<size_t>(kind)]; };
  absl::StatusOr<DeviceMemory> on_device = device.Allocate(total(Memory::kDevice));
  RETURN_IF_ERROR(Annotate(on_device.status(), "reserving the device's memory"));
  memory.device_memory_ = *std::move(on_device);
  const auto reserve = [](HostMemory& into, uint64_t bytes, const char* what) {
    absl::StatusOr<HostMemory> reserved = HostMemory::Create(bytes);
    if (reserved.ok()) into = *std::move(reserved);
    return Annotate(reserved.status(), what);
  };
  RETURN_IF_ERROR(reserve(memory.pinned_, total(Memory::kPinned), "reserving pinned memory"));
  RETURN_IF_ERROR(reserve(memory.host_, total(Memory::kHost), "reserving host memory"));
  RETURN_IF_ERROR(reserve(memory.stage_, kStageBytes, "reserving a stage"));
  if (memory.pinned_.size() > 0) {
    RETURN_IF_ERROR(Annotate(device.RegisterHost(memory.pinned_.span()), "page-locking memory"));
  }
  RETURN_IF_ERROR(Annotate(device.RegisterHost(memory.stage_.span()), "page-locking a stage"));
  ASSIGN_OR_RETURN(memory.stream_, device.CreateStream({.name = "setup"}));
  ASSIGN_OR_RETURN(memory.event_, device.CreateEvent());
  return memory;
}

RunMemory::~RunMemory() {
  // Not registered where Create failed half-way; the device then says so and nothing is lost.
  if (pinned_.size() > 0) device_->UnregisterHost(pinned_.span()).IgnoreError();
  if (stage_.size() > 0) device_->UnregisterHost(stage_.span()).IgnoreError();
}

std::byte* RunMemory::At(BufferId id) const {
  const Buffer& buffer = schedule_->memory.buffers[id];
  switch (buffer.memory) {
    case Memory::kDevice:
      return device_memory_.data() + buffer.offset;
    case Memory::kPinned:
      return pinned_.data() + buffer.offset;
    case Memory::kHost:
      return host_.data() + buffer.offset;
  }
  return nullptr;
}

BufferId RunMemory::Find(BufferKind kind, int32_t index) const {
  const size_t place = static_cast<size_t>(kind);
  if (place >= by_kind_.size() || index >= static_cast<int32_t>(by_kind_[place].size())) return -1;
  return by_kind_[place][index];
}

absl::Status RunMemory::Put(BufferId id, uint64_t offset, std::span<const std::byte> values) {
  CHECK(offset + values.size() <= buffer(id).bytes);
  std::byte* target = At(id) + offset;
  if (buffer(id).memory != Memory::kDevice) {
    std::memcpy(target, values.data(), values.size());
    return absl::OkStatus();
  }
  for (uint64_t done = 0; done < values.size(); done += kStageBytes) {
    const uint64_t bytes = std::min<uint64_t>(kStageBytes, values.size() - done);
    std::memcpy(stage_.data(), values.data() + done, bytes);
    RETURN_IF_ERROR(
        CopyThroughStage(target + done, stage_.data(), bytes, LinkDirection::kToDevice));
  }
  return absl::OkStatus();
}

absl::Status RunMemory::Get(BufferId id, uint64_t offset, std::span<std::byte> values) {
  CHECK(offset + values.size() <= buffer(id).bytes);
  std::byte* source = At(id) + offset;
  if (buffer(id).memory != Memory::kDevice) {
    std::memcpy(values.data(), source, values.size());
    return absl::OkStatus();
  }
  for (uint64_t done = 0; done < values.size(); done += kStageBytes) {
    const uint64_t bytes = std::min<uint64_t>(kStageBytes, values.size() - done);
    RETURN_IF_ERROR(CopyThroughStage(source + done, stage_.data(), bytes, LinkDirection::kToHost));
    std::memcpy(values.data() + done, stage_.data(), bytes);
  }
  return absl::OkStatus();
}

absl::Status RunMemory::CopyThroughStage(std::byte* device, std::byte* host, uint64_t bytes,
                                         LinkDirection direction) {
  if (direction == LinkDirection::kToDevice) {
    RETURN_IF_ERROR(device_->CopyToDevice(stream_, device, host, bytes));
  } else {
    RETURN_IF_ERROR(device_->CopyToHost(stream_, host, device, bytes));
  }
  RETURN_IF_ERROR(device_->Record(stream_, event_));
  return device_->Await(event_);
}

}  // namespace horizon
