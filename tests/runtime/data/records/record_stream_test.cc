#include "runtime/data/records/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "runtime/data/cache/content_hash.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A record as text: "LINE: CONTENT", "LINE/ELEMENT: CONTENT", "LINE! PROBLEM".
std::string Show(const DataRecord& record) {
  std::string place = StrCat(record.line);
  if (record.element > 0) place += StrCat("/", record.element);
  if (!record.problem.empty()) return StrCat(place, "! ", record.problem, record.text);
  return StrCat(place, record.continues ? "+" : ":", " ", record.text);
}

class RecordStreamTest : public testing::Test {
 protected:
  using Options = RecordStream::Options;

  // Every record of a file; an error ends the list and is its last line.
  std::vector<std::string> Read(std::string_view bytes, std::string_view name,
                                const Options& options = Options()) {
    const std::string path = JoinPath(folder_, name);
    WriteBytes(*io_, path, bytes);
    auto stream = RecordStream::Open(*io_, path, options);
    if (!stream.ok()) return {std::string(stream.status().message())};
    std::vector<std::string> records;
    DataRecord record;
    while (true) {
      const absl::StatusOr<bool> more = stream->Next(record);
      if (!more.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(more.status())) << more.status();
        records.emplace_back(std::string(more.status().message()).substr(path.size()));
        return records;
      }
      if (!*more) break;
      records.push_back(Show(record));
    }
    EXPECT_EQ(stream->taken(), bytes.size());
    ContentHash hash;
    hash.Add(bytes);
    EXPECT_EQ(stream->hash(), hash.Get());
    EXPECT_FALSE(*stream->Next(record));
    return records;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
};

TEST_F(RecordStreamTest, BytesOfJsonThatAreNotUtf8AreReplacedAsPythonDoesIt) {
  // The beginning of a character takes no quote with it.
  EXPECT_THAT(Read("{\"a\": \"\xe4\xbd\"}\n{\"b\": \"\xff\xed\xa0\x80\"}\n", "a.jsonl"),
              ElementsAre("1: {\"a\": \"\ufffd\"}", "2: {\"b\": \"\ufffd\ufffd\ufffd\ufffd\"}"));
  EXPECT_THAT(Read("[\"\xf0\x9f\", \"\xc3\xa4\"]", "a.json"),
              ElementsAre("1/1: \"\ufffd\"", "1/2: \"\u00e4\""));
  // Plain text is the tokenizer's to replace: pieces have the file's bytes.
  EXPECT_THAT(Read("a\xff", "a.txt"), ElementsAre("1: a\xff"));
}

TEST_F(RecordStreamTest, LinesKeepTheirNumbersOverBlankOnes) {
  EXPECT_THAT(Read("{1}\n\n \t\r\n{2}\r\n{3}", "a.jsonl"),
              ElementsAre("1: {1}", "4: {2}\r", "5: {3}"));
  EXPECT_THAT(Read("\n\n{1}\n\n", "a.ndjson"), ElementsAre("3: {1}"));
  EXPECT_THAT(Read("", "a.jsonl"), ElementsAre());
  EXPECT_THAT(Read("\n \n", "a.jsonl"), ElementsAre());
  EXPECT_THAT(Read("\xef\xbb\xbf{1}\n", "a.jsonl"), ElementsAre("1: {1}"));
  EXPECT_THAT(Read("\xef\xbb\xbf", "a.jsonl"), ElementsAre());
  EXPECT_THAT(Read(std::string_view("a\0b\n", 4), "a.jsonl"),
              ElementsAre(StrCat("1: ", std::string_view("a\0b", 3))));
}

TEST_F(RecordStreamTest, ALongLineIsPassedOverAndTheNextIsGiven) {
  const Options options = {.longest = 5_B, .read_bytes = 3_B};
  EXPECT_THAT(Read("12345\n123456\n1\n" + std::string(100, 'x'), "a.jsonl", options),
              ElementsAre("1: 12345", "2! the line is longer than 5 B", "3: 1",
                          "4! the line is longer than 5 B"));
}

