// The part of the suite about memory, host ranges and copies.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "tests/runtime/device/conformance.h"

namespace horizon {
namespace {

using testing::HasSubstr;

TEST_P(DeviceConformance, MemoryIsGivenToTheLastByteAndNotOneMore) {
  constexpr uint64_t kOdd = 10'001;  // no multiple of alignment or page
  const auto device = Make(kOdd);
  EXPECT_EQ(device->capacity(), kOdd);
  const DeviceMemory small = NewMemory(*device, 1);
  EXPECT_EQ(small.size(), 1);
  EXPECT_EQ(device->used(), kDeviceAlignment);
  const uint64_t left = kOdd - kDeviceAlignment;
  {
    const absl::StatusOr<DeviceMemory> more = device->Allocate(left + 1);
    ASSERT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
    const std::string message(more.status().message());
    EXPECT_THAT(message, HasSubstr(std::to_string(left + 1)));  // asked
    EXPECT_THAT(message, HasSubstr(std::to_string(kDeviceAlignment)));
    EXPECT_THAT(message, HasSubstr(std::to_string(kOdd)));
    EXPECT_THAT(message, HasSubstr("lower"));
  }
  EXPECT_EQ(device->used(), kDeviceAlignment) << "a refusal takes nothing";
  {
    const DeviceMemory rest = NewMemory(*device, left);
    EXPECT_EQ(rest.size(), left);
    EXPECT_EQ(device->used(), kOdd);
    EXPECT_EQ(device->Allocate(1).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(device->used(), kDeviceAlignment);
  EXPECT_EQ(device->high_water(), kOdd);
}

TEST_P(DeviceConformance, TheWholeCapacityFitsInOnePieceWhateverItIs) {
  for (const uint64_t capacity : {1, 255, 256, 257, 4095, 4096, 4097, 100'003}) {
    const auto device = Make(capacity);
    EXPECT_EQ(device->Allocate(capacity + 1).status().code(), absl::StatusCode::kResourceExhausted);
    const DeviceMemory whole = NewMemory(*device, capacity);
    EXPECT_EQ(device->used(), capacity);
    // All of it can be used: its last byte too.
    RegisteredBytes out(*device, capacity), back(*device, capacity);
    out.Fill(1);
    const StreamRef stream = NewStream(*device);
    EXPECT_TRUE(device->CopyToDevice(stream, whole.data(), out.data(), capacity).ok());
    EXPECT_TRUE(device->CopyToHost(stream, back.data(), whole.data(), capacity).ok());
    EXPECT_TRUE(Finish(*device, stream).ok());
    EXPECT_TRUE(back.Equals(out)) << capacity;
  }
}

TEST_P(DeviceConformance, ZeroBytesTakeNothing) {
  const auto device = Make(0);
  const DeviceMemory none = NewMemory(*device, 0);
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(device->used(), 0);
  EXPECT_EQ(device->Allocate(1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(DeviceConformance, AbsurdSizesAreRefused) {
  const auto device = Make();
  for (const uint64_t bytes : {std::numeric_limits<uint64_t>::max(), uint64_t{1} << 63,
                               std::numeric_limits<uint64_t>::max() - kDeviceAlignment}) {
    EXPECT_EQ(device->Allocate(bytes).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(device->used(), 0);
}

TEST_P(DeviceConformance, AllocationsAreAlignedAndKeepTheirBytesApart) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  std::array<DeviceMemory, 4> memory;
  const std::array<uint64_t, 4> sizes = {1, 257, 1024, 3333};
  for (size_t i = 0; i < sizes.size(); ++i) {
    memory[i] = NewMemory(*device, sizes[i]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory[i].data()) % kDeviceAlignment, 0);
    RegisteredBytes bytes(*device, sizes[i]);
    bytes.Fill(static_cast<int>(i));
    EXPECT_TRUE(device->CopyToDevice(stream, memory[i].data(), bytes.data(), sizes[i]).ok());
    EXPECT_TRUE(Finish(*device, stream).ok());
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    RegisteredBytes want(*device, sizes[i]), got(*device, sizes[i]);
    want.Fill(static_cast<int>(i));
    EXPECT_TRUE(device->CopyToHost(stream, got.data(), memory[i].data(), sizes[i]).ok());
    EXPECT_TRUE(Finish(*device, stream).ok());
    EXPECT_TRUE(got.Equals(want)) << "allocation " << i;
  }
}

TEST_P(DeviceConformance, FreedNeighboursAreGivenOutTogether) {
  const auto device = Make(4 * kDeviceAlignment);
  std::array<DeviceMemory, 4> quarter;
  for (DeviceMemory& memory : quarter) memory = NewMemory(*device, kDeviceAlignment);
  quarter[1] = DeviceMemory();
  quarter[3] = DeviceMemory();
  EXPECT_EQ(device->used(), 2 * kDeviceAlignment);
  const absl::Status torn = device->Allocate(2 * kDeviceAlignment).status();
  EXPECT_EQ(torn.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(torn.message()), HasSubstr("largest"));
  quarter[2] = DeviceMemory();
  const DeviceMemory joined = NewMemory(*device, 3 * kDeviceAlignment);
  EXPECT_EQ(joined.data(), quarter[0].data() + kDeviceAlignment);
}

TEST_P(DeviceConformance, AMovedOwnerFreesOnce) {
  const auto device = Make();
  DeviceMemory first = NewMemory(*device, 1000);
  std::byte* const data = first.data();
  DeviceMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(device->used(), 1024);
  second = NewMemory(*device, 2000);  // gives the 1000 back
  EXPECT_EQ(device->used(), 2048);
  DeviceMemory& itself = second;
  second = std::move(itself);
  EXPECT_EQ(device->used(), 2048);
  second = DeviceMemory();
  EXPECT_EQ(device->used(), 0);
  EXPECT_EQ(device->high_water(), 3072);
}

TEST_P(DeviceConformance, HostRangesAreRegisteredOnceAndWhole) {
  const auto device = Make();
  std::array<std::byte, 100> bytes{};
  const std::span<std::byte> all(bytes);
  EXPECT_EQ(device->RegisterHost({}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(device->RegisterHost(all.subspan(10, 20)).ok());
  for (const auto& overlapping : {all.subspan(10, 20), all.subspan(29, 1), all.subspan(10, 1),
                                  all.subspan(5, 6), all, all.subspan(15, 50)}) {
    EXPECT_EQ(device->RegisterHost(overlapping).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(device->RegisterHost(all.subspan(30, 10)).ok()) << "touching is not overlapping";
  EXPECT_TRUE(device->RegisterHost(all.subspan(9, 1)).ok());
  for (const auto& unknown : {all, all.subspan(10, 19), all.subspan(11, 19), all.subspan(10, 30)}) {
    EXPECT_EQ(device->UnregisterHost(unknown).code(), absl::StatusCode::kInvalidArgument);
  }
  for (const auto& known : {all.subspan(10, 20), all.subspan(30, 10), all.subspan(9, 1)}) {
    EXPECT_TRUE(device->UnregisterHost(known).ok());
  }
  EXPECT_TRUE(device->RegisterHost(all).ok()) << "nothing is left registered";
  EXPECT_TRUE(device->UnregisterHost(all).ok());
}

TEST_P(DeviceConformance, CopiesOfAllSizesCarryEveryByteAndNoOther) {
  constexpr uint64_t kGuard = 13;  // unaligned on the host side, and what is around must stay
  const auto device = Make(uint64_t{16} << 20);
  const absl::StatusOr<StreamRef> stream = device->CreateStream({.name = "copy", .threads = 3});
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (const uint64_t bytes : {0, 1, 3, 64, 255, 4097, 65'537, 1'000'003, 9'437'185}) {
    const DeviceMemory memory = NewMemory(*device, bytes + 2);
    RegisteredBytes out(*device, bytes + 2 * kGuard), back(*device, bytes + 2 * kGuard);
    out.Fill(7);
    back.Fill(7);
    for (uint64_t i = 0; i < bytes; ++i) back[kGuard + i] = std::byte{0xEE};
    EXPECT_TRUE(device->CopyToDevice(*stream, memory.data() + 1, out.data() + kGuard, bytes).ok());
    EXPECT_TRUE(device->CopyToHost(*stream, back.data() + kGuard, memory.data() + 1, bytes).ok());
    EXPECT_TRUE(Finish(*device, *stream).ok());
    EXPECT_TRUE(back.Equals(out)) << bytes << " bytes";
  }
}

TEST_P(DeviceConformance, ZeroByteCopiesNeedNoMemory) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  EXPECT_TRUE(device->CopyToDevice(stream, nullptr, nullptr, 0).ok());
  EXPECT_TRUE(device->CopyToHost(stream, nullptr, nullptr, 0).ok());
  EXPECT_TRUE(Finish(*device, stream).ok());
}

TEST_P(DeviceConformance, ACopyOutsideItsMemoryIsRefusedAndLeavesTheStreamGood) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const DeviceMemory memory = NewMemory(*device, 100);
  const DeviceMemory next = NewMemory(*device, 1000);
  RegisteredBytes host(*device, 1000);
  std::array<std::byte, 4> strange{};
  const auto refused = [&](std::byte* on_device, std::byte* on_host, uint64_t bytes) {
    EXPECT_EQ(device->CopyToDevice(stream, on_device, on_host, bytes).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(device->CopyToHost(stream, on_host, on_device, bytes).code(),
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
  EXPECT_TRUE(device->CopyToDevice(stream, next.data(), host.data(), 1000).ok());
  EXPECT_TRUE(Finish(*device, stream).ok());
}

TEST_P(DeviceConformance, ACopyMayNotSpanTwoRegisteredRanges) {
  const auto device = Make();
  const StreamRef stream = NewStream(*device);
  const DeviceMemory memory = NewMemory(*device, 100);
  std::array<std::byte, 20> bytes{};
  const std::span<std::byte> all(bytes);
  ASSERT_TRUE(device->RegisterHost(all.first(10)).ok());
  ASSERT_TRUE(device->RegisterHost(all.last(10)).ok());
  EXPECT_EQ(device->CopyToDevice(stream, memory.data(), bytes.data() + 5, 10).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(device->CopyToDevice(stream, memory.data(), bytes.data() + 10, 10).ok());
  EXPECT_TRUE(Finish(*device, stream).ok());
  EXPECT_TRUE(device->UnregisterHost(all.first(10)).ok());
  EXPECT_TRUE(device->UnregisterHost(all.last(10)).ok());
}

}  // namespace
}  // namespace horizon
