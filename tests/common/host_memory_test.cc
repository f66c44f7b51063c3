#include "common/host_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace horizon {
namespace {

const auto kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

// Pages of the range that are in memory now; -1 when it is not mapped.
int64_t ResidentPages(std::span<std::byte> memory) {
  std::vector<unsigned char> pages((memory.size() + kPage - 1) / kPage);
  if (mincore(memory.data(), memory.size(), pages.data()) != 0) return -1;
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; });
}

TEST(HostMemory, HasExactlyTheSizeAskedForZeroedAndUsable) {
  for (const uint64_t bytes : {uint64_t{1}, kPage - 1, kPage, kPage + 1, uint64_t{5} << 20}) {
    for (const bool populate : {false, true}) {
      const absl::StatusOr<HostMemory> memory =
          HostMemory::Create(Bytes(bytes), {.populate = populate});
      ASSERT_TRUE(memory.ok()) << memory.status();
      EXPECT_EQ(memory->size(), bytes);
      EXPECT_EQ(memory->span().size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % kPage, 0);
      const std::span<std::byte> span = memory->span();
      EXPECT_EQ(std::count(span.begin(), span.end(), std::byte{0}), static_cast<int64_t>(bytes));
      span.front() = std::byte{1};
      span.back() = std::byte{2};
      EXPECT_EQ(memory->data()[bytes - 1], std::byte{2});
    }
  }
}

TEST(HostMemory, PagesAreThereAtOnceOrWhenUsedAsAsked) {
  const uint64_t bytes = 64 * kPage + 1;
  const auto filled = HostMemory::Create(Bytes(bytes), {.populate = true, .huge_pages = false});
  ASSERT_TRUE(filled.ok()) << filled.status();
  EXPECT_EQ(ResidentPages(filled->span()), 65);
  const auto lazy = HostMemory::Create(Bytes(bytes), {.populate = false, .huge_pages = false});
  ASSERT_TRUE(lazy.ok()) << lazy.status();
  EXPECT_EQ(ResidentPages(lazy->span()), 0);
}

TEST(HostMemory, ZeroBytesAreEmpty) {
  const absl::StatusOr<HostMemory> memory = HostMemory::Create(0_B);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_TRUE(memory->span().empty());
}

TEST(HostMemory, WhatTheSystemRefusesIsResourceExhaustedWithTheBytesAsked) {
  for (const uint64_t bytes : {uint64_t{1} << 60, std::numeric_limits<uint64_t>::max()}) {
    const absl::Status status = HostMemory::Create(Bytes(bytes)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_NE(status.message().find(std::to_string(bytes)), std::string::npos) << status;
  }
}

TEST(HostMemory, MovesAndUnmapsOnce) {
  HostMemory first = *HostMemory::Create(Bytes(kPage));
  HostMemory second = *HostMemory::Create(Bytes(2 * kPage));
  const std::span<std::byte> small = first.span();
  const std::span<std::byte> large = second.span();
  small[0] = std::byte{7};
  second = std::move(first);
  EXPECT_EQ(ResidentPages(large), -1) << "what was there before is given back at once";
  EXPECT_EQ(second.data(), small.data());
  EXPECT_EQ(second.data()[0], std::byte{7});
  HostMemory third(std::move(second));
  EXPECT_EQ(third.size(), kPage);
  EXPECT_EQ(third.data()[0], std::byte{7});
  third = HostMemory();
  EXPECT_EQ(ResidentPages(small), -1);
}

}  // namespace
}  // namespace horizon
