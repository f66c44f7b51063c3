#include "runtime/execution/run_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr Bytes kStagingBytes = 1_MiB;

uint64_t AlignUp(uint64_t offset) {
  return (offset + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// The device buffer of the same kind, index and size in another schedule; null when there is none.
const Buffer* SameBufferIn(const Buffer& buffer, const Schedule& other) {
  if (buffer.memory != Memory::kDevice) return nullptr;
  for (const Buffer& candidate : other.memory.buffers) {
    if (candidate.kind == buffer.kind && candidate.index == buffer.index &&
        candidate.memory == Memory::kDevice && candidate.bytes == buffer.bytes) {
      return &candidate;
    }
  }
  return nullptr;
}

// Whether some copy over the link reads or writes host memory that is not page-locked.
bool CopiesPageable(const Schedule& schedule) {
  const Phase& phase = schedule.first;
  for (const Operation& operation : phase.operations) {
    if (operation.lane != Lane::kH2d && operation.lane != Lane::kD2h) continue;
    for (const Access& access : phase.AccessesOf(operation)) {
      if (schedule.memory.buffers[access.buffer].memory == Memory::kHost) return true;
    }
  }
  return false;
}

// Puts `what` in front of an error's message.
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

absl::StatusOr<RunMemory> RunMemory::Create(const Schedule& schedule, Device& device,
                                            Bytes spare_device_bytes) {
  RunMemory memory(schedule, device);
  const auto total = [&](Memory kind) { return schedule.memory.totals[static_cast<size_t>(kind)]; };
  absl::StatusOr<DeviceMemory> on_device = device.Allocate(
      spare_device_bytes == 0_B
          ? total(Memory::kDevice)
          : total(Memory::kDevice).RoundedUp(kBufferAlignment) + spare_device_bytes);
  RETURN_IF_ERROR(Annotate(on_device.status(), "reserving the device's memory"));
  memory.device_memory_ = *std::move(on_device);
  RETURN_IF_ERROR(memory.ReserveHost(total(Memory::kPinned), total(Memory::kHost)));
  for (const Buffer& buffer : schedule.memory.buffers) {
    std::byte* base = buffer.memory == Memory::kDevice   ? memory.device_memory_.data()
                      : buffer.memory == Memory::kPinned ? memory.pinned_.data()
                                                         : memory.host_.data();
    memory.places_.push_back({base + buffer.offset, buffer.bytes});
  }
  return memory;
}

absl::StatusOr<RunMemory> RunMemory::CreateBeside(const Schedule& schedule,
                                                  const RunMemory& first) {
  RunMemory memory(schedule, *first.device_);
  Bytes pinned;
  Bytes plain;
  for (const Buffer& buffer : schedule.memory.buffers) {
    if (IsShared(schedule, buffer.kind)) continue;
    if (buffer.memory == Memory::kPinned) pinned += buffer.bytes.RoundedUp(kBufferAlignment);
    if (buffer.memory == Memory::kHost) plain += buffer.bytes.RoundedUp(kBufferAlignment);
  }
  RETURN_IF_ERROR(memory.ReserveHost(pinned, plain));
  RETURN_IF_ERROR(memory.PlaceBeside(first));
  return memory;
}

absl::Status RunMemory::ReserveHost(Bytes pinned, Bytes plain) {
  const auto reserve = [](HostMemory& into, Bytes bytes, const char* what) {
    absl::StatusOr<HostMemory> reserved = HostMemory::Create(bytes);
    absl::Status status = Annotate(reserved.status(), what);
    if (status.ok()) into = *std::move(reserved);
    return status;
  };
  RETURN_IF_ERROR(reserve(pinned_, pinned, "reserving pinned memory"));
  RETURN_IF_ERROR(reserve(host_, plain, "reserving host memory"));
  RETURN_IF_ERROR(reserve(staging_, kStagingBytes, "reserving a stage"));
  if (pinned_.size() > 0) {
    RETURN_IF_ERROR(Annotate(device_->RegisterHost(pinned_.span()), "page-locking memory"));
  }
  if (host_.size() > 0 && CopiesPageable(*schedule_)) {
    RETURN_IF_ERROR(
        Annotate(device_->RegisterPageable(host_.span()), "registering pageable memory"));
    host_registered_ = true;
  }
  RETURN_IF_ERROR(Annotate(device_->RegisterHost(staging_.span()), "page-locking a stage"));
  ASSIGN_OR_RETURN(stream_, device_->CreateStream({.name = "setup"}));
  ASSIGN_OR_RETURN(event_, device_->CreateEvent());
  return absl::OkStatus();
}

bool RunMemory::IsShared(const Schedule& schedule, BufferKind kind) {
  switch (kind) {
    case BufferKind::kWeightsHi:
    case BufferKind::kWeightsLo:
    case BufferKind::kMoments:
    case BufferKind::kRotaryTable:
    case BufferKind::kKvCache:
      return true;
    case BufferKind::kResidentWeights:
      return schedule.plan.strategy == Strategy::kResident;
    default:
      return false;
  }
}

Bytes RunMemory::DeviceBytesBeside(const Schedule& schedule) {
  Bytes bytes;
  for (const Buffer& buffer : schedule.memory.buffers) {
    if (buffer.memory != Memory::kDevice || IsShared(schedule, buffer.kind)) continue;
    bytes += buffer.bytes.RoundedUp(kBufferAlignment);
  }
  return bytes;
}

Bytes RunMemory::SpareBytesBeside(const Schedule& schedule, const Schedule& first) {
  Bytes bytes;
  for (const Buffer& buffer : schedule.memory.buffers) {
    if (buffer.memory != Memory::kDevice || IsShared(schedule, buffer.kind)) continue;
    if (SameBufferIn(buffer, first) == nullptr) bytes += buffer.bytes.RoundedUp(kBufferAlignment);
  }
  return bytes;
}

// A device buffer that is not shared is placed where the first pass has the same buffer in the same
// size; otherwise it goes into the gaps between all these and the shared buffers: each buffer into
// the first gap that still has room for it.
absl::Status RunMemory::PlaceBeside(const RunMemory& first) {
  std::vector<std::pair<uint64_t, uint64_t>> gaps = {{0, first.device_memory_.size()}};
  for (const Buffer& buffer : first.schedule_->memory.buffers) {  // in order of offsets
    if (buffer.memory != Memory::kDevice) continue;
    if (!IsShared(*first.schedule_, buffer.kind) && SameBufferIn(buffer, *schedule_) == nullptr)
      continue;
    gaps.back().second = buffer.offset;
    gaps.emplace_back(AlignUp(buffer.offset + buffer.bytes.value()), first.device_memory_.size());
  }
  uint64_t pinned = 0;
  uint64_t plain = 0;
  for (const Buffer& buffer : schedule_->memory.buffers) {
    BufferPlace place{.bytes = buffer.bytes};
    if (IsShared(*schedule_, buffer.kind)) {
      const BufferId shared = first.Find(buffer.kind, buffer.index);
      if (shared >= 0) place = first.places_[shared];
    } else if (const Buffer* same = SameBufferIn(buffer, *first.schedule_);
               buffer.memory == Memory::kDevice && same != nullptr) {
      place.begin = first.device_memory_.data() + same->offset;
    } else if (buffer.memory == Memory::kDevice) {
      for (auto& [begin, end] : gaps) {
        if (begin + buffer.bytes.value() > end) continue;
        place.begin = first.device_memory_.data() + begin;
        begin = AlignUp(begin + buffer.bytes.value());
        break;
      }
    } else {
      uint64_t& used = buffer.memory == Memory::kPinned ? pinned : plain;
      place.begin = (buffer.memory == Memory::kPinned ? pinned_ : host_).data() + used;
      used += AlignUp(buffer.bytes.value());
    }
    if (place.begin == nullptr) {
      return absl::FailedPreconditionError(
          StrCat("a pass of kind ", ToString(schedule_->kind), " takes ",
                 DeviceBytesBeside(*schedule_).value(),
                 " bytes of the device beside the model; no room is "
                 "left for ",
                 schedule_->NameOf(buffer), " of ", buffer.bytes.value(), " bytes among the ",
                 first.device_memory_.size(), " that were reserved"));
    }
    places_.push_back(place);
  }
  return absl::OkStatus();
}

RunMemory::~RunMemory() {
  // After Create failed half-way some of these are not registered; the device then returns an
  // error, which is ignored.
  if (pinned_.size() > 0) device_->UnregisterHost(pinned_.span()).IgnoreError();
  if (host_registered_ && host_.size() > 0) device_->UnregisterHost(host_.span()).IgnoreError();
  if (staging_.size() > 0) device_->UnregisterHost(staging_.span()).IgnoreError();
}

std::byte* RunMemory::At(BufferId id) const { return places_[id].begin; }

BufferId RunMemory::Find(BufferKind kind, int32_t index) const {
  const size_t place = static_cast<size_t>(kind);
  if (place >= by_kind_.size() || index >= static_cast<int32_t>(by_kind_[place].size())) return -1;
  return by_kind_[place][index];
}

absl::Status RunMemory::Put(BufferId id, uint64_t offset, std::span<const std::byte> values) {
  CHECK(offset + values.size() <= buffer(id).bytes.value());
  std::byte* target = At(id) + offset;
  if (buffer(id).memory != Memory::kDevice) {
    std::memcpy(target, values.data(), values.size());
    return absl::OkStatus();
  }
  for (uint64_t done = 0; done < values.size(); done += kStagingBytes.value()) {
    const uint64_t bytes = std::min<uint64_t>(kStagingBytes.value(), values.size() - done);
    std::memcpy(staging_.data(), values.data() + done, bytes);
    RETURN_IF_ERROR(
        CopyStaged(target + done, staging_.data(), Bytes(bytes), LinkDirection::kToDevice));
  }
  return absl::OkStatus();
}

absl::Status RunMemory::Get(BufferId id, uint64_t offset, std::span<std::byte> values) {
  CHECK(offset + values.size() <= buffer(id).bytes.value());
  std::byte* source = At(id) + offset;
  if (buffer(id).memory != Memory::kDevice) {
    std::memcpy(values.data(), source, values.size());
    return absl::OkStatus();
  }
  for (uint64_t done = 0; done < values.size(); done += kStagingBytes.value()) {
    const uint64_t bytes = std::min<uint64_t>(kStagingBytes.value(), values.size() - done);
    RETURN_IF_ERROR(
        CopyStaged(source + done, staging_.data(), Bytes(bytes), LinkDirection::kToHost));
    std::memcpy(values.data() + done, staging_.data(), bytes);
  }
  return absl::OkStatus();
}

absl::Status RunMemory::CopyStaged(std::byte* device, std::byte* host, Bytes bytes,
                                   LinkDirection direction) {
  const absl::Status copied = direction == LinkDirection::kToDevice
                                  ? device_->CopyToDevice(stream_, device, host, bytes)
                                  : device_->CopyToHost(stream_, host, device, bytes);
  // Also after a failed copy: a part of it may be on the stream and still use the staging buffer.
  RETURN_IF_ERROR(device_->Record(stream_, event_));
  const absl::Status ended = device_->Await(event_);
  return copied.ok() ? ended : copied;
}

}  // namespace horizon
