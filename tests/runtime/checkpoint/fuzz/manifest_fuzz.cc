// Any text as a manifest: with its own last line, and with the one that makes its CRC right, so
// that what lies behind the CRC is tried too. What is accepted is written and read back unchanged.
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/check.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_names.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/manifest_text.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryText(std::string_view text) {
  const absl::StatusOr<Manifest> manifest = ParseManifest("fuzz.json", text);
  if (!manifest.ok()) {
    CHECK(absl::IsDataLoss(manifest.status()) || absl::IsInvalidArgument(manifest.status()));
    return;
  }
  for (const FileRecord& file : manifest->files) CHECK(CheckFileName(file.name).ok());
  for (const TensorRecord& tensor : manifest->tensors) {
    const FileRecord& file = manifest->files[tensor.file];
    CHECK(tensor.offset >= file.head_bytes.value() &&
          tensor.bytes <= file.bytes - Bytes(tensor.offset));
    CHECK(tensor.step == manifest->step);
  }
  const absl::StatusOr<Manifest> again = ParseManifest("fuzz.json", WriteManifest(*manifest));
  CHECK(again.ok() && *again == *manifest);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horizon::TryText(text);
  const size_t last = text.rfind("\"crc32c\": \"");
  const std::string_view before = text.substr(0, last);
  horizon::TryText(horizon::StrCat(before, horizon::ManifestLastLine(before)));
  return 0;
}
