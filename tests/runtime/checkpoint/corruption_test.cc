// K3: whatever happened to the files of a checkpoint is found and named before its state is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "tests/common/files/memory_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPath[] = "/run/checkpoints/step-00000002";

// The files of a folder, by name.
using Files = std::map<std::string, std::string>;

Files FilesOf(Io& io, const std::string& folder) {
  Files files;
  const std::vector<std::string> names = *io.List(folder);
  for (const std::string& name : names) files[name] = *ReadTextFile(io, JoinPath(folder, name));
  return files;
}

// A checkpoint folder with these files.
MemoryIo WithFiles(const Files& files) {
  MemoryTree tree;
  tree.folders = {{0, {{"run", 1}}}, {1, {{"checkpoints", 2}}}, {2, {{"step-00000002", 3}}}};
  int node = 10;
  for (const auto& [name, text] : files) {
    tree.folders[3][name] = node;
    tree.files[node++] = text;
  }
  return MemoryIo(std::move(tree));
}

absl::Status StatusOf(const Files& files) {
  MemoryIo io = WithFiles(files);
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(io, kPath);
  return checkpoint.ok() ? checkpoint->VerifyPayload() : checkpoint.status();
}

class Corruption : public testing::Test {
 protected:
  void SetUp() override {
    MemoryIo io;
    ASSERT_TRUE(MakeRun(io, "/run", layout_, {1, 2}).ok());
    files_ = FilesOf(io, kPath);
    other_ = FilesOf(io, "/run/checkpoints/step-00000001");
    ASSERT_TRUE(StatusOf(files_).ok());
  }
  // The parts whose bytes include one of a file.
  const CheckpointEntry* EntryAt(const std::string& name, size_t offset) {
    for (const CheckpointEntry& entry : layout_.entries) {
      if (layout_.files[entry.file].name == name && offset >= entry.offset &&
          offset < entry.offset + entry.bytes.value()) {
        return &entry;
      }
    }
    return nullptr;
  }

  CheckpointLayout layout_ = *LayOutCheckpoint({{"a", {61, 47}}, {"b", {1}}},
                                               StateFormat::k8BitMoments, SaveMode::kFull, 5_KiB);
  Files files_;
  Files other_;  // of step 1
};

// Headers and text files; the manifest's bits are manifest_test's.
TEST_F(Corruption, EveryFlippedBitOfAHeaderNamesTheFile) {
  size_t flips = 0;
  for (const CheckpointFile& file : layout_.files) {
    for (size_t i = 0; i < file.start.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit, ++flips) {
        Files changed = files_;
        changed[file.name][i] = static_cast<char>(changed[file.name][i] ^ 1 << bit);
        MemoryIo damaged = WithFiles(changed);
        const absl::Status status = Checkpoint::Open(damaged, kPath).status();
        ASSERT_TRUE(absl::IsDataLoss(status)) << file.name << " " << i << " " << bit;
        ASSERT_THAT(std::string(status.message()), HasSubstr(file.name));
      }
    }
  }
  EXPECT_GT(flips, 10'000u);
}

// Each 11th bit of all payload.
TEST_F(Corruption, FlippedBitsOfThePayloadNameTheTensorItsOffsetAndBothCrcs) {
  size_t flips = 0;
  for (const CheckpointFile& file : layout_.files) {
    for (size_t bit = file.start.size() * 8; bit < (file.bytes * 8).value(); bit += 11, ++flips) {
      Files changed = files_;
      char& byte = changed[file.name][bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      const CheckpointEntry* entry = EntryAt(file.name, bit / 8);
      ASSERT_NE(entry, nullptr);
      const absl::Status status = StatusOf(changed);
      ASSERT_TRUE(absl::IsDataLoss(status)) << file.name << " " << bit;
      ASSERT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(StrCat(
                            "'", file.name, "', tensor \"",
                            SavedName(layout_.tensors[entry->tensor].name, entry->part), "\"")),
                        HasSubstr(StrCat("at offset ", entry->offset, ": CRC-32C is ")),
                        HasSubstr("was saved")));
    }
  }
  EXPECT_GT(flips, 10'000u);
}

TEST_F(Corruption, AnyOtherLengthIsFound) {
  for (const auto& [name, text] : files_) {
    for (size_t size = 0; size < text.size(); size += 512) {
      Files changed = files_;
      changed[name].resize(size);
      const absl::Status status = StatusOf(changed);
      EXPECT_TRUE(absl::IsDataLoss(status)) << name << " " << size;
      EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    }
    Files changed = files_;
    changed[name] += '\0';
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(changed))) << name;
  }
}

