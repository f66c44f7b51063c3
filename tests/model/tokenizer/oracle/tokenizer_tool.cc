// What model/tokenizer/ makes of texts, for the Python programs beside it to compare with.
//   tokenizer_tool TOKENIZER_JSON CASES [not_special]
// CASES holds cases one after the other, of unsigned integers of 4 bytes (little endian): the
// length of a text, the text, the number of its quoted ranges and the begin and end of each, the
// number of control ids and those. One JSON line for each: ids, offsets (in bytes), the text
// decoded without and with special tokens, and the streamed text; or the error.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {
namespace {

class CaseReader {
 public:
  explicit CaseReader(std::string_view cases) : rest_(cases) {}
  bool AtEnd() const { return rest_.empty(); }
  std::string_view Bytes(size_t size) {
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  uint32_t Integer() {
    uint32_t value = 0;
    const std::string_view bytes = Bytes(sizeof(value));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

 private:
  std::string_view rest_;
};

void PrintCase(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options) {
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;
  absl::Status status = tokenizer.EncodeWithOffsets(text, options, ids, offsets);
  // Encode goes other ways to the same ids.
  std::vector<int32_t> again;
  if (status.ok()) status = tokenizer.Encode(text, options, again);
  if (status.ok() && again != ids) status = absl::InternalError("Encode gives other ids");
  JsonWriter line(JsonWriter::Style::kOneLine);
  line.BeginObject();
  if (!status.ok()) {
    line.Key("error").String(std::string(status.message())).EndObject();
    std::printf("%s\n", std::move(line).Finish().c_str());
    return;
  }
  line.Key("ids").BeginArray();
  for (const int32_t id : ids) line.Integer(id);
  line.EndArray().Key("offsets").BeginArray();
  for (const ByteRange& range : offsets) {
    line.BeginArray().Unsigned(range.begin).Unsigned(range.end).EndArray();
  }
  line.EndArray();
  line.Key("text").String(tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSkip));
  line.Key("spelled").String(tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSpell));
  TextStream stream(tokenizer);
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.Push(id);
  streamed += stream.Finish();
  line.Key("streamed").String(streamed).EndObject();
  std::printf("%s\n", std::move(line).Finish().c_str());
}

absl::Status Run(const std::vector<std::string>& words) {
  if (words.size() < 2) return absl::InvalidArgumentError("use: TOKENIZER_JSON CASES");
  const std::unique_ptr<Io> io = MakePosixIo();
  ASSIGN_OR_RETURN(const std::string json, ReadTextFile(*io, words[0], 64_MiB));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, ParseTokenizer(json, words[0]));
  ASSIGN_OR_RETURN(const std::string cases, ReadTextFile(*io, words[1], 1_GiB));
  CaseReader reader(cases);
  while (!reader.AtEnd()) {
    const std::string_view text = reader.Bytes(reader.Integer());
    std::vector<ByteRange> quoted(reader.Integer());
    for (ByteRange& range : quoted) {
      range.begin = reader.Integer();
      range.end = reader.Integer();
    }
    std::vector<int32_t> control(reader.Integer());
    for (int32_t& id : control) id = static_cast<int32_t>(reader.Integer());
    PrintCase(*tokenizer, text,
              {.added = words.size() > 2 ? AddedTokens::kNotSpecial : AddedTokens::kAll,
               .quoted = quoted,
               .control_ids = control});
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
