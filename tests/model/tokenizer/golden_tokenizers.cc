#include "tests/model/tokenizer/golden_tokenizers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/tokenizer/load_tokenizer.h"

namespace horizon {
namespace {

constexpr std::string_view kFolder = "tests/model/tokenizer/goldens/";

template <typename T>
const T& Expect(const T* found, std::string_view what) {
  if (found != nullptr) return *found;
  ADD_FAILURE() << "a golden file has no " << what;
  std::abort();
}

}  // namespace

std::vector<std::string> GoldenTokenizerNames() {
  return {"gpt2",          "llama2",     "llama3",        "metaspace",   "qwen",
          "unigram_gemma", "unigram_t5", "unigram_words", "unigram_xlmr"};
}

std::vector<std::string> GoldenChatNames() {
  return {"gemma", "llama2", "llama3", "mistral1", "mistral3", "qwen"};
}

std::string GoldenTokenizerPath(std::string_view name) {
  return StrCat(kFolder, name, "/tokenizer.json");
}

std::unique_ptr<Tokenizer> ReadGoldenTokenizer(std::string_view name) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string path = GoldenTokenizerPath(name);
  const absl::StatusOr<std::string> text = ReadTextFile(*io, path);
  EXPECT_TRUE(text.ok()) << text.status();
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = ParseTokenizer(*text, path);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return *std::move(tokenizer);
}

Document ReadGolden(std::string_view name) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const absl::StatusOr<std::string> text = ReadTextFile(*io, StrCat(kFolder, name));
  EXPECT_TRUE(text.ok()) << text.status();
  absl::StatusOr<Document> document = ParseJson(std::string(name), *text);
  EXPECT_TRUE(document.ok()) << document.status();
  return *std::move(document);
}

const Value& At(const Value& object, std::string_view key) { return Expect(object.Find(key), key); }

const Value::Array& ArrayAt(const Value& object, std::string_view key) {
  return Expect(At(object, key).As<Value::Array>(), key);
}

const std::string& TextAt(const Value& object, std::string_view key) {
  return Expect(At(object, key).As<std::string>(), key);
}

int64_t IntegerAt(const Value& object, std::string_view key) {
  return Expect(At(object, key).As<int64_t>(), key);
}

std::vector<int32_t> IdsOf(const Value& array) {
  std::vector<int32_t> ids;
  for (const Value& id : Expect(array.As<Value::Array>(), "ids")) {
    ids.push_back(static_cast<int32_t>(Expect(id.As<int64_t>(), "id")));
  }
  return ids;
}

std::vector<ByteRange> RangesOf(const Value& array) {
  std::vector<ByteRange> ranges;
  const Value::Array& numbers = Expect(array.As<Value::Array>(), "ranges");
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    ranges.push_back({static_cast<size_t>(Expect(numbers[i].As<int64_t>(), "begin")),
                      static_cast<size_t>(Expect(numbers[i + 1].As<int64_t>(), "end"))});
  }
  return ranges;
}

std::vector<std::string> TextsOf(const Value& array) {
  std::vector<std::string> texts;
  for (const Value& text : Expect(array.As<Value::Array>(), "texts")) {
    texts.push_back(Expect(text.As<std::string>(), "text"));
  }
  return texts;
}

std::string FromHexadecimal(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const std::string pair(digits.substr(i, 2));
    bytes.push_back(static_cast<char>(std::strtol(pair.c_str(), nullptr, 16)));
  }
  return bytes;
}

Encoded EncodeWithOffsets(const Tokenizer& tokenizer, std::string_view text,
                          const EncodeOptions& options) {
  Encoded encoded;
  const absl::Status status =
      tokenizer.EncodeWithOffsets(text, options, encoded.ids, encoded.offsets);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(encoded.ids.size(), encoded.offsets.size());
  return encoded;
}

void PrintTo(const ByteRange& range, std::ostream* out) {
  *out << "[" << range.begin << ", " << range.end << ")";
}

std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text,
                            const EncodeOptions& options) {
  std::vector<int32_t> ids;
  const absl::Status status = tokenizer.Encode(text, options, ids);
  EXPECT_TRUE(status.ok()) << status;
  return ids;
}

}  // namespace horizon
