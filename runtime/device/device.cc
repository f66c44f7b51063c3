#include "runtime/device/device.h"

#include "common/text/str_cat.h"

namespace horizon {

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this == &other) return *this;
  if (device_ != nullptr) device_->Free(data_, size_);
  device_ = std::exchange(other.device_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (device_ != nullptr) device_->Free(data_, size_);
}

absl::Status CheckStreamOptions(const StreamOptions& options) {
  if (options.threads < 1 || options.threads > 1024) {
    return absl::InvalidArgumentError(
        StrCat("stream ", options.name, ": ", options.threads, " threads; 1 to 1024 are possible"));
  }
  if (options.scratch.empty()) return absl::OkStatus();
  const size_t needed = static_cast<size_t>(options.threads) * kWorkerScratchBytes;
  if (options.scratch.size() < needed) {
    return absl::InvalidArgumentError(StrCat("stream ", options.name, ": ", options.scratch.size(),
                                             " bytes of scratch; ", options.threads,
                                             " threads need ", needed));
  }
  if (reinterpret_cast<uintptr_t>(options.scratch.data()) % 64 != 0) {
    return absl::InvalidArgumentError(
        StrCat("stream ", options.name, ": scratch is not aligned to 64 bytes"));
  }
  return absl::OkStatus();
}

}  // namespace horizon
