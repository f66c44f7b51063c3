#include "planner/profile/profile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/text/str_cat.h"
#include "kernels/kernel_fingerprint.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'700'000'000;
constexpr int64_t kDay = 86'400;

class ProfileCache : public testing::Test {
 protected:
  HardwareProfile Profile() {
    absl::StatusOr<HardwareProfile> profile = LoadMachine(*io_, "cpu-desktop");
    EXPECT_TRUE(profile.ok()) << profile.status();
    profile->measured_on = MeasuredNow(hardware_, kNow);
    profile->measured_on->quick = true;
    return *profile;
  }
  absl::Status Find(const ProfiledHardware& hardware) {
    return FindCachedProfile(*io_, folder_, hardware).status();
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = testing::TempDir();
  ProfiledHardware hardware_{.processor = "A processor\nwith \"quotes\"",
                             .cores = 12,
                             .hardware_threads = 24,
                             .memory_bytes = Bytes(uint64_t{64} << 30),
                             .numa_nodes = 2,
                             .device = "host"};
};

TEST_F(ProfileCache, WhatIsKeptIsFoundAgainForTheSameHardwareOnly) {
  EXPECT_TRUE(absl::IsNotFound(Find(hardware_)));
  HardwareProfile profile = Profile();
  const absl::StatusOr<std::string> path = CacheProfile(*io_, folder_, profile);
  ASSERT_TRUE(path.ok()) << path.status();
  const absl::StatusOr<CachedProfile> found = FindCachedProfile(*io_, folder_, hardware_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(WriteProfile(found->profile), WriteProfile(profile));
  EXPECT_EQ(found->profile.measured_on, profile.measured_on);
  EXPECT_EQ(found->path, *path);
  // The file is a machine like any other.
  EXPECT_EQ(WriteProfile(*LoadProfile(*io_, *path)), WriteProfile(profile));
  ProfiledHardware other = hardware_;
  other.cores = 13;
  EXPECT_TRUE(absl::IsNotFound(Find(other)));
  EXPECT_TRUE(absl::IsNotFound(FindCachedProfile(*io_, "", hardware_).status()));
  // A file of another hardware that has this one's name is not taken for it.
  profile.measured_on->hardware.processor = "Another";
  const absl::StatusOr<std::string> elsewhere = CacheProfile(*io_, folder_, profile);
  ASSERT_TRUE(elsewhere.ok());
  ASSERT_TRUE(io_->Rename(*elsewhere, *path).ok());
  const absl::Status status = Find(hardware_);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is of another machine (processor: "));
}

TEST_F(ProfileCache, AFileThatIsTornOrOfAnotherVersionIsSaidToBeSo) {
  const absl::StatusOr<std::string> path = CacheProfile(*io_, folder_, Profile());
  ASSERT_TRUE(path.ok()) << path.status();
  const absl::StatusOr<std::string> text = ReadTextFile(*io_, *path, 4_MiB);
  ASSERT_TRUE(text.ok());
  for (const size_t length : {size_t{0}, size_t{1}, text->size() / 2, text->size() - 3}) {
    ASSERT_TRUE(WriteTextFile(*io_, *path, text->substr(0, length)).ok());
    const absl::Status status = Find(hardware_);
    EXPECT_TRUE(absl::IsDataLoss(status)) << length;
    EXPECT_THAT(std::string(status.message()), HasSubstr(*path)) << length;
  }
  std::string newer = *text;
  newer.replace(newer.find("\"version\": 1"), 12, "\"version\": 2");
  ASSERT_TRUE(WriteTextFile(*io_, *path, newer).ok());
  EXPECT_TRUE(absl::IsDataLoss(Find(hardware_)));
  HardwareProfile unknown = Profile();
  unknown.measured_on.reset();
  ASSERT_TRUE(WriteTextFile(*io_, *path, WriteProfile(unknown)).ok());
  EXPECT_TRUE(absl::IsDataLoss(Find(hardware_)));
  ASSERT_TRUE(WriteTextFile(*io_, *path, *text).ok());
  EXPECT_TRUE(Find(hardware_).ok());
}

TEST_F(ProfileCache, OldProfilesAndThoseOfOtherKernelsShouldBeMeasuredAgain) {
  MeasuredOn measured = MeasuredNow(hardware_, kNow);
  EXPECT_EQ(measured.kernels, KernelFingerprint());
  EXPECT_EQ(StaleReason(measured, kNow), "");
  EXPECT_EQ(StaleReason(measured, kNow + 30 * kDay), "");
  EXPECT_EQ(StaleReason(measured, kNow + 30 * kDay + 1), "older than 30 days");
  EXPECT_EQ(FreshnessText(measured, kNow + 7200), "2 hours old");
  measured.quick = true;
  EXPECT_EQ(FreshnessText(measured, kNow + 40 * kDay),
            "40 days old, quick; older than 30 days: `horizon profile` measures again");
  measured.kernels = "others";
  EXPECT_EQ(FreshnessText(measured, kNow),
            "new, quick; measured with other kernels than these: `horizon profile` measures "
            "again");
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
