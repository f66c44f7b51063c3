#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "common/text/str_cat.h"
#include "runtime/data/records/record_stream.h"

namespace horizon {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string EndingOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  const size_t dot = path.find_last_of('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  std::string ending = path.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

absl::Status Refuse(const std::string& path, std::string_view what, std::string_view remedy) {
  return absl::InvalidArgumentError(
      StrCat("cannot read '", path, "': it is ", what, ", which horizon does not read; ", remedy));
}

absl::Status RefuseTable(const std::string& path, std::string_view what, std::string_view reader) {
  return Refuse(path, what,
                StrCat("convert it once: python3 -c \"import pandas; pandas.", reader, "('", path,
                       "').to_json('data.jsonl', orient='records', lines=True)\""));
}

bool BeginsWith(std::string_view head, std::string_view start) {
  return head.substr(0, start.size()) == start;
}

// What no ending excuses.
absl::Status RefuseBinary(const std::string& path, std::string_view head) {
  if (BeginsWith(head, "PAR1")) return RefuseTable(path, "a Parquet file", "read_parquet");
  if (BeginsWith(head, "ARROW1")) return RefuseTable(path, "an Arrow file", "read_feather");
  for (const auto& [start, what] :
       {std::pair<std::string_view, std::string_view>{"\x1f\x8b", "compressed (gzip)"},
        {"\x28\xb5\x2f\xfd", "compressed (zstd)"},
        {"BZh", "compressed (bzip2)"},
        {"\xfd"
         "7zXZ",
         "compressed (xz)"},
        {"PK\x03\x04", "a zip archive"}}) {
    if (BeginsWith(head, start)) return Refuse(path, what, "decompress it first");
  }
  if (BeginsWith(head, "\xff\xfe") || BeginsWith(head, "\xfe\xff")) {
    return Refuse(path, "UTF-16 text",
                  StrCat("convert it once: iconv -f UTF-16 -t UTF-8 '", path, "' > data.txt"));
  }
  return absl::OkStatus();
}

// The first characters that are no spaces.
std::string FirstSigns(std::string_view head) {
  std::string signs;
  for (const char c : head) {
    if (kSpaces.find(c) == std::string_view::npos) signs.push_back(c);
    if (signs.size() == 2) break;
  }
  return signs;
}

template <size_t kCount>
bool IsOneOf(std::string_view word, const std::string_view (&words)[kCount]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

DataFileName NameOf(const std::string& path) {
  constexpr std::string_view kData[] = {"jsonl", "ndjson", "json", "txt", "md"};
  constexpr std::string_view kToConvert[] = {"parquet", "arrow", "feather", "csv", "tsv",
                                             "gz",      "zst",   "bz2",     "xz",  "zip"};
  const std::string ending = EndingOf(path);
  if (IsOneOf(ending, kData)) return DataFileName::kData;
  return IsOneOf(ending, kToConvert) ? DataFileName::kToConvert : DataFileName::kOther;
}

absl::StatusOr<DataLayout> RecogniseLayout(const std::string& path, std::string_view head) {
  const std::string ending = EndingOf(path);
  if (ending == "parquet") return RefuseTable(path, "a Parquet file", "read_parquet");
  if (ending == "arrow" || ending == "feather") {
    return RefuseTable(path, "an Arrow file", "read_feather");
  }
  if (ending == "csv" || ending == "tsv") {
    return RefuseTable(path, "a table of separated values", "read_csv");
  }
  if (absl::Status binary = RefuseBinary(path, head); !binary.ok()) return binary;
  if (ending == "jsonl" || ending == "ndjson") return DataLayout::kLines;
  if (ending == "txt" || ending == "md") return DataLayout::kText;
  const std::string signs = FirstSigns(head);
  if (ending == "json") {
    return BeginsWith(signs, "{") ? DataLayout::kLines : DataLayout::kArray;
  }
  if (head.find('\0') != std::string_view::npos) {
    return Refuse(path, "a binary file (it has NUL bytes)",
                  "name text, JSON lines or a JSON array");
  }
  if (signs == "[{" || signs == "[]") return DataLayout::kArray;
  if (signs == "{\"") return DataLayout::kLines;
  return DataLayout::kText;
}

}  // namespace horizon
