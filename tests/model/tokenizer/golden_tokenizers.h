#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "common/documents/document.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// The small tokenizers of goldens/ (make_goldens.py and make_unigram_goldens.py made them with
// Hugging Face's library).
std::vector<std::string> GoldenTokenizerNames();
// The families of goldens/chat_FAMILY (make_chat_goldens.py).
std::vector<std::string> GoldenChatNames();
// The path of one's tokenizer.json.
std::string GoldenTokenizerPath(std::string_view name);
// One of them, read; a failure fails the test.
std::unique_ptr<Tokenizer> ReadGoldenTokenizer(std::string_view name);
// What the library answers: goldens/NAME, a JSON file.
Document ReadGolden(std::string_view name);

// Members of golden files; what is not there fails the test.
const Value& At(const Value& object, std::string_view key);
const Value::Array& ArrayAt(const Value& object, std::string_view key);
const std::string& TextAt(const Value& object, std::string_view key);
int64_t IntegerAt(const Value& object, std::string_view key);
std::vector<int32_t> IdsOf(const Value& array);
std::vector<std::string> TextsOf(const Value& array);
// The bytes that hexadecimal digits spell.
std::string FromHexadecimal(std::string_view digits);

// Begin and end of ranges, one number after the other.
std::vector<ByteRange> RangesOf(const Value& array);

// The ids of a text and the bytes they cover, as many; a failure fails the test.
struct Encoded {
  std::vector<int32_t> ids;
  std::vector<ByteRange> offsets;
};
Encoded EncodeWithOffsets(const Tokenizer& tokenizer, std::string_view text,
                          const EncodeOptions& options = {});

// The ids of a text; a failure fails the test.
std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text,
                            const EncodeOptions& options = {});

// For messages of tests.
void PrintTo(const ByteRange& range, std::ostream* out);

}  // namespace horizon