TEST_F(Corruption, AMissingOrForeignFileIsNamed) {
  for (const auto& [name, text] : files_) {
    Files changed = files_;
    changed.erase(name);
    const absl::Status status = StatusOf(changed);
    EXPECT_TRUE(absl::IsDataLoss(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
  for (const char* name : {"a", "zzz", "notes.txt", "model-00099-of-00099.safetensors", ".x"}) {
    Files changed = files_;
    changed[name] = "x";
    const absl::Status status = StatusOf(changed);
    EXPECT_TRUE(absl::IsDataLoss(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

TEST_F(Corruption, SwappedFilesAreFound) {
  for (const auto& [first, text] : files_) {
    for (const auto& [second, other_text] : files_) {
      if (first >= second || text == other_text) continue;
      Files changed = files_;
      std::swap(changed[first], changed[second]);
      EXPECT_TRUE(absl::IsDataLoss(StatusOf(changed))) << first << " and " << second;
    }
  }
}

// Files of two steps have equal headers and lengths: only the tensors' own CRCs tell them apart.
TEST_F(Corruption, AFileOfAnotherStepIsFound) {
  for (const auto& [name, text] : other_) {
    if (text == files_[name]) continue;  // the config
    Files changed = files_;
    changed[name] = text;
    EXPECT_TRUE(absl::IsDataLoss(StatusOf(changed))) << name;
  }
  // All of step 1 under the name of step 2.
  EXPECT_THAT(std::string(StatusOf(other_).message()), HasSubstr("it holds step 1"));
}

TEST_F(Corruption, AnEmptyFolderIsNoCheckpoint) {
  EXPECT_TRUE(absl::IsDataLoss(StatusOf({})));
  MemoryIo io;
  EXPECT_TRUE(absl::IsNotFound(Checkpoint::Open(io, "/nothing").status()));
}

// A reader that is given an error at any call, or less than it asked for.
TEST_F(Corruption, FailingReadsAreErrors) {
  MemoryIo memory = WithFiles(files_);
  for (const auto kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    ForEachFault(memory, {.kind = kind}, [&](FaultingIo& io) {
      const absl::Status status = CheckSaved(io, kPath, layout_, 2);
      EXPECT_EQ(status.ok(), !io.reached()) << status;
    });
  }
}

TEST_F(Corruption, AFileThatShrinksWhileItIsReadIsFound) {
  MemoryIo memory = WithFiles(files_);
  int found = 0;
  ForEachFault(memory, {.kind = FaultPlan::Kind::kShrink}, [&](FaultingIo& io) {
    // OK only where what was cut off had not been there: CheckSaved compares every byte.
    const absl::Status status = CheckSaved(io, kPath, layout_, 2);
    EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
    if (!status.ok()) ++found;
  });
  EXPECT_GT(found, 20);
}

// On a real file system: links and special files in a run folder are refused (S5).
TEST(RunFolder, HoldsNoLinksAndNoSpecialFiles) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const CheckpointLayout layout = SmallLayout();
  const std::string run = JoinPath(MakeTestFolder(*io), "run");
  ASSERT_TRUE(MakeRun(*io, run, layout, {1, 2}).ok());
  const std::string folder = JoinPath(run, "checkpoints/step-00000002");
  for (const std::string name : {"low.safetensors", "manifest.json", "config.json"}) {
    const std::string path = JoinPath(folder, name);
    const std::string aside = JoinPath(run, "aside");
    ASSERT_TRUE(io->Rename(path, aside).ok());
    ASSERT_EQ(::symlink(aside.c_str(), path.c_str()), 0);  // to the very same bytes
    absl::Status status = Checkpoint::Open(*io, folder).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_TRUE(absl::IsDataLoss(Checkpoint::Open(*io, folder).status())) << name;
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    EXPECT_TRUE(absl::IsDataLoss(Checkpoint::Open(*io, folder).status())) << name;
    ASSERT_EQ(::rmdir(path.c_str()), 0);
    ASSERT_TRUE(io->Rename(aside, path).ok());
    EXPECT_TRUE(Checkpoint::Open(*io, folder).ok());
  }
  // The checkpoint itself is a link to another one.
  const std::string link = JoinPath(run, "checkpoints/step-00000003");
  ASSERT_EQ(::symlink("step-00000002", link.c_str()), 0);
  EXPECT_TRUE(absl::IsDataLoss(Checkpoint::Open(*io, link).status()));
  const absl::Status newest = OpenNewestCheckpoint(*io, run).status();
  EXPECT_TRUE(absl::IsDataLoss(newest));
  EXPECT_THAT(std::string(newest.message()),
              AllOf(HasSubstr("step-00000003"), HasSubstr("step 2, opens: --resume ")));
}

TEST(FindCheckpoints, HighestFirstAndOnlyWhatCommitNames) {
  MemoryIo io;
  EXPECT_TRUE(absl::IsNotFound(FindCheckpoints(io, "/run").status()));
  ASSERT_TRUE(io.MakeDirectory("/run").ok());
  EXPECT_TRUE(FindCheckpoints(io, "/run")->empty());
  EXPECT_TRUE(absl::IsNotFound(OpenNewestCheckpoint(io, "/run").status()));
  ASSERT_TRUE(io.MakeDirectory("/run/checkpoints").ok());
  for (const char* name : {"step-00000002", "step-00000010", "step-100000000",
                           "step-00000011.tmp-1", "step-12", "latest", "step-00000013x"}) {
    ASSERT_TRUE(io.MakeDirectory(StrCat("/run/checkpoints/", name)).ok());
  }
  const absl::StatusOr<std::vector<FoundCheckpoint>> all = FindCheckpoints(io, "/run");
  ASSERT_TRUE(all.ok()) << all.status();
  std::vector<int64_t> steps;
  for (const FoundCheckpoint& found : *all) steps.push_back(found.step);
  EXPECT_THAT(steps, testing::ElementsAre(100'000'000, 10, 2));
}

}  // namespace
}  // namespace horizon
