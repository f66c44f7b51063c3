// With a device the kernels are compared with the reference; without one the answer is Unavailable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/optimizer/split_master.h"
#include "tests/kernels/support/device_arrays.h"

namespace horizon {
namespace {

constexpr uint64_t kNoneRefused = std::numeric_limits<uint64_t>::max();

// Device arrays of one size and a stream, all given back at the end.
class DeviceFixture {
 public:
  explicit DeviceFixture(const std::vector<float>& master)
      : stream_(CreateStream()),
        arrays_{.master =
                    static_cast<float*>(UploadArray(master.data(), master.size() * sizeof(float))),
                .hi = static_cast<uint16_t*>(UploadArray(nullptr, master.size() * 2)),
                .lo = static_cast<int16_t*>(UploadArray(nullptr, master.size() * 2)),
                .first_refused = static_cast<uint64_t*>(UploadArray(nullptr, 8)),
                .count = master.size()} {}
  DeviceFixture(const DeviceFixture&) = delete;
  DeviceFixture& operator=(const DeviceFixture&) = delete;
  ~DeviceFixture() {
    for (void* array :
         {static_cast<void*>(arrays_.master), static_cast<void*>(arrays_.hi),
          static_cast<void*>(arrays_.lo), static_cast<void*>(arrays_.first_refused)}) {
      FreeArray(array);
    }
    DestroyStream(stream_);
  }

  const SplitMasterDevice& arrays() const { return arrays_; }
  CUstream_st* stream() const { return stream_; }
  template <typename T>
  std::vector<T> Download(const T* from, size_t count) const {
    std::vector<T> values(count);
    EXPECT_TRUE(DownloadArray(values.data(), from, count * sizeof(T), stream_));
    return values;
  }
  uint64_t FirstRefused() const { return Download(arrays_.first_refused, 1)[0]; }

 private:
  CUstream_st* stream_;
  SplitMasterDevice arrays_;
};

void ExpectUnavailable() {
  // Never touched where there is no device, but not null, so that only the device is missing.
  float master = 0;
  uint16_t hi = 0;
  int16_t lo = 0;
  uint64_t first_refused = 0;
  int stream = 0;
  const SplitMasterDevice arrays{&master, &hi, &lo, &first_refused, 1};
  auto* fake_stream = reinterpret_cast<CUstream_st*>(&stream);
  for (const absl::Status& status :
       {SplitMasterCuda(arrays, fake_stream), JoinMasterCuda(arrays, fake_stream)}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("host device"));
  }
}

void ExpectSameAsReference(size_t count) {
  std::vector<float> master(count);
  for (size_t i = 0; i < count; ++i) {
    master[i] = std::bit_cast<float>(static_cast<uint32_t>(i * 2654435761u) & 0xBFFFFFFFu);
  }
  std::vector<uint16_t> hi(count);
  std::vector<int16_t> lo(count);
  ASSERT_TRUE(SplitMasterReference(master, hi, lo).ok());
  const DeviceFixture device(master);
  ASSERT_TRUE(SplitMasterCuda(device.arrays(), device.stream()).ok());
  EXPECT_EQ(device.FirstRefused(), kNoneRefused);
  EXPECT_EQ(device.Download(device.arrays().hi, count), hi);
  EXPECT_EQ(device.Download(device.arrays().lo, count), lo);
  ASSERT_TRUE(JoinMasterCuda(device.arrays(), device.stream()).ok());
  EXPECT_EQ(device.FirstRefused(), kNoneRefused);
  const std::vector<float> joined = device.Download(device.arrays().master, count);
  EXPECT_TRUE(count == 0 || std::memcmp(joined.data(), master.data(), 4 * count) == 0);
}

TEST(SplitMasterCuda, EqualsTheReferenceOrSaysThatThereIsNoDevice) {
  if (CudaDeviceCount() == 0) {
    ExpectUnavailable();
    return;
  }
  for (const size_t count : {size_t{0}, size_t{1}, size_t{255}, size_t{257}, size_t{20'000'001}}) {
    ExpectSameAsReference(count);
  }
  std::vector<float> master(1000, 1.0f);
  master[7] = master[900] = std::numeric_limits<float>::infinity();
  const DeviceFixture device(master);
  ASSERT_TRUE(SplitMasterCuda(device.arrays(), device.stream()).ok());
  EXPECT_EQ(device.FirstRefused(), 7u);
}

}  // namespace
}  // namespace horizon
