#include "tests/common/files/power_cut.h"

#include <algorithm>
#include <map>
#include <string>

namespace horizon {
namespace {

using Kind = MemoryChange::Kind;

constexpr uint64_t kBlock = 4096;

// The finalizer of SplitMix64.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

bool Coin(uint64_t seed, uint64_t a, uint64_t b) { return (Mix(Mix(seed ^ Mix(a)) ^ b) & 1) != 0; }

void ApplyTorn(const MemoryChange& change, uint64_t seed, uint64_t number, MemoryTree& tree) {
  const uint64_t end = change.offset + change.bytes.size();
  for (uint64_t at = change.offset; at < end;) {
    const uint64_t stop = std::min(end, (at / kBlock + 1) * kBlock);
    if (Coin(seed, number, at)) {
      MemoryChange part = change;
      part.offset = at;
      part.bytes = change.bytes.substr(at - change.offset, stop - at);
      ApplyChange(part, tree);
    }
    at = stop;
  }
}

void ApplyWrite(const MemoryChange& change, const PowerCut& cut, uint64_t number,
                MemoryTree& tree) {
  switch (cut.writes) {
    case PowerCut::Writes::kAll:
      ApplyChange(change, tree);
      break;
    case PowerCut::Writes::kNone:
      break;
    case PowerCut::Writes::kSome:
      if (Coin(cut.seed, number, 0)) ApplyChange(change, tree);
      break;
    case PowerCut::Writes::kTorn:
      ApplyTorn(change, cut.seed, number, tree);
      break;
    case PowerCut::Writes::kZeros: {
      MemoryChange zeros = change;
      std::fill(zeros.bytes.begin(), zeros.bytes.end(), '\0');
      ApplyChange(zeros, tree);
      break;
    }
  }
}

bool NameSurvives(const PowerCut& cut, uint64_t number) {
  if (cut.names == PowerCut::Names::kSome) return Coin(cut.seed, number, 1);
  return cut.names == PowerCut::Names::kKept;
}

}  // namespace

MemoryTree AfterPowerCut(const MemoryIo& io, const PowerCut& cut) {
  const auto begin = io.changes().begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(cut.changes, io.changes().size()));
  std::map<int, size_t> safe_files;    // changes below this number are safe
  std::map<int, size_t> safe_folders;  // the same
  for (auto change = begin; change != end; ++change) {
    const auto number = static_cast<size_t>(change - begin);
    if (change->kind == Kind::kSyncFile) safe_files[change->node] = number;
    if (change->kind == Kind::kSyncFolder) safe_folders[change->node] = number;
  }
  MemoryTree tree = io.start();
  for (auto change = begin; change != end; ++change) {
    const auto number = static_cast<size_t>(change - begin);
    if (change->kind == Kind::kWrite) {
      if (number < safe_files[change->node]) {
        ApplyChange(*change, tree);
      } else {
        ApplyWrite(*change, cut, number, tree);
      }
    } else if (number < safe_folders[change->node] || NameSurvives(cut, number)) {
      ApplyChange(*change, tree);
    }
    // What a name may lead to exists, however empty.
    if (change->kind != Kind::kAddName) continue;
    if (change->target_is_folder) {
      tree.folders[change->target];
    } else {
      tree.files[change->target];
    }
  }
  return tree;
}

}  // namespace horizon
