// Page-locking by the CUDA device on the fake CUDA: pieces, refusals, slabs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/log.h"
#include "runtime/device/cuda_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/runtime/device/shorthand.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kPage = 4096;

class CudaMemory : public testing::Test {
 protected:
  CudaMemory() : log_file_(std::tmpfile()), log_(log_file_, LogLevel::kDebug, LogStyle::kPlain) {}
  ~CudaMemory() override {
    std::fclose(log_file_);
    EXPECT_THAT(fake_cuda::Leaks(), IsEmpty());
    fake_cuda::Reset();
  }

  std::unique_ptr<Device> Make(const fake_cuda::Options& options, uint64_t most_piece_bytes) {
    fake_cuda::Reset(options);
    auto device = MakeCudaDevice({.capacity = 64_MiB,
                                  .clock = &clock_,
                                  .log = &log_,
                                  .most_locked_piece_bytes = Bytes(most_piece_bytes)});
    EXPECT_TRUE(device.ok()) << device.status();
    return device.ok() ? *std::move(device) : nullptr;
  }
  // How much is page-locked, in pieces of this many bytes.
  static int LockedPieces(uint64_t bytes) {
    const std::string line = std::to_string(bytes) + " bytes of page-locked memory";
    int count = 0;
    for (const std::string& leak : fake_cuda::Leaks()) count += leak == line ? 1 : 0;
    return count;
  }
  std::string Logged() {
    std::rewind(log_file_);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), log_file_));
    return text;
  }
  // Bytes that go to the device and back arrive as they were.
  static void ExpectRoundTrip(Device& device, StreamRef stream, std::span<std::byte> bytes) {
    const DeviceMemory memory = NewMemory(device, Bytes(bytes.size()));
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 253);
    const std::vector<std::byte> sent(bytes.begin(), bytes.end());
    EXPECT_TRUE(device.CopyToDevice(stream, memory.data(), bytes.data(), Bytes(bytes.size())).ok());
    EXPECT_TRUE(Finish(device, stream).ok());
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    EXPECT_TRUE(device.CopyToHost(stream, bytes.data(), memory.data(), Bytes(bytes.size())).ok());
    EXPECT_TRUE(Finish(device, stream).ok());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), sent.begin()));
  }

  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
  std::FILE* log_file_;
  Log log_;
};

