#include "runtime/device/copy_bytes.h"

#include <algorithm>
#include <cstring>

namespace horizon {
namespace {

// Waking a worker costs what copying some 10 KiB costs.
constexpr uint64_t kLeastShare = uint64_t{256} << 10;

}  // namespace

void CopyBytes(std::byte* target, const std::byte* source, uint64_t bytes, Workers& workers) {
  const auto most = static_cast<uint64_t>(workers.count());
  const uint64_t shares = std::clamp<uint64_t>(bytes / kLeastShare, 1, most);
  const uint64_t share = (bytes / shares + 63) / 64 * 64;
  workers.Run(static_cast<int64_t>(shares), [&](int64_t piece, int) {
    const uint64_t begin = std::min(static_cast<uint64_t>(piece) * share, bytes);
    const uint64_t end =
        piece + 1 == static_cast<int64_t>(shares) ? bytes : std::min(begin + share, bytes);
    std::memcpy(target + begin, source + begin, end - begin);
  });
}

}  // namespace horizon
