#include "runtime/data/cache/token_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "common/documents/json.h"
#include "common/files/faulting_io.h"
#include "common/text/str_cat.h"
#include "tests/model/test_files.h"
#include "tests/runtime/data/fake_chat.h"
#include "tests/runtime/data/fake_tokenizer.h"
#include "tests/runtime/data/made_cache.h"

namespace horizon {
namespace {

using testing::HasSubstr;

class TokenCacheTest : public testing::Test {
 protected:
  // Every sample of a cache, or the first error.
  static absl::Status ReadAll(const TokenCache& cache, std::vector<TokenLine>* samples = nullptr) {
    std::string scratch;
    for (int64_t i = 0; i < cache.samples(); ++i) {
      const absl::StatusOr<SamplePlace> place = cache.PlaceOf(i);
      if (!place.ok()) return place.status();
      TokenLine line;
      const absl::Status read = cache.Read(i, *place, scratch, line);
      if (!read.ok()) return read;
      if (samples != nullptr) samples->push_back(line);
    }
    return absl::OkStatus();
  }
  DataFiles TextFile(std::string_view text) {
    DataFiles files = {.paths = {JoinPath(folder_, "a.jsonl")},
                       .tokenise = {.tokenizer = &tokenizer_, .vocab = 300, .sequence = 8}};
    WriteBytes(*io_, files.paths[0], text);
    return files;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_ = MakeTestFolder(*io_);
  std::string path_ = JoinPath(folder_, "samples.tokens");
  FakeTokenizer tokenizer_;
};

TEST_F(TokenCacheTest, EverySampleComesBackOverTheBordersOfBlocks) {
  for (const int count : {1, 2, 1023, 1024, 1025, 3000}) {
    const std::vector<TokenLine> samples = NumberedSamples(count, 9, 3);
    const auto cache = MakeCache(*io_, folder_, samples, 9);
    ASSERT_NE(cache, nullptr);
    EXPECT_EQ(cache->samples(), count);
    EXPECT_EQ(cache->sequence(), 9);
    std::vector<TokenLine> read;
    ASSERT_TRUE(ReadAll(*cache, &read).ok());
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSERT_EQ(read[i].ids, samples[i].ids) << i;
      ASSERT_EQ(read[i].labels, samples[i].labels) << i;
    }
    EXPECT_EQ(cache->statistics().records, count);
    // Anywhere first, as a shuffle does.
    EXPECT_EQ(cache->PlaceOf(count - 1)->tokens, samples.back().ids.size());
  }
}

TEST_F(TokenCacheTest, AnythingThatDecidesIdsChangesTheKeyAndAPathDoesNot) {
  DataFiles files = TextFile("{\"text\": \"abc\"}");
  const std::vector<Hash128> contents = {{.high = 1, .low = 2}};
  std::vector<std::string> keys = {ToString(TokenCacheKey(files, contents))};
  const auto with = [&](auto change) {
    DataFiles changed = files;
    change(changed);
    keys.push_back(ToString(TokenCacheKey(changed, contents)));
  };
  const FakeTokenizer other({.tokens = 3});
  with([&](DataFiles& f) { f.tokenise.tokenizer = &other; });
  with([](DataFiles& f) { f.tokenise.tokenizer = nullptr; });
  with([](DataFiles& f) { f.tokenise.end_id = 0; });
  with([](DataFiles& f) { f.tokenise.end_id = 1; });
  const auto with_chat = [&](const FakeChat& chat) {
    with([&](DataFiles& f) { f.tokenise.chat = chat.encoder(); });
  };
  const auto arguments = [](std::string_view json) {
    return ChatChoice{.arguments = *ParseJson("arguments", json)->root.As<Value::Object>()};
  };
  with_chat(FakeChat("plain"));
  with_chat(FakeChat("chatml"));
  with_chat(FakeChat("{{ messages }}"));
  with_chat(FakeChat("{{ messages }}", {}, arguments("{\"a\": 1}")));
  with_chat(FakeChat("{{ messages }}", {}, arguments("{\"a\": 2}")));
  with_chat(FakeChat("{{ strftime_now('%d') }}", {}, {.now = 0}));
  with_chat(FakeChat("{{ strftime_now('%d') }}", {}, {.now = 86400}));
  with([](DataFiles& f) { f.tokenise.vocab = 301; });
  with([](DataFiles& f) { f.tokenise.sequence = 9; });
  with([](DataFiles& f) { f.tokenise.train_on_prompt = true; });
  with([](DataFiles& f) { f.kind = DataKind::kText; });
  with([](DataFiles& f) { f.kind = DataKind::kQa; });
  with([](DataFiles& f) { f.on_bad_line = OnBadLine::kSkip; });
  with([](DataFiles& f) { f.paths = {"a.txt"}; });
  keys.push_back(ToString(TokenCacheKey(files, {{.high = 1, .low = 3}})));
  files.paths = {"elsewhere/b.jsonl"};
  EXPECT_EQ(ToString(TokenCacheKey(files, contents)), keys[0]);
  EXPECT_EQ(keys[0].size(), 32u);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST_F(TokenCacheTest, EveryChangedByteIsNoticed) {
  const std::vector<TokenLine> samples = NumberedSamples(20, 6, 1);
  const Hash128 key = MakeCache(*io_, folder_, samples, 6)->key();
  const std::string good = ReadBytes(*io_, path_);
  for (size_t at = 0; at < good.size(); at += at < CacheHeaderBytes().value() ? 301 : 1) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    WriteBytes(*io_, path_, bytes);
    const auto cache = TokenCache::Open(*io_, path_, key);
    const absl::Status status = cache.ok() ? ReadAll(**cache) : cache.status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << at << " " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  }
}

TEST_F(TokenCacheTest, ATornForeignOrLongerFileIsNoticedAtOnce) {
  const Hash128 key = MakeCache(*io_, folder_, NumberedSamples(40, 6, 1), 6)->key();
  const std::string good = ReadBytes(*io_, path_);
  for (const std::string& bytes :
       {std::string(), good.substr(0, 5), good.substr(0, CacheHeaderBytes().value() - 1),
        good.substr(0, CacheHeaderBytes().value()), good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 1), good + "x", std::string(good.size(), '\0')}) {
    WriteBytes(*io_, path_, bytes);
    EXPECT_TRUE(absl::IsDataLoss(TokenCache::Open(*io_, path_, key).status())) << bytes.size();
  }
  WriteBytes(*io_, path_, good);
  EXPECT_TRUE(TokenCache::Open(*io_, path_, key).ok());
  const absl::Status other = TokenCache::Open(*io_, path_, {.high = 1, .low = 1}).status();
  EXPECT_TRUE(absl::IsDataLoss(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("other data or with other options"));
}

TEST_F(TokenCacheTest, AFileThatBecomesShorterIsNoticedWhenASampleIsRead) {
  const auto cache = MakeCache(*io_, folder_, NumberedSamples(40, 6, 1), 6);
  const std::string good = ReadBytes(*io_, path_);
  for (size_t length = 0; length < good.size() - 8; length += 101) {
    WriteBytes(*io_, path_, good.substr(0, length));
    EXPECT_TRUE(absl::IsDataLoss(ReadAll(*cache))) << length;
  }
}

TEST_F(TokenCacheTest, AFileThatChangesWhileItIsReadLeavesNoCache) {
  const DataFiles files = TextFile("{\"text\": \"abc\"}\n");
  const auto contents = HashFiles(*io_, files.paths);
  WriteBytes(*io_, files.paths[0], "{\"text\": \"abd\"}\n");
  const absl::Status status = WriteTokenCache(*io_, path_, {}, files, *contents, 1).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("changed while it was read"));
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(TokenCacheTest, DataWithNothingToLearnIsRefused) {
  for (const std::string_view text : {"", "{\"text\": \"\"}", "{\"text\": \"a\"}"}) {
    const DataFiles files = TextFile(text);
    const absl::Status status =
        WriteTokenCache(*io_, path_, {}, files, *HashFiles(*io_, files.paths), 1).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("holds no samples"));
  }
  EXPECT_FALSE(FileExists(*io_, path_));
}

TEST_F(TokenCacheTest, AFailingCallLeavesAWholeCacheOrNone) {
  const DataFiles files = TextFile("{\"text\": \"abc\"}\n{\"text\": \"defghijklmn\"}\n");
  const std::vector<Hash128> contents = *HashFiles(*io_, files.paths);
  const Hash128 key = TokenCacheKey(files, contents);
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, [&](FaultingIo& io) {
      // What a run leaves that could not clean up behind itself.
      const auto names = io_->List(folder_);
      ASSERT_TRUE(names.ok());
      for (const std::string& name : *names) {
        if (name.find(".tokens") != std::string::npos) {
          ASSERT_TRUE(io_->Unlink(JoinPath(folder_, name)).ok());
        }
      }
      const absl::Status written = WriteTokenCache(io, path_, key, files, contents, 1).status();
      EXPECT_EQ(IoErrno(written), io.reached() ? ENOSPC : 0) << written;
      if (!FileExists(*io_, path_)) return;
      const auto cache = TokenCache::Open(*io_, path_, key);
      ASSERT_TRUE(cache.ok()) << cache.status();
      EXPECT_TRUE(ReadAll(**cache).ok());
    });
  }
  ASSERT_TRUE(WriteTokenCache(*io_, path_, key, files, contents, 1).ok());
  ForEachFault(*io_, {.error_number = EIO}, [&](FaultingIo& io) {
    const auto cache = TokenCache::Open(io, path_, key);
    const absl::Status status = cache.ok() ? ReadAll(**cache) : cache.status();
    EXPECT_EQ(IoErrno(status), io.reached() ? EIO : 0) << status;
  });
}

}  // namespace
}  // namespace horizon
