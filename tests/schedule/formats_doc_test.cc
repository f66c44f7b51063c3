// docs/formats.md holds the tables of fields that the program itself would print.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {
namespace {

constexpr char kDocument[] = "docs/formats.md";

struct GeneratedTable {
  std::string name;
  std::string text;
  std::string test;
};

// The document with what stands between the markers of `table` replaced; "" without markers.
std::string WithTable(const std::string& document, const GeneratedTable& table) {
  const std::string begin = StrCat("<!-- begin generated: ", table.name, " -->\n");
  const std::string end = StrCat("<!-- end generated: ", table.name, " -->\n");
  const size_t from = document.find(begin);
  const size_t to = document.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) return "";
  return StrCat(document.substr(0, from), begin, table.text, document.substr(to));
}

class FormatsDocument : public testing::TestWithParam<GeneratedTable> {};

TEST_P(FormatsDocument, HoldsTheTableOfFields) {
  const std::unique_ptr<Io> io = MakePosixIo();
  // Set by `bazel run`: the source tree, where the document is then brought up to date.
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path = workspace == nullptr ? kDocument : JoinPath(workspace, kDocument);
  const absl::StatusOr<std::string> document = ReadTextFile(*io, path);
  ASSERT_TRUE(document.ok()) << document.status();
  const std::string expected = WithTable(*document, GetParam());
  ASSERT_FALSE(expected.empty()) << path << " lacks the markers of " << GetParam().name;
  if (workspace != nullptr) {
    const absl::Status written = WriteTextFile(*io, path, expected);
    ASSERT_TRUE(written.ok()) << written;
    return;
  }
  EXPECT_TRUE(*document == expected)
      << kDocument << " does not hold the table of the " << GetParam().name
      << "; to regenerate it:\n  bazel run //tests/schedule:formats_doc_test\nIt should read:\n"
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(All, FormatsDocument,
                         testing::Values(GeneratedTable{"job fields", JobFieldTable(), "Job"},
                                         GeneratedTable{"plan fields", PlanFieldTable(), "Plan"},
                                         GeneratedTable{"machine fields", ProfileFieldTable(),
                                                        "Machine"}),
                         [](const auto& test) { return test.param.test; });

}  // namespace
}  // namespace horizon
