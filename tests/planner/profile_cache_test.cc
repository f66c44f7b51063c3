#include "planner/profile_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "planner/machine_catalog.h"

namespace horizon {
namespace {

class ProfileCache : public testing::Test {
 protected:
  KeptProfile Kept() {
    const absl::StatusOr<HardwareProfile> profile = LoadMachine(*io_, "cpu-desktop");
    EXPECT_TRUE(profile.ok()) << profile.status();
    return {.profile = *profile, .hardware = hardware_, .made = 1'700'000'000, .quick = true};
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = testing::TempDir();
  ProfiledHardware hardware_{.processor = "A processor\nwith \"quotes\"",
                             .cores = 12,
                             .memory_bytes = uint64_t{64} << 30,
                             .numa_nodes = 2,
                             .device = "host"};
};

TEST_F(ProfileCache, WhatIsKeptIsFoundAgainForTheSameHardwareOnly) {
  EXPECT_FALSE(FindKeptProfile(*io_, folder_, hardware_).has_value());
  const KeptProfile kept = Kept();
  const absl::StatusOr<std::string> path = KeepProfile(*io_, folder_, kept);
  ASSERT_TRUE(path.ok()) << path.status();
  const std::optional<KeptProfile> found = FindKeptProfile(*io_, folder_, hardware_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(WriteProfile(found->profile), WriteProfile(kept.profile));
  EXPECT_EQ(found->hardware, hardware_);
  EXPECT_EQ(found->made, kept.made);
  EXPECT_TRUE(found->quick);
  EXPECT_EQ(found->path, *path);
  ProfiledHardware other = hardware_;
  other.cores = 13;
  EXPECT_FALSE(FindKeptProfile(*io_, folder_, other).has_value());
  EXPECT_FALSE(FindKeptProfile(*io_, "", hardware_).has_value());
  // A file of another hardware that has this one's name is not taken for it.
  other.processor = "Another";
  KeptProfile renamed = kept;
  renamed.hardware = other;
  const absl::StatusOr<std::string> elsewhere = KeepProfile(*io_, folder_, renamed);
  ASSERT_TRUE(elsewhere.ok());
  ASSERT_TRUE(io_->Rename(*elsewhere, *path).ok());
  EXPECT_FALSE(FindKeptProfile(*io_, folder_, hardware_).has_value());
}

TEST_F(ProfileCache, AFileThatIsTornOrOfAnotherVersionIsAsIfThereWereNone) {
  const absl::StatusOr<std::string> path = KeepProfile(*io_, folder_, Kept());
  ASSERT_TRUE(path.ok()) << path.status();
  const absl::StatusOr<std::string> text = ReadTextFile(*io_, *path, 4_MiB);
  ASSERT_TRUE(text.ok());
  for (const size_t length : {size_t{0}, size_t{1}, text->size() / 2, text->size() - 3}) {
    ASSERT_TRUE(WriteTextFile(*io_, *path, text->substr(0, length)).ok());
    EXPECT_FALSE(FindKeptProfile(*io_, folder_, hardware_).has_value()) << length;
  }
  std::string newer = *text;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  ASSERT_TRUE(WriteTextFile(*io_, *path, newer).ok());
  EXPECT_FALSE(FindKeptProfile(*io_, folder_, hardware_).has_value());
  ASSERT_TRUE(WriteTextFile(*io_, *path, *text).ok());
  EXPECT_TRUE(FindKeptProfile(*io_, folder_, hardware_).has_value());
}

TEST_F(ProfileCache, WhatDiffersIsSaid) {
  ProfiledHardware other = hardware_;
  EXPECT_EQ(DifferenceOf(hardware_, other), "");
  other.cores = 2;
  other.memory_bytes = uint64_t{1} << 30;
  other.device = "A GPU";
  EXPECT_EQ(
      DifferenceOf(hardware_, other),
      "cores: 12 instead of 2, memory: 64 GiB instead of 1 GiB, device: host instead of A GPU");
}

TEST(AgeText, IsInTheUnitThatSuits) {
  EXPECT_EQ(AgeText(100, 90), "new");
  EXPECT_EQ(AgeText(100, 159), "new");
  EXPECT_EQ(AgeText(100, 160), "1 minute old");
  EXPECT_EQ(AgeText(0, 7200), "2 hours old");
  EXPECT_EQ(AgeText(0, 169200), "47 hours old");
  EXPECT_EQ(AgeText(0, 259200), "3 days old");
}

}  // namespace
}  // namespace horizon
