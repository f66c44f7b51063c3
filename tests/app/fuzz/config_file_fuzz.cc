// Whatever the bytes, a configuration file is read or refused with file and line; what is read is
// within its bounds.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "app/options/config_file.h"
#include "app/options/option.h"
#include "common/check.h"
#include "tests/app/fuzz/every_option.h"
#include "tests/common/files/memory_io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

void TryFile(std::string_view text, const std::string& name) {
  MemoryTree tree;
  tree.files[1] = text;
  tree.folders[0] = {{name, 1}};
  MemoryIo io(std::move(tree));
  EveryOption values;
  OptionList list = DeclareEveryOption(values);
  const absl::Status status = ReadConfigFile(io, "/" + name, list.options);
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(status.message().find("/" + name + ":") == 0);
    return;
  }
  CHECK(!values.help && values.config.empty());
  CheckBounds(values);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  horizon::TryFile(text, "train.yaml");
  horizon::TryFile(text, "train.json");
  return 0;
}
