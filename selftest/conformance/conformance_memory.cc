// The part of the suite about memory, host ranges and copies.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "selftest/conformance/check_devices.h"
#include "selftest/conformance/conformance_parts.h"
#include "selftest/conformance/shorthand.h"
#include "selftest/findings.h"

namespace horizon {
namespace {

void MemoryIsGivenToTheLastByteAndNotOneMore(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  constexpr Bytes kOdd = 10'001_B;  // no multiple of alignment or page
  const auto device = devices.Make(kOdd);
  REQUIRE(findings, device != nullptr);
  VERIFY_EQ(findings, device->capacity(), kOdd);
  const DeviceMemory small = NewMemory(*device, findings, 1_B);
  VERIFY_EQ(findings, small.size(), 1u);
  VERIFY_EQ(findings, device->used(), Bytes(kDeviceAlignment));
  const Bytes left = kOdd - Bytes(kDeviceAlignment);
  {
    const absl::StatusOr<DeviceMemory> more = device->Allocate(left + 1_B);
    REQUIRE_EQ(findings, more.status().code(), absl::StatusCode::kResourceExhausted);
    for (const std::string& part :
         {std::to_string((left + 1_B).value()), std::to_string(kDeviceAlignment),
          std::to_string(kOdd.value()), std::string("lower")}) {
      VERIFY(findings, MessageContains(more.status(), part)) << more.status() << " has no " << part;
    }
  }
  VERIFY_EQ(findings, device->used(), Bytes(kDeviceAlignment)) << "a refusal takes nothing";
  {
    const DeviceMemory rest = NewMemory(*device, findings, left);
    VERIFY_EQ(findings, Bytes(rest.size()), left);
    VERIFY_EQ(findings, device->used(), kOdd);
    VERIFY_EQ(findings, device->Allocate(1_B).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  VERIFY_EQ(findings, device->used(), Bytes(kDeviceAlignment));
  VERIFY_EQ(findings, device->high_water(), kOdd);
}

void TheWholeCapacityFitsInOnePieceWhateverItIs(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  for (const uint64_t size : {1, 255, 256, 257, 4095, 4096, 4097, 100'003}) {
    const Bytes capacity(size);
    const auto device = devices.Make(capacity);
    REQUIRE(findings, device != nullptr);
    VERIFY_EQ(findings, device->Allocate(capacity + 1_B).status().code(),
              absl::StatusCode::kResourceExhausted);
    const DeviceMemory whole = NewMemory(*device, findings, capacity);
    VERIFY_EQ(findings, device->used(), capacity);
    // All of it can be used: its last byte too.
    RegisteredBytes out(*device, findings, capacity), back(*device, findings, capacity);
    out.Fill(1);
    const StreamRef stream = NewStream(*device, findings);
    VERIFY_OK(findings, device->CopyToDevice(stream, whole.data(), out.data(), capacity));
    VERIFY_OK(findings, device->CopyToHost(stream, back.data(), whole.data(), capacity));
    VERIFY_OK(findings, Finish(*device, findings, stream));
    VERIFY(findings, back.Equals(out)) << capacity;
  }
}

void ZeroBytesTakeNothing(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make(0_B);
  REQUIRE(findings, device != nullptr);
  const DeviceMemory none = NewMemory(*device, findings, 0_B);
  VERIFY_EQ(findings, none.size(), 0u);
  VERIFY_EQ(findings, none.data(), nullptr);
  VERIFY_EQ(findings, device->used(), 0_B);
  VERIFY_EQ(findings, device->Allocate(1_B).status().code(), absl::StatusCode::kResourceExhausted);
}

void AbsurdSizesAreRefused(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  for (const uint64_t bytes : {std::numeric_limits<uint64_t>::max(), uint64_t{1} << 63,
                               std::numeric_limits<uint64_t>::max() - kDeviceAlignment}) {
    VERIFY_EQ(findings, device->Allocate(Bytes(bytes)).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  VERIFY_EQ(findings, device->used(), 0_B);
}

void AllocationsAreAlignedAndKeepTheirBytesApart(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  std::array<DeviceMemory, 4> memory;
  const std::array<Bytes, 4> sizes = {1_B, 257_B, 1024_B, 3333_B};
  for (size_t i = 0; i < sizes.size(); ++i) {
    memory[i] = NewMemory(*device, findings, sizes[i]);
    VERIFY_EQ(findings, reinterpret_cast<uintptr_t>(memory[i].data()) % kDeviceAlignment, 0u);
    RegisteredBytes bytes(*device, findings, sizes[i]);
    bytes.Fill(static_cast<int>(i));
    VERIFY_OK(findings, device->CopyToDevice(stream, memory[i].data(), bytes.data(), sizes[i]));
    VERIFY_OK(findings, Finish(*device, findings, stream));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    RegisteredBytes want(*device, findings, sizes[i]), got(*device, findings, sizes[i]);
    want.Fill(static_cast<int>(i));
    VERIFY_OK(findings, device->CopyToHost(stream, got.data(), memory[i].data(), sizes[i]));
    VERIFY_OK(findings, Finish(*device, findings, stream));
    VERIFY(findings, got.Equals(want)) << "allocation " << i;
  }
}

void FreedNeighboursAreGivenOutTogether(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make(Bytes(4 * kDeviceAlignment));
  REQUIRE(findings, device != nullptr);
  std::array<DeviceMemory, 4> quarter;
  for (DeviceMemory& memory : quarter)
    memory = NewMemory(*device, findings, Bytes(kDeviceAlignment));
  quarter[1] = DeviceMemory();
  quarter[3] = DeviceMemory();
  VERIFY_EQ(findings, device->used(), Bytes(2 * kDeviceAlignment));
  const absl::Status torn = device->Allocate(Bytes(2 * kDeviceAlignment)).status();
  VERIFY_EQ(findings, torn.code(), absl::StatusCode::kResourceExhausted);
  VERIFY(findings, MessageContains(torn, "largest")) << torn;
  quarter[2] = DeviceMemory();
  const DeviceMemory joined = NewMemory(*device, findings, Bytes(3 * kDeviceAlignment));
  VERIFY_EQ(findings, joined.data(), quarter[0].data() + kDeviceAlignment);
}

void AMovedOwnerFreesOnce(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  DeviceMemory first = NewMemory(*device, findings, 1000_B);
  std::byte* const data = first.data();
  DeviceMemory second = std::move(first);
  VERIFY_EQ(findings, second.data(), data);
  VERIFY_EQ(findings, device->used(), 1024_B);
  second = NewMemory(*device, findings, 2000_B);  // gives the 1000 back
  VERIFY_EQ(findings, device->used(), 2048_B);
  DeviceMemory& itself = second;
  second = std::move(itself);
  VERIFY_EQ(findings, device->used(), 2048_B);
  second = DeviceMemory();
  VERIFY_EQ(findings, device->used(), 0_B);
  VERIFY_EQ(findings, device->high_water(), 3072_B);
}

void HostRangesAreRegisteredOnceAndWhole(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  std::array<std::byte, 100> bytes{};
  const std::span<std::byte> all(bytes);
  VERIFY_EQ(findings, device->RegisterHost({}).code(), absl::StatusCode::kInvalidArgument);
  VERIFY_OK(findings, device->RegisterHost(all.subspan(10, 20)));
  for (const auto& overlapping : {all.subspan(10, 20), all.subspan(29, 1), all.subspan(10, 1),
                                  all.subspan(5, 6), all, all.subspan(15, 50)}) {
    VERIFY_EQ(findings, device->RegisterHost(overlapping).code(),
              absl::StatusCode::kInvalidArgument);
  }
  VERIFY_OK(findings, device->RegisterHost(all.subspan(30, 10))) << "touching is not overlapping";
  VERIFY_OK(findings, device->RegisterHost(all.subspan(9, 1)));
  for (const auto& unknown : {all, all.subspan(10, 19), all.subspan(11, 19), all.subspan(10, 30)}) {
    VERIFY_EQ(findings, device->UnregisterHost(unknown).code(), absl::StatusCode::kInvalidArgument);
  }
  for (const auto& known : {all.subspan(10, 20), all.subspan(30, 10), all.subspan(9, 1)}) {
    VERIFY_OK(findings, device->UnregisterHost(known));
  }
  VERIFY_OK(findings, device->RegisterHost(all)) << "nothing is left registered";
  VERIFY_OK(findings, device->UnregisterHost(all));
}

void CopiesOfAllSizesCarryEveryByteAndNoOther(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  constexpr uint64_t kGuard = 13;  // unaligned on the host side, and what is around must stay
  const auto device = devices.Make(16_MiB);
  REQUIRE(findings, device != nullptr);
  const absl::StatusOr<StreamRef> stream = device->CreateStream({.name = "copy", .threads = 3});
  REQUIRE_OK(findings, stream);
  for (const uint64_t bytes : {0, 1, 3, 64, 255, 4097, 65'537, 1'000'003, 9'437'185}) {
    const DeviceMemory memory = NewMemory(*device, findings, Bytes(bytes + 2));
    RegisteredBytes out(*device, findings, Bytes(bytes + 2 * kGuard)),
        back(*device, findings, Bytes(bytes + 2 * kGuard));
    out.Fill(7);
    back.Fill(7);
    for (uint64_t i = 0; i < bytes; ++i) back[kGuard + i] = std::byte{0xEE};
    VERIFY_OK(findings,
              device->CopyToDevice(*stream, memory.data() + 1, out.data() + kGuard, Bytes(bytes)));
    VERIFY_OK(findings,
              device->CopyToHost(*stream, back.data() + kGuard, memory.data() + 1, Bytes(bytes)));
    VERIFY_OK(findings, Finish(*device, findings, *stream));
    VERIFY(findings, back.Equals(out)) << bytes << " bytes";
  }
}

void ZeroByteCopiesNeedNoMemory(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  VERIFY_OK(findings, device->CopyToDevice(stream, nullptr, nullptr, 0_B));
  VERIFY_OK(findings, device->CopyToHost(stream, nullptr, nullptr, 0_B));
  VERIFY_OK(findings, Finish(*device, findings, stream));
}

void ACopyOutsideItsMemoryIsRefusedAndLeavesTheStreamGood(const DeviceFactory& factory,
                                                          Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  const DeviceMemory memory = NewMemory(*device, findings, 100_B);
  const DeviceMemory next = NewMemory(*device, findings, 1000_B);
  RegisteredBytes host(*device, findings, 1000_B);
  std::array<std::byte, 4> strange{};
  const auto refused = [&](std::byte* on_device, std::byte* on_host, uint64_t bytes) {
    VERIFY_EQ(findings, device->CopyToDevice(stream, on_device, on_host, Bytes(bytes)).code(),
              absl::StatusCode::kInvalidArgument);
    VERIFY_EQ(findings, device->CopyToHost(stream, on_host, on_device, Bytes(bytes)).code(),
              absl::StatusCode::kInvalidArgument);
  };
  refused(memory.data(), host.data(), 101);      // into the padding
  refused(memory.data(), host.data(), 257);      // into the next allocation
  refused(memory.data() + 100, host.data(), 1);  // just behind
  refused(memory.data() - 1, host.data(), 1);
  refused(nullptr, host.data(), 1);
  refused(host.data(), host.data(), 1);
  refused(next.data() + 1, host.data(), std::numeric_limits<uint64_t>::max());
  refused(next.data(), host.data(), 1001);
  refused(next.data(), host.data() + 999, 2);
  refused(next.data(), host.data() - 1, 1);
  refused(next.data(), nullptr, 1);
  refused(next.data(), strange.data(), strange.size());
  VERIFY_OK(findings, device->CopyToDevice(stream, next.data(), host.data(), 1000_B));
  VERIFY_OK(findings, Finish(*device, findings, stream));
}

void ACopyMayNotSpanTwoRegisteredRanges(const DeviceFactory& factory, Findings& findings) {
  CheckDevices devices(factory, findings);
  const auto device = devices.Make();
  REQUIRE(findings, device != nullptr);
  const StreamRef stream = NewStream(*device, findings);
  const DeviceMemory memory = NewMemory(*device, findings, 100_B);
  std::array<std::byte, 20> bytes{};
  const std::span<std::byte> all(bytes);
  REQUIRE_OK(findings, device->RegisterHost(all.first(10)));
  REQUIRE_OK(findings, device->RegisterHost(all.last(10)));
  VERIFY_EQ(findings, device->CopyToDevice(stream, memory.data(), bytes.data() + 5, 10_B).code(),
            absl::StatusCode::kInvalidArgument);
  VERIFY_OK(findings, device->CopyToDevice(stream, memory.data(), bytes.data() + 10, 10_B));
  VERIFY_OK(findings, Finish(*device, findings, stream));
  VERIFY_OK(findings, device->UnregisterHost(all.first(10)));
  VERIFY_OK(findings, device->UnregisterHost(all.last(10)));
}

}  // namespace

std::span<const ConformanceCheck> MemoryChecks() {
  static constexpr ConformanceCheck kChecks[] = {
      {"MemoryIsGivenToTheLastByteAndNotOneMore", MemoryIsGivenToTheLastByteAndNotOneMore},
      {"TheWholeCapacityFitsInOnePieceWhateverItIs", TheWholeCapacityFitsInOnePieceWhateverItIs},
      {"ZeroBytesTakeNothing", ZeroBytesTakeNothing},
      {"AbsurdSizesAreRefused", AbsurdSizesAreRefused},
      {"AllocationsAreAlignedAndKeepTheirBytesApart", AllocationsAreAlignedAndKeepTheirBytesApart},
      {"FreedNeighboursAreGivenOutTogether", FreedNeighboursAreGivenOutTogether},
      {"AMovedOwnerFreesOnce", AMovedOwnerFreesOnce},
      {"HostRangesAreRegisteredOnceAndWhole", HostRangesAreRegisteredOnceAndWhole},
      {"CopiesOfAllSizesCarryEveryByteAndNoOther", CopiesOfAllSizesCarryEveryByteAndNoOther},
      {"ZeroByteCopiesNeedNoMemory", ZeroByteCopiesNeedNoMemory},
      {"ACopyOutsideItsMemoryIsRefusedAndLeavesTheStreamGood",
       ACopyOutsideItsMemoryIsRefusedAndLeavesTheStreamGood},
      {"ACopyMayNotSpanTwoRegisteredRanges", ACopyMayNotSpanTwoRegisteredRanges},
  };
  return kChecks;
}

}  // namespace horizon
