// Whatever the bytes, a data file of every layout is read to its end or refused; and how it is cut
// into reads changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/files/io.h"
#include "runtime/data/records/record_stream.h"
#include "tests/common/fuzz/fuzz_driver.h"
#include "tests/runtime/data/memory_io.h"

namespace horizon {
namespace {

struct Outcome {
  std::vector<DataRecord> records;
  absl::Status status;
};

Outcome ReadAll(Io& io, const std::string& path, Bytes read_bytes) {
  Outcome outcome;
  auto stream = RecordStream::Open(
      io, path, {.longest = 100_B, .piece_bytes = 16_B, .read_bytes = read_bytes});
  if (!stream.ok()) return {.status = stream.status()};
  while (true) {
    DataRecord record;
    const absl::StatusOr<bool> more = stream->Next(record);
    outcome.status = more.status();
    if (!more.ok() || !*more) break;
    CHECK(record.text.size() <= 300);  // a byte that is not UTF-8 becomes three
    CHECK(record.text.empty() == !record.problem.empty());
    CHECK(record.line >= 1);
    outcome.records.push_back(std::move(record));
  }
  CHECK(!outcome.status.ok() || stream->taken() == stream->size());
  return outcome;
}

void TryBytes(std::string_view bytes, size_t read) {
  for (const char* name : {"a.jsonl", "a.json", "a.txt", "a"}) {
    MemoryIo io(name, std::string(bytes));
    const Outcome whole = ReadAll(io, name, Bytes(bytes.size() + 1));
    const Outcome cut = ReadAll(io, name, Bytes(read));
    CHECK(whole.status == cut.status);
    CHECK(whole.status.ok() || absl::IsInvalidArgument(whole.status));
    CHECK(whole.records.size() == cut.records.size());
    std::string together;
    for (size_t i = 0; i < whole.records.size(); ++i) {
      CHECK(whole.records[i].text == cut.records[i].text);
      CHECK(whole.records[i].line == cut.records[i].line);
      CHECK(whole.records[i].element == cut.records[i].element);
      CHECK(whole.records[i].problem == cut.records[i].problem);
      together += whole.records[i].text;
    }
    // Of a text nothing is lost but a byte order mark.
    if (std::strcmp(name, "a.txt") == 0 && whole.status.ok()) {
      CHECK(bytes.substr(bytes.size() - together.size()) == together);
      CHECK(bytes.size() - together.size() == 0 || bytes.size() - together.size() == 3);
    }
  }
}

void TryFile(std::string_view bytes) {
  if (bytes.empty()) return TryBytes(bytes, 1);
  // The first byte says how large a read is.
  const auto first = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  TryBytes(bytes, 1 + first % 64);
  // The first 4 KiB are read together, to recognise the layout: now and then behind them.
  if (first / 64 == 0) TryBytes(std::string(4096, '\n').append(bytes), 1 + first % 64);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryFile({reinterpret_cast<const char*>(data), size});
  return 0;
}
