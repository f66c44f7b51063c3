#include "tests/app/support/event_files.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "common/documents/document.h"
#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/runtime/loop/event_file_reader.h"

namespace horizon {

std::map<std::string, std::map<int64_t, float>> ScalarsOf(const std::string& run) {
  const std::string hex = RunShell(StrCat("for file in ", run, "/events.out.tfevents.*; do ",
                                          "od -An -v -tx1 $file | tr -d ' \\n'; echo; done"))
                              .out;
  std::vector<std::string> files;
  for (const absl::string_view line : absl::StrSplit(hex, '\n', absl::SkipEmpty())) {
    files.push_back(absl::HexStringToBytes(line));
  }
  return ShownScalars(files);
}

std::map<int64_t, float> FiguresOf(const std::string& file, const std::string& key) {
  std::map<int64_t, float> figures;
  for (const Document& line : Lines(RunShell("cat " + file).out)) {
    figures[static_cast<int64_t>(NumberAt(line.root, "step"))] =
        static_cast<float>(NumberAt(line.root, key));
  }
  return figures;
}

}  // namespace horizon
