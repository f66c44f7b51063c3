#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/document.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// The small tokenizers of goldens/ (make_goldens.py made them with Hugging Face's library).
std::vector<std::string> GoldenTokenizerNames();
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

// The ids of a text; a failure fails the test.
std::vector<int32_t> Encode(const Tokenizer& tokenizer, std::string_view text,
                            const EncodeOptions& options = {});

}  // namespace horizon
