#include "tests/fake_cuda/bank_conflicts.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/fake_cuda/runtime.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {

bool counting_bank_conflicts = false;

namespace {

constexpr unsigned kBanks = 32;
constexpr unsigned kWordBytes = 4;
constexpr size_t kWarpLanes = 32;

struct LoggedAccess {
  SharedUse use;
  const void* array;
  uint32_t offset;
  unsigned bytes;
  bool IsAlike(const LoggedAccess& other) const {
    return use == other.use && array == other.array && bytes == other.bytes;
  }
};

BankConflicts counted;
std::array<std::vector<LoggedAccess>, kWarpLanes> logged;

const char* NameOf(SharedUse use) {
  switch (use) {
    case SharedUse::kLoad:
      return "a load";
    case SharedUse::kStore:
      return "a store";
    case SharedUse::kCopy:
      return "an asynchronous copy";
  }
  return "?";
}

// The words of accesses that are made in one pass if no two of them are in one bank.
uint64_t ExtraPasses(std::vector<uint32_t>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<unsigned, kBanks> in_bank{};
  for (const uint32_t word : words) ++in_bank[word % kBanks];
  const unsigned most = *std::max_element(in_bank.begin(), in_bank.end());
  return most == 0 ? 0 : most - 1;
}

void Count(const char* what, uint64_t conflicts) {
  ++counted.accesses;
  counted.conflicts += conflicts;
  if (conflicts > 0 && counted.first.empty()) {
    counted.first = std::string(what) + " with " + std::to_string(conflicts) + " bank conflicts" +
                    DescribeRunningThread();
  }
}

// The offset of each lane's access; null where the lane takes no part.
using Accesses = std::array<const LoggedAccess*, kWarpLanes>;

void CountTogether(const Accesses& accesses, const LoggedAccess& like) {
  const size_t lanes_at_once = kWarpLanes * kWordBytes / std::max(like.bytes, kWordBytes);
  uint64_t conflicts = 0;
  std::vector<uint32_t> words;
  for (size_t begin = 0; begin < kWarpLanes; begin += lanes_at_once) {
    words.clear();
    for (size_t i = begin; i < begin + lanes_at_once; ++i) {
      if (accesses[i] == nullptr) continue;
      const uint32_t first = accesses[i]->offset / kWordBytes;
      const uint32_t last = (accesses[i]->offset + like.bytes - 1) / kWordBytes;
      for (uint32_t word = first; word <= last; ++word) words.push_back(word);
    }
    conflicts += ExtraPasses(words);
  }
  Count(NameOf(like.use), conflicts);
}

}  // namespace

void LogSharedAccess(SharedUse use, const void* array, uint32_t offset, unsigned bytes) {
  if (!counting_bank_conflicts) return;
  logged[thread_block_time.thread % kWarpLanes].push_back({use, array, offset, bytes});
}

void CountMatrixLoad(const uint32_t (&rows)[32]) {
  if (!counting_bank_conflicts) return;
  constexpr unsigned kRowBytes = 16;
  constexpr size_t kRowsAtOnce = 8;
  uint64_t conflicts = 0;
  std::vector<uint32_t> words;
  for (size_t begin = 0; begin < kWarpLanes; begin += kRowsAtOnce) {
    words.clear();
    for (const uint32_t row : std::span(rows).subspan(begin, kRowsAtOnce)) {
      for (uint32_t byte = 0; byte < kRowBytes; byte += kWordBytes) {
        words.push_back((row + byte) / kWordBytes);
      }
    }
    conflicts += ExtraPasses(words);
  }
  Count("an ldmatrix", conflicts);
}

void CountLoggedAccesses() {
  if (!counting_bank_conflicts) return;
  size_t most = 0;
  for (const auto& of_lane : logged) most = std::max(most, of_lane.size());
  for (size_t n = 0; n < most; ++n) {
    std::array<bool, kWarpLanes> done{};
    for (size_t lane = 0; lane < kWarpLanes; ++lane) {
      if (done[lane] || n >= logged[lane].size()) continue;
      const LoggedAccess& like = logged[lane][n];
      Accesses together{};
      for (size_t other = lane; other < kWarpLanes; ++other) {
        if (done[other] || n >= logged[other].size() || !logged[other][n].IsAlike(like)) continue;
        together[other] = &logged[other][n];
        done[other] = true;
      }
      CountTogether(together, like);
    }
  }
  for (auto& of_lane : logged) of_lane.clear();
}

void CountBankConflicts(bool count) {
  const std::lock_guard lock(RuntimeMutex());
  RunAll(TheRuntime());
  counting_bank_conflicts = count;
  counted = {};
}

BankConflicts TakeBankConflicts() {
  const std::lock_guard lock(RuntimeMutex());
  RunAll(TheRuntime());
  return std::exchange(counted, {});
}

}  // namespace fake_cuda
