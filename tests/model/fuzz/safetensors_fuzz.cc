// Whatever the bytes, the header of a safetensors file is judged; and what is accepted can be sized
// and read without another check.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/check.h"
#include "model/files/safetensors_header.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryHeader(std::string_view text, uint64_t data_bytes) {
  const absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader("fuzz.safetensors", text, Bytes(data_bytes));
  if (!header.ok()) {
    CHECK(header.status().code() == absl::StatusCode::kDataLoss);
    CHECK(header.status().message().size() < 1000);
    return;
  }
  uint64_t covered = 0;
  for (const TensorEntry& tensor : header->tensors()) {
    CHECK(tensor.begin == covered);
    covered = tensor.end;
    CHECK(header->Find(tensor.name) == &tensor);
    // Exact where the header is right: no product it accepts passes 2^64, and none here 2^128.
    unsigned __int128 bits = BitsOf(tensor.dtype);
    for (const int64_t dimension : tensor.shape) {
      CHECK(dimension >= 0);
      bits *= static_cast<uint64_t>(dimension);
    }
    CHECK(bits == static_cast<unsigned __int128>(tensor.bytes().value()) * 8);
  }
  CHECK(covered == data_bytes);
}

void TryFile(std::string_view bytes) {
  const auto first = std::as_bytes(std::span(bytes)).first(std::min<size_t>(8, bytes.size()));
  const absl::StatusOr<Bytes> length = DecodeHeaderLength("fuzz", first, Bytes(bytes.size()));
  if (length.ok()) TryHeader(bytes.substr(8, length->value()), bytes.size() - 8 - length->value());
  // Mutations seldom keep the length right: once more with the header taken to its last brace.
  const size_t last = bytes.rfind('}');
  if (last == std::string_view::npos || last < 8) return;
  TryHeader(bytes.substr(8, last - 7), bytes.size() - last - 1);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
