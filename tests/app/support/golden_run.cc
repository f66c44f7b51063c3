#include "tests/app/support/golden_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

constexpr char kGoldens[] = "\"$TEST_SRCDIR/horizon/tests/goldens/";

}  // namespace

double NumberAt(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  if (value == nullptr) return NAN;
  if (const int64_t* integer = value->As<int64_t>()) return static_cast<double>(*integer);
  const double* number = value->As<double>();
  return number == nullptr ? NAN : *number;
}

std::vector<Document> Lines(const std::string& text) {
  std::vector<Document> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    absl::StatusOr<Document> document = ParseJson("line", line);
    EXPECT_TRUE(document.ok()) << document.status();
    if (document.ok()) lines.push_back(*std::move(document));
  }
  return lines;
}

void PrepareGolden(const std::string& family) {
  const ProcessResult copied =
      RunShell(StrCat("rm -rf model run out && cp -rL ", kGoldens, family,
                      "\" model && chmod -R u+w model && cat model/expected.json"));
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  const absl::StatusOr<Document> expected = ParseJson("expected.json", copied.out);
  ASSERT_TRUE(expected.ok()) << expected.status();
  std::string lines;
  for (const Value& batch : *expected->root.Find("batches")->As<Value::Array>()) {
    const Value::Array& ids = *batch.Find("input_ids")->As<Value::Array>();
    const Value::Array& labels = *batch.Find("labels")->As<Value::Array>();
    for (size_t row = 0; row < ids.size(); ++row) {
      const auto list = [](const Value& values) {
        std::string text;
        for (const Value& value : *values.As<Value::Array>()) {
          text += StrCat(text.empty() ? "" : ",", *value.As<int64_t>());
        }
        return text;
      };
      lines += StrCat("{\"input_ids\": [", list(ids[row]), "], \"labels\": [", list(labels[row]),
                      "]}\n");
    }
  }
  WriteFile("batches.jsonl", lines);
}

std::vector<double> GoldenLosses(const std::string& expected_json) {
  std::vector<double> losses;
  const absl::StatusOr<Document> expected =
      ParseJson(expected_json, RunShell("cat " + expected_json).out);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (!expected.ok()) return losses;
  for (const Value& loss : *expected->root.Find("losses")->As<Value::Array>()) {
    losses.push_back(*loss.As<double>());
  }
  return losses;
}

std::vector<double> LossesOf(const std::string& metrics) {
  std::vector<double> losses;
  for (const Document& line : Lines(RunShell("cat " + metrics).out)) {
    losses.push_back(NumberAt(line.root, "loss"));
  }
  return losses;
}

}  // namespace horizon