// A page-aligned buffer of whole pages.
struct Pages {
  explicit Pages(uint64_t count)
      : memory(std::aligned_alloc(kPage, count * kPage)), bytes(count * kPage) {}
  ~Pages() { std::free(memory); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::span<std::byte> span() const { return {static_cast<std::byte*>(memory), bytes}; }

  void* memory;
  uint64_t bytes;
};

TEST_F(CudaMemory, IsLockedInPiecesOfAtMostTheLimit) {
  const Pages pages(11);
  const auto device = Make({.most_locked_bytes_a_call = 3 * kPage}, 3 * kPage);
  const StreamRef stream = NewStream(*device);
  ASSERT_TRUE(device->RegisterHost(pages.span()).ok());
  EXPECT_EQ(LockedPieces(3 * kPage), 3);
  EXPECT_EQ(LockedPieces(2 * kPage), 1);
  EXPECT_EQ(Logged(), "");
  ExpectRoundTrip(*device, stream, pages.span());
  ExpectRoundTrip(*device, stream, pages.span().subspan(kPage + 5, 7 * kPage));
  EXPECT_TRUE(device->UnregisterHost(pages.span()).ok());
  EXPECT_EQ(LockedPieces(3 * kPage) + LockedPieces(2 * kPage), 0);
}

TEST_F(CudaMemory, RangesThatShareAPageShareItsPiece) {
  const Pages pages(4);
  const auto device = Make({}, uint64_t{64} << 30);
  const StreamRef stream = NewStream(*device);
  const auto first = pages.span().first(kPage + 100);
  const auto second = pages.span().subspan(kPage + 100, 2 * kPage);
  ASSERT_TRUE(device->RegisterHost(first).ok());
  ASSERT_TRUE(device->RegisterHost(second).ok());
  EXPECT_EQ(LockedPieces(2 * kPage), 2) << "pages 0 and 1, pages 2 and 3";
  EXPECT_TRUE(device->UnregisterHost(first).ok());
  ExpectRoundTrip(*device, stream, second);
  EXPECT_TRUE(device->UnregisterHost(second).ok());
  EXPECT_EQ(LockedPieces(2 * kPage), 0);
}

TEST_F(CudaMemory, ARefusedPieceUndoesThoseBeforeAndTheSlabsServe) {
  const Pages pages(8);
  // One for the marks, three pieces; the fourth is refused and the three make room for a slab.
  const auto device = Make({.most_registrations = 4}, kPage);
  const StreamRef stream = NewStream(*device);
  ASSERT_TRUE(device->RegisterHost(pages.span()).ok());
  EXPECT_EQ(LockedPieces(kPage), 0) << "all undone";
  EXPECT_EQ(LockedPieces(uint64_t{16} << 20), 1) << "one slab a stream";
  EXPECT_THAT(Logged(), AllOf(HasSubstr("warning: cannot page-lock 32 KiB of host memory"),
                              HasSubstr("out of memory"), HasSubstr("16 MiB a stream"),
                              HasSubstr("ulimit -l")));
  ExpectRoundTrip(*device, stream, pages.span());
  const StreamRef later = NewStream(*device);
  ExpectRoundTrip(*device, later, pages.span().subspan(3, 5 * kPage));
  EXPECT_TRUE(device->UnregisterHost(pages.span()).ok());
}

TEST_F(CudaMemory, SlabsAreAsSmallAsTheLimitAsks) {
  const Pages pages(40);
  const auto device = Make({.most_locked_bytes = 30 << 10}, uint64_t{64} << 30);
  const StreamRef stream = NewStream(*device);
  ASSERT_TRUE(device->RegisterHost(pages.span()).ok());
  EXPECT_EQ(LockedPieces(16 << 10), 1);
  ExpectRoundTrip(*device, stream, pages.span());
  ExpectRoundTrip(*device, stream, pages.span().first(kPage * 2 + 1));
  EXPECT_TRUE(device->UnregisterHost(pages.span()).ok());
}

TEST_F(CudaMemory, PageableMemoryIsCopiedAndNeverLocked) {
  const Pages pages(5);
  const auto device = Make({}, uint64_t{64} << 30);
  const StreamRef before = NewStream(*device);
  ASSERT_TRUE(device->RegisterPageable(pages.span()).ok());
  const StreamRef after = NewStream(*device);
  EXPECT_EQ(LockedPieces(pages.bytes), 0);
  EXPECT_EQ(Logged(), "") << "nothing was refused, so there is nothing to warn of";
  for (const StreamRef stream : {before, after}) {
    ExpectRoundTrip(*device, stream, pages.span());
    ExpectRoundTrip(*device, stream, pages.span().subspan(11, 2 * kPage));
  }
  EXPECT_EQ(device->RegisterHost(pages.span()).code(), absl::StatusCode::kInvalidArgument)
      << "it overlaps a registered range";
  ASSERT_TRUE(device->UnregisterHost(pages.span()).ok());
  const DeviceMemory memory = NewMemory(*device, Bytes(kPage));
  EXPECT_EQ(device->CopyToDevice(before, memory.data(), pages.span().data(), Bytes(kPage)).code(),
            absl::StatusCode::kInvalidArgument)
      << "it is registered no more";
  ASSERT_TRUE(device->RegisterHost(pages.span()).ok());
  EXPECT_TRUE(device->UnregisterHost(pages.span()).ok());
}

// The slabs that copies of pageable memory go through must be locked.
TEST_F(CudaMemory, PageableMemoryWithoutASlabIsRefusedAndNotRegistered) {
  const Pages pages(4);
  const auto device = Make({.most_locked_bytes = 2000}, uint64_t{64} << 30);
  NewStream(*device);
  EXPECT_EQ(device->RegisterPageable(pages.span()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(device->UnregisterHost(pages.span()).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaMemory, WithNothingLockedThereIsNoDeviceOrNoStream) {
  const Pages pages(4);
  const auto device = Make({.most_locked_bytes = 2000}, uint64_t{64} << 30);
  NewStream(*device);
  const absl::Status status = device->RegisterHost(pages.span());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("ulimit -l"));
  EXPECT_EQ(device->UnregisterHost(pages.span()).code(), absl::StatusCode::kInvalidArgument)
      << "it is not registered";
}

// What a copy of staged memory sends is what earlier work of the stream put there.
TEST_F(CudaMemory, AStagedCopyWaitsForTheWorkThatFillsItsSource) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Pages pages(3);
    const auto device = Make({.seed = seed, .registers = false}, uint64_t{64} << 30);
    const StreamRef store = NewStream(*device), load = NewStream(*device);
    ASSERT_TRUE(device->RegisterHost(pages.span()).ok());
    const DeviceMemory from = NewMemory(*device, Bytes(pages.bytes)),
                       to = NewMemory(*device, Bytes(pages.bytes));
    std::vector<std::byte> want(pages.bytes);
    for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<std::byte>(i % 251);
    fake_cuda::WriteDevice(from.data(), want.data(), want.size());
    const EventRef stored = NewEvent(*device);
    EXPECT_TRUE(
        device->CopyToHost(store, pages.span().data(), from.data(), Bytes(pages.bytes)).ok());
    EXPECT_TRUE(device->Record(store, stored).ok());
    EXPECT_TRUE(device->Wait(load, stored).ok());
    EXPECT_TRUE(
        device->CopyToDevice(load, to.data(), pages.span().data(), Bytes(pages.bytes)).ok());
    EXPECT_TRUE(Finish(*device, load).ok());
    std::vector<std::byte> got(pages.bytes);
    fake_cuda::ReadDevice(got.data(), to.data(), got.size());
    EXPECT_TRUE(got == want) << "seed " << seed;
    EXPECT_TRUE(device->UnregisterHost(pages.span()).ok());
  }
}

}  // namespace
}  // namespace horizon
