// Whatever stands in the files beside a tokenizer.json, the folder is loaded or refused by the name
// of a file; and the ids they give are the tokenizer's.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/check.h"
#include "model/tokenizer/load_tokenizer.h"
#include "tests/common/files/memory_io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr std::string_view kTokenizer = R"({"added_tokens": [
    {"id": 5, "content": "<s>", "special": true}, {"id": 9, "content": "</s>", "special": true}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
// An input is these files one after the other, with a line of four equal signs between them.
constexpr std::array<const char*, 4> kNames = {"tokenizer_config.json", "special_tokens_map.json",
                                               "config.json", "chat_template.jinja"};
constexpr std::string_view kBetween = "\n====\n";

MemoryTree TreeOf(std::string_view files) {
  MemoryTree tree;
  tree.files[1] = kTokenizer;
  tree.folders[0] = {{"tokenizer.json", 1}};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const int node = static_cast<int>(i) + 2;
    const size_t end = files.find(kBetween);
    tree.files[node] = files.substr(0, end);
    tree.folders[0][kNames[i]] = node;
    if (end == std::string_view::npos) break;
    files.remove_prefix(end + kBetween.size());
  }
  return tree;
}

void TryFiles(std::string_view files) {
  MemoryIo io(TreeOf(files));
  const absl::StatusOr<ModelTokenizer> loaded = LoadTokenizer(io, "/");
  if (!loaded.ok()) {
    CHECK(absl::IsInvalidArgument(loaded.status()));
    CHECK(loaded.status().message().find(".json") != std::string::npos);
    return;
  }
  for (const std::optional<int32_t> id : {loaded->begin_id, loaded->end_id, loaded->pad_id}) {
    CHECK(!id.has_value() || (*id >= 0 && *id < loaded->tokenizer->id_limit()));
  }
  // Escapes only ever make a text shorter.
  size_t bytes = 0;
  for (const ChatTemplateText& each : loaded->chat_templates) {
    CHECK(!each.where.empty());
    bytes += each.text.size();
  }
  for (const NamedToken& token : loaded->special_tokens) bytes += token.text.size();
  CHECK(bytes <= files.size());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryFiles({reinterpret_cast<const char*>(data), size});
  return 0;
}
