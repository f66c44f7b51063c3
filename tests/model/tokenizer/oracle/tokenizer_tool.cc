// What model/tokenizer/ makes of texts, for the Python program beside it to compare with.
//   tokenizer_tool TOKENIZER_JSON CASES [not_special]
// CASES holds texts, each behind its length (4 bytes, little endian). One JSON line for each: ids,
// the text decoded without and with special tokens, and the streamed text.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/io.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {
namespace {

absl::Status PrintCase(const Tokenizer& tokenizer, std::string_view text,
                       const EncodeOptions& options) {
  std::vector<int32_t> ids;
  RETURN_IF_ERROR(tokenizer.Encode(text, options, ids));
  JsonWriter line(JsonWriter::Style::kOneLine);
  line.BeginObject().Key("ids").BeginArray();
  for (const int32_t id : ids) line.Integer(id);
  line.EndArray();
  line.Key("text").String(tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSkip));
  line.Key("spelled").String(tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSpell));
  TextStream stream(tokenizer);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.Push(id);
  streamed += stream.Finish();
  line.Key("streamed").String(streamed).EndObject();
  std::printf("%s\n", std::move(line).Finish().c_str());
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& words) {
  if (words.size() < 2) return absl::InvalidArgumentError("use: TOKENIZER_JSON CASES");
  const std::unique_ptr<Io> io = MakePosixIo();
  ASSIGN_OR_RETURN(const std::string json, ReadTextFile(*io, words[0], 64_MiB));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, ParseTokenizer(json, words[0]));
  ASSIGN_OR_RETURN(const std::string cases, ReadTextFile(*io, words[1], 1_GiB));
  EncodeOptions options;
  if (words.size() > 2) options.added = AddedTokens::kNotSpecial;
  for (size_t at = 0; at + 4 <= cases.size();) {
    uint32_t size = 0;
    std::memcpy(&size, cases.data() + at, sizeof(size));
    RETURN_IF_ERROR(PrintCase(*tokenizer, std::string_view(cases).substr(at + 4, size), options));
    at += 4 + size;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  const absl::Status status = horizon::Run(std::vector<std::string>(argv + 1, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