TEST_F(RecordStreamTest, AnArrayMayBeLaidOutInAnyWay) {
  EXPECT_THAT(Read("[{\"a\": 1}, {\"b\": [1, {\"c\": \"]},\"}]}]", "a.json"),
              ElementsAre("1/1: {\"a\": 1}", "1/2: {\"b\": [1, {\"c\": \"]},\"}]}"));
  EXPECT_THAT(Read("\n[\n  {\n \"a\":\n 1}\n,\n\n {}\n]\n\n", "a.json"),
              ElementsAre("3/1: {\n \"a\":\n 1}\n", "8/2: {}\n"));
  EXPECT_THAT(Read(R"([{"a": "\"],[\\"}, {"b": "\\\""}])", "a.json"),
              ElementsAre(R"(1/1: {"a": "\"],[\\"})", R"(1/2: {"b": "\\\""})"));
  EXPECT_THAT(Read("[]", "a.json"), ElementsAre());
  EXPECT_THAT(Read(" [ ] ", "a.json"), ElementsAre());
  EXPECT_THAT(Read("", "a.json"), ElementsAre());
  EXPECT_THAT(Read("\xef\xbb\xbf[1,2]", "a.json"), ElementsAre("1/1: 1", "1/2: 2"));
}

TEST_F(RecordStreamTest, AnArrayThatCannotBeFollowedSaysWhereAndWhy) {
  EXPECT_THAT(
      Read("[{}\n,{", "a.json"),
      ElementsAre("1/1: {}\n", HasSubstr(":2: the file ends inside the array, in element 2")));
  EXPECT_THAT(Read("[", "a.json"), ElementsAre(HasSubstr("ends inside")));
  EXPECT_THAT(Read("[{}", "a.json"), ElementsAre(HasSubstr("ends inside")));
  EXPECT_THAT(Read("[\"]", "a.json"), ElementsAre(HasSubstr("ends inside")));
  EXPECT_THAT(Read("[1,]", "a.json"), ElementsAre("1/1: 1", HasSubstr("a value is missing")));
  EXPECT_THAT(Read("[,1]", "a.json"), ElementsAre(HasSubstr("a value is missing")));
  EXPECT_THAT(Read("[1,\n,2]", "a.json"), ElementsAre("1/1: 1", HasSubstr(":2: the array has")));
  EXPECT_THAT(Read("[1}]", "a.json"), ElementsAre(HasSubstr("closed that was not opened")));
  EXPECT_THAT(Read("[1]\nx", "a.json"), ElementsAre(HasSubstr(":2: text follows")));
  EXPECT_THAT(Read("[][]", "a.json"), ElementsAre(HasSubstr("text follows")));
  EXPECT_THAT(Read("7", "a.json"), ElementsAre(HasSubstr("is an array of objects")));
}

TEST_F(RecordStreamTest, ALongElementIsPassedOver) {
  const Options options = {.longest = 5_B, .read_bytes = 2_B};
  EXPECT_THAT(Read("[\"123\",\"1234\",7]", "a.json", options),
              ElementsAre("1/1: \"123\"", "1/2! the element is longer than 5 B", "1/3: 7"));
}

TEST_F(RecordStreamTest, DeepBracketsTakeNoStack) {
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(Read(deep, "a.json"), ElementsAre(HasSubstr("ends inside")));
  EXPECT_EQ(Read(StrCat("[", deep, std::string(deep.size(), ']'), "]"), "a.json").size(), 1u);
}

