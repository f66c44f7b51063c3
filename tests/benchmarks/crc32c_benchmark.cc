#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "common/crc32c.h"

// Bytes/s of the checksum of checkpoints, beside those of a copy of the same bytes: a save must not
// wait for it.
namespace horizon {
namespace {

std::vector<std::byte> Bytes(size_t count) { return std::vector<std::byte>(count, std::byte{7}); }

void BM_Crc32c(benchmark::State& state) {
  const std::vector<std::byte> bytes = Bytes(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc32c)->Arg(64)->Arg(4096)->Arg(1 << 20)->Arg(64 << 20);

void BM_Crc32cPortable(benchmark::State& state) {
  const std::vector<std::byte> bytes = Bytes(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Crc32cPortable(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Crc32cPortable)->Arg(1 << 20);

void BM_Copy(benchmark::State& state) {
  const std::vector<std::byte> from = Bytes(static_cast<size_t>(state.range(0)));
  std::vector<std::byte> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Copy)->Arg(1 << 20)->Arg(64 << 20);

void BM_Crc32cCombine(benchmark::State& state) {
  uint32_t crc = 1;
  for (auto _ : state) crc = Crc32cCombine(crc, crc, uint64_t{1} << 40 | 12345);
  benchmark::DoNotOptimize(crc);
}
BENCHMARK(BM_Crc32cCombine);

}  // namespace
}  // namespace horizon
