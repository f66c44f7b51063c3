#include "common/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

// The smallest page of every machine we know; only touching depends on it.
constexpr uint64_t kPage = 4096;

absl::Status Refused(const char* what, uint64_t bytes, int error) {
  return absl::ResourceExhaustedError(
      StrCat(what, " ", BytesText(bytes), " (", bytes,
             " bytes) of host memory: ", std::generic_category().message(error),
             "; free memory, ask for less, or raise ulimit -v and ulimit -d where they are set"));
}

// Kernels before 5.14 do not know the advice: there every page is touched, which asks for the same
// memory but cannot report that there is none.
absl::Status Populate(std::byte* data, uint64_t bytes) {
  while (madvise(data, bytes, MADV_POPULATE_WRITE) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EINVAL) return Refused("filling in", bytes, error);
    for (uint64_t at = 0; at < bytes; at += kPage) {
      *const_cast<volatile std::byte*>(data + at) = std::byte{0};
    }
    break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostMemory> HostMemory::Create(Bytes size, const HostMemoryOptions& options) {
  const uint64_t bytes = size.value();
  if (bytes == 0) return HostMemory();
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Refused("mapping", bytes, ENOMEM);
  }
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return Refused("mapping", bytes, errno);
  HostMemory memory(static_cast<std::byte*>(mapping), bytes);
  // Advice comes before the pages do; a system without huge pages refuses it, which is fine.
  if (options.huge_pages) madvise(mapping, bytes, MADV_HUGEPAGE);
  if (options.populate) RETURN_IF_ERROR(Populate(memory.data_, bytes));
  return memory;
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  HostMemory taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace horizon
