#include "selftest/conformance/pipeline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "common/status_macros.h"

namespace horizon {
namespace {

constexpr int kSlots = 2;
constexpr int kWords = 5;  // each item is this many equal words
constexpr Bytes kItemBytes(kWords * sizeof(uint32_t));

uint32_t ItemValue(int item) { return 1000 + static_cast<uint32_t>(item); }

using Item = std::array<uint32_t, kWords>;

std::byte* BytesOf(Item& item) { return reinterpret_cast<std::byte*>(item.data()); }

struct Pipeline {
  Device& device;
  const OmittedWait omitted;
  const DoubleWords& double_words;
  std::array<Item, kSlots> sources{};
  std::array<Item, kPipelineItems> targets{};
  DeviceMemory loads;
  DeviceMemory results;
  StreamRef load, compute, store;
  std::array<EventRef, kSlots> loaded, computed;
  std::array<EventRef, kPipelineItems> stored;
  std::vector<uint32_t> arrived;

  absl::Status Prepare() {
    for (auto* memory : {&loads, &results}) {
      ASSIGN_OR_RETURN(*memory, device.Allocate(Bytes(kSlots * kDeviceAlignment)));
    }
    ASSIGN_OR_RETURN(load, device.CreateStream({.name = "load"}));
    ASSIGN_OR_RETURN(compute, device.CreateStream({.name = "compute"}));
    ASSIGN_OR_RETURN(store, device.CreateStream({.name = "store"}));
    for (const std::span<EventRef> events : {std::span<EventRef>(loaded), {computed}, {stored}}) {
      for (EventRef& event : events) {
        ASSIGN_OR_RETURN(event, device.CreateEvent());
      }
    }
    RETURN_IF_ERROR(device.RegisterHost(std::as_writable_bytes(std::span(sources))));
    return device.RegisterHost(std::as_writable_bytes(std::span(targets)));
  }

  absl::Status WaitUnless(OmittedWait wait, StreamRef stream, EventRef event) {
    return omitted == wait ? absl::OkStatus() : device.Wait(stream, event);
  }

  absl::Status Submit(int item) {
    const int slot = item % kSlots;
    const bool again = item >= kSlots;
    std::byte* loaded_at = loads.data() + slot * kDeviceAlignment;
    std::byte* result_at = results.data() + slot * kDeviceAlignment;
    if (again && omitted != OmittedWait::kSourceFree) RETURN_IF_ERROR(device.Await(loaded[slot]));
    sources[slot].fill(ItemValue(item));

    if (again) RETURN_IF_ERROR(WaitUnless(OmittedWait::kSlotFree, load, computed[slot]));
    RETURN_IF_ERROR(device.CopyToDevice(load, loaded_at, BytesOf(sources[slot]), kItemBytes));
    RETURN_IF_ERROR(device.Record(load, loaded[slot]));

    RETURN_IF_ERROR(WaitUnless(OmittedWait::kLoaded, compute, loaded[slot]));
    if (again)
      RETURN_IF_ERROR(WaitUnless(OmittedWait::kResultFree, compute, stored[item - kSlots]));
    RETURN_IF_ERROR(
        device.Launch(compute, {.name = "double"}, double_words(result_at, loaded_at, kWords)));
    RETURN_IF_ERROR(device.Record(compute, computed[slot]));

    RETURN_IF_ERROR(WaitUnless(OmittedWait::kComputed, store, computed[slot]));
    RETURN_IF_ERROR(device.CopyToHost(store, BytesOf(targets[item]), result_at, kItemBytes));
    return device.Record(store, stored[item]);
  }

  absl::Status Collect(int item) {
    if (omitted != OmittedWait::kStored) RETURN_IF_ERROR(device.Await(stored[item]));
    const Item& words = targets[item];
    const bool whole = std::equal(words.begin() + 1, words.end(), words.begin());
    arrived.push_back(whole ? words[0] : 0);
    return absl::OkStatus();
  }

  absl::Status Run() {
    RETURN_IF_ERROR(Prepare());
    for (int item = 0; item < kPipelineItems; ++item) RETURN_IF_ERROR(Submit(item));
    for (int item = 0; item < kPipelineItems; ++item) RETURN_IF_ERROR(Collect(item));
    RETURN_IF_ERROR(device.UnregisterHost(std::as_writable_bytes(std::span(targets))));
    return device.UnregisterHost(std::as_writable_bytes(std::span(sources)));
  }
};

}  // namespace

KernelCall DoubleWordsOnHost(std::byte* target, const std::byte* source, uint64_t words) {
  return [=](const KernelContext&) {
    const auto* in = reinterpret_cast<const uint32_t*>(source);
    std::transform(in, in + words, reinterpret_cast<uint32_t*>(target),
                   [](uint32_t word) { return 2 * word; });
    return absl::OkStatus();
  };
}

uint32_t PipelineResult(int item) { return 2 * ItemValue(item); }

absl::StatusOr<std::vector<uint32_t>> RunPipeline(Device& device, OmittedWait omitted,
                                                  const DoubleWords& double_words) {
  Pipeline pipeline{.device = device, .omitted = omitted, .double_words = double_words};
  absl::Status status = pipeline.Run();
  if (!status.ok()) device.Cancel(status);
  RETURN_IF_ERROR(status);
  return std::move(pipeline.arrived);
}

}  // namespace horizon
