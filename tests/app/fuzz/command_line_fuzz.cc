// Whatever the words, one a line, a command line is read or refused with a reason; what is read is
// within its bounds, and comes back from the configuration file that is written of it.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "app/options/command_line.h"
#include "app/options/config_file.h"
#include "app/options/option.h"
#include "common/check.h"
#include "common/text/utf8.h"
#include "tests/app/fuzz/every_option.h"
#include "tests/common/files/memory_io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void CheckConfigFile(EveryOption values, const std::vector<Option>& options) {
  MemoryTree tree;
  tree.files[1] = ConfigFileText(options);
  tree.folders[0] = {{"train.yaml", 1}};
  MemoryIo io(std::move(tree));
  EveryOption again;
  OptionList list = DeclareEveryOption(again);
  CHECK(ReadConfigFile(io, "/train.yaml", list.options).ok());
  // These are none of a file's.
  values.help = false;
  values.config.clear();
  values.first.clear();
  values.rest.clear();
  CHECK(again == values);
}

void TryWords(std::string_view text) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  EveryOption values;
  const OptionList list = DeclareEveryOption(values);
  CHECK(CountLeadingOptions(list, words) <= words.size());
  const absl::StatusOr<std::optional<std::string>> config = PeekOption(list, "config", words);
  CHECK(values == EveryOption());
  const absl::Status status = ParseArguments(list, words);
  CHECK(config.ok() || absl::IsInvalidArgument(config.status()));
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status) && !status.message().empty());
    return;
  }
  CHECK(config.ok());
  CHECK(values.help || config->value_or("") == values.config);
  CheckBounds(values);
  // A file is UTF-8; a command line need not be.
  if (IsUtf8(text)) CheckConfigFile(values, list.options);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryWords({reinterpret_cast<const char*>(data), size});
  return 0;
}
