#include "tests/app/support/planning_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <utility>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectMisuse(const std::string& command, const std::string& message) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 2) << command << "\n" << result.err;
  EXPECT_EQ(result.out, "") << command;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
}

static void ExpectColumns(const std::string& text, size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
}
void ExpectHundredColumns(const std::string& text) { ExpectColumns(text, 100); }
void ExpectEightyColumns(const std::string& text) { ExpectColumns(text, 80); }

void WriteTinyModel() {
  WriteFile("tiny/config.json", R"({"model_type": "llama", "hidden_size": 1024,
      "intermediate_size": 3072, "num_hidden_layers": 4, "num_attention_heads": 16,
      "num_key_value_heads": 4, "vocab_size": 20000, "max_position_embeddings": 2048})");
}

Document Answer(const std::string& command, int exit_code) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, exit_code) << command << "\n" << result.err;
  absl::StatusOr<Document> document = ParseJson("answer", result.out);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() ? *std::move(document) : Document{};
}

const Value& At(const Document& document, std::initializer_list<std::string_view> path) {
  static const Value kNone;
  const Value* value = &document.root;
  for (const std::string_view key : path) {
    value = value->Find(key);
    if (value != nullptr) continue;
    ADD_FAILURE() << "no " << key;
    return kNone;
  }
  return *value;
}

double NumberAt(const Document& document, std::initializer_list<std::string_view> path) {
  const Value& value = At(document, path);
  if (const int64_t* integer = value.As<int64_t>()) return static_cast<double>(*integer);
  EXPECT_NE(value.As<double>(), nullptr) << value.KindName();
  return value.As<double>() == nullptr ? 0 : *value.As<double>();
}

std::string TextAt(const Document& document, std::initializer_list<std::string_view> path) {
  const Value& value = At(document, path);
  EXPECT_NE(value.As<std::string>(), nullptr) << value.KindName();
  return value.As<std::string>() == nullptr ? "" : *value.As<std::string>();
}

}  // namespace horizon