TEST_F(RecordStreamTest, TextIsCutWhereNoTokenCanLie) {
  const Options options = {.piece_bytes = 12_B, .read_bytes = Bytes(5_B)};
  // The last break between two texts wins over later ones that have spaces beside them.
  EXPECT_THAT(Read("ab\ncd\n\nef\n gh", "a.txt", options),
              ElementsAre("1: ab\n", "2+ cd\n\nef\n gh"));
  EXPECT_THAT(Read("abcd\n\nefgh\n ij", "a.txt", options),
              ElementsAre("1: abcd\n\n", "3+ efgh\n ij"));
  EXPECT_THAT(Read("abcd efgh ijkl", "a.txt", options), ElementsAre("1: abcd efgh", "1+  ijkl"));
  EXPECT_THAT(Read("abcdefghijklmn", "a.txt", options), ElementsAre("1: abcdefghijkl", "1+ mn"));
  EXPECT_THAT(Read("abcdefghijk\u20acn", "a.txt", options),
              ElementsAre("1: abcdefghijk", "1+ \u20acn"));
  EXPECT_THAT(Read("short", "a.md", options), ElementsAre("1: short"));
  EXPECT_THAT(Read("", "a.txt", options), ElementsAre());
  EXPECT_THAT(Read("\xef\xbb\xbfx", "a.txt", options), ElementsAre("1: x"));
}

TEST_F(RecordStreamTest, PiecesOfTextAreTheWholeTextWhateverItHolds) {
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < 30'000; ++i) {
    state = state * 1664525 + 1013904223;
    constexpr std::string_view kSigns = "ab \n\n\r\t\x80\xc3\xa9\0";
    text.push_back(kSigns[(state >> 16) % kSigns.size()]);
  }
  for (const size_t piece : {8u, 9u, 100u, 4096u, 1u << 20}) {
    std::string together;
    for (const std::string& record : Read(text, "a.txt", {.piece_bytes = Bytes(piece)})) {
      const size_t begin = record.find_first_of(":+") + 2;
      EXPECT_LE(record.size() - begin, piece);
      EXPECT_GT(record.size(), begin);
      together += record.substr(begin);
    }
    EXPECT_EQ(together, text) << piece;
  }
}

TEST_F(RecordStreamTest, TheSizeOfReadsChangesNothing) {
  const std::string lines = "{\"a\": 1}\n\n" + std::string(40, 'x') + "\r\n{}\n{\"b\"";
  const std::string array = "[{\"a\": \"\\\"]\"}\n,\n[[], {}], \"" + std::string(40, 'y') + "\"\n]";
  const std::string text = "ab\ncd\n\nef gh ij klmnopqrst\u20ac\u20ac\u20acuv\n x";
  for (const auto& [bytes, name] : std::vector<std::pair<std::string, std::string_view>>{
           {lines, "a.jsonl"}, {array, "a.json"}, {text, "a.txt"}}) {
    // The first 4 KiB are read together, to recognise the layout.
    const std::string late = std::string(4096, '\n') + bytes;
    const Options whole = {.longest = 30_B, .piece_bytes = 9_B};
    const std::vector<std::string> expected = Read(late, name, whole);
    EXPECT_GE(expected.size(), 3u);
    for (size_t read = 1; read < 20; ++read) {
      Options options = whole;
      options.read_bytes = Bytes(read);
      EXPECT_EQ(Read(late, name, options), expected) << name << " " << read;
    }
  }
}

TEST_F(RecordStreamTest, LayoutsAreRecognised) {
  const auto layout = [](const std::string& name, std::string_view head) {
    const absl::StatusOr<DataLayout> result = RecogniseLayout(name, head);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(DataLayout::kText);
  };
  EXPECT_EQ(layout("a.jsonl", "["), DataLayout::kLines);
  EXPECT_EQ(layout("A.JSONL", "x"), DataLayout::kLines);
  EXPECT_EQ(layout("a.json", " \n[1"), DataLayout::kArray);
  EXPECT_EQ(layout("a.json", "{\"a\""), DataLayout::kLines);
  EXPECT_EQ(layout("a.txt", "{\"a\""), DataLayout::kText);
  EXPECT_EQ(layout("a.md", "[{"), DataLayout::kText);
  EXPECT_EQ(layout("train", "[\n {"), DataLayout::kArray);
  EXPECT_EQ(layout("train", "{ \"text\""), DataLayout::kLines);
  EXPECT_EQ(layout("train", "{x"), DataLayout::kText);
  EXPECT_EQ(layout("train", "[see"), DataLayout::kText);
  EXPECT_EQ(layout("a.json/train", "words"), DataLayout::kText);
  EXPECT_EQ(layout("code.py", "import"), DataLayout::kText);
  EXPECT_EQ(layout("empty", ""), DataLayout::kText);
  EXPECT_EQ(layout("a.txt", std::string_view("a\0", 2)), DataLayout::kText);
}

