// A data file is never in memory as a whole, nor is its cache: what a run holds does not grow with
// them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/files/io.h"
#include "common/process_memory.h"
#include "common/text/str_cat.h"
#include "model/chat/chat_encoder.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"
#include "runtime/data/training_data.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

// About `bytes` of questions and answers, written a part at a time.
void WriteQuestions(Io& io, const std::string& path, uint64_t bytes) {
  const auto file = io.Open(path, OpenMode::kTruncate);
  ASSERT_TRUE(file.ok()) << file.status();
  uint64_t written = 0;
  for (int part = 0; written < bytes; ++part) {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
      text += StrCat("{\"query\": \"what is ", part, " times ", i, ", in words and in digits?\", ",
                     "\"response\": \"it is ", int64_t{part} * i, std::string(200, '.'), "\"}\n");
    }
    ASSERT_TRUE((*file)->WriteAt(written, std::as_bytes(std::span(text))).ok());
    written += text.size();
  }
}

TEST(DataMemory, DoesNotGrowWithTheData) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps memory of its own";
#endif
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string folder = MakeTestFolder(*io);
  ModelTokenizer model;
  model.tokenizer = MakeByteTokenizer();
  const absl::StatusOr<ChatEncoder> chat = MakeChatEncoder(model, {.format = "plain"});
  ASSERT_TRUE(chat.ok()) << chat.status();
  const auto peak_over = [&](uint64_t bytes) -> uint64_t {
    DataOptions options;
    options.files = {.paths = {JoinPath(folder, "a.jsonl")},
                     .tokenise = {.tokenizer = model.tokenizer.get(),
                                  .chat = *chat,
                                  .vocab = model.tokenizer->id_limit(),
                                  .sequence = 512}};
    options.cache_folder = JoinPath(folder, "cache");
    options.threads = 2;
    WriteQuestions(*io, options.files.paths[0], bytes);
    EXPECT_TRUE(ResetPeakMemory(*io).ok());
    const uint64_t before = ReadProcessMemory(*io)->resident().value();
    const auto data = OpenTrainingData(*io, options);
    EXPECT_TRUE(data.ok()) << data.status();
    if (!data.ok()) return 0;
    EXPECT_GT(data->statistics.samples, static_cast<int64_t>(bytes / 500));
    std::vector<TokenRecord> batch(8 * 512);
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(data->train->Fill(batch).ok());
    return ReadProcessMemory(*io)->peak_resident.value() - before;
  };
  // The first makes what a process makes once: threads, the allocator's arenas.
  peak_over(uint64_t{8} << 20);
  const uint64_t peak = peak_over(uint64_t{48} << 20);
  // Ids and labels of all samples would be 8 times the text. What is under way is 5 tasks of
  // 256 KiB of text with theirs, 8 times as much, and buffers of some MiB.
  EXPECT_LT(peak, uint64_t{24} << 20);
}

}  // namespace
}  // namespace horizon
