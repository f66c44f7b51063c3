// Whatever the bytes, an index of shards is judged; and no shard it names leads out of its folder.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "model/files/shard_index.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryIndex(std::string_view text) {
  const absl::StatusOr<ShardIndex> index = ParseShardIndex("fuzz.json", text);
  if (!index.ok()) {
    CHECK(index.status().code() == absl::StatusCode::kDataLoss);
    return;
  }
  for (const std::string& shard : index->shards) {
    CHECK(shard.size() > 12 && shard.size() < 256);
    CHECK(shard.find('/') == std::string::npos);
    CHECK(shard.find('\0') == std::string::npos);
    CHECK(shard.find("..") == std::string::npos);
  }
  for (const auto& [tensor, shard] : index->tensors) CHECK(shard < index->shards.size());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryIndex({reinterpret_cast<const char*>(data), size});
  return 0;
}