TEST_F(RecordStreamTest, WhatMustBeConvertedSaysHow) {
  const auto refusal = [](const std::string& name, std::string_view head) {
    const absl::Status status = RecogniseLayout(name, head).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat("'", name, "'")));
    return std::string(status.message());
  };
  EXPECT_THAT(refusal("d/a.parquet", ""),
              HasSubstr("python3 -c \"import pandas; pandas.read_parquet('d/a.parquet')"
                        ".to_json('data.jsonl', orient='records', lines=True)\""));
  EXPECT_THAT(refusal("a.jsonl", "PAR1\x15"), HasSubstr("read_parquet"));
  EXPECT_THAT(refusal("a.arrow", ""), HasSubstr("read_feather"));
  EXPECT_THAT(refusal("a.csv", "a,b"), HasSubstr("read_csv"));
  EXPECT_THAT(refusal("a.jsonl.gz", "\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(refusal("a.txt", "\x28\xb5\x2f\xfd"), HasSubstr("decompress it first"));
  EXPECT_THAT(refusal("a.txt", "\xff\xfeh"), HasSubstr("iconv -f UTF-16"));
  EXPECT_THAT(refusal("model.bin", std::string_view("abc\0d", 5)), HasSubstr("NUL"));
}

// The file has a hole of 1 GiB, which costs no disk and would cost that much memory to read whole.
TEST_F(RecordStreamTest, ALineOfAGigabyteIsNamedAndNotHeldInMemory) {
  const std::string path = JoinPath(folder_, "long.jsonl");
  {
    const auto file = io_->Open(path, OpenMode::kCreateNew);
    ASSERT_TRUE(file.ok());
    const std::string first = "{}\n{";
    const std::string last = "}\n{}\n";
    ASSERT_TRUE((*file)->WriteAt(0, std::as_bytes(std::span(first))).ok());
    ASSERT_TRUE((*file)->WriteAt(uint64_t{1} << 30, std::as_bytes(std::span(last))).ok());
  }
  auto stream = RecordStream::Open(*io_, path);
  ASSERT_TRUE(stream.ok());
  DataRecord record;
  std::vector<std::string> records;
  while (*stream->Next(record)) {
    records.push_back(Show(record));
    EXPECT_LE(record.text.capacity(), size_t{1} << 26);
  }
  EXPECT_THAT(records, ElementsAre("1: {}", "2! the line is longer than 64 MiB", "3: {}"));
  EXPECT_EQ(stream->Where({.line = 2}), StrCat(path, ":2"));
  EXPECT_EQ(stream->Where({.line = 2, .element = 5}), StrCat(path, ":2 (element 5)"));
  ASSERT_TRUE(io_->Unlink(path).ok());
}

TEST_F(RecordStreamTest, EveryFailingCallAndAShrinkingFileAreReported) {
  const std::string path = JoinPath(folder_, "a.jsonl");
  WriteBytes(*io_, path, "{1}\n{2}\n");
  const auto read = [&](Io& io) -> absl::Status {
    auto stream = RecordStream::Open(io, path, {.read_bytes = 3_B});
    if (!stream.ok()) return stream.status();
    DataRecord record;
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = stream->Next(record);
    return more.status();
  };
  const uint64_t hit = ForEachFault(*io_, {.error_number = ENXIO}, [&](FaultingIo& io) {
    const absl::Status status = read(io);
    EXPECT_EQ(IoErrno(status), io.reached() ? ENXIO : 0) << status;
  });
  EXPECT_GE(hit, 8u);
  int lost = 0;
  ForEachFault(*io_, {.kind = FaultPlan::Kind::kShrink}, [&](FaultingIo& io) {
    const absl::Status status = read(io);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    lost += absl::IsDataLoss(status) ? 1 : 0;
  });
  EXPECT_GE(lost, 3);
}

}  // namespace
}  // namespace horizon
