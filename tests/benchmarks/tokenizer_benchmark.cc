// How fast texts become ids: megabytes of text a second.
//   bazel run -c opt //tests/benchmarks:tokenizer_benchmark -- TOKENIZER_JSON TEXT_FILE
// tokenizer_peer.py beside it measures the PyPI package on the same files.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/check.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/tokenizer/load_tokenizer.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {
namespace {

constexpr size_t kDocumentBytes = 4096;

struct Input {
  std::string json;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> documents;
  int64_t bytes = 0;
};

Input ReadInput(const std::string& json_path, const std::string& text_path) {
  const std::unique_ptr<Io> io = MakePosixIo();
  Input input;
  input.json = *ReadTextFile(*io, json_path, 64_MiB);
  input.tokenizer = *ParseTokenizer(input.json, json_path);
  const std::string text = *ReadTextFile(*io, text_path, 1_GiB);
  input.bytes = static_cast<int64_t>(text.size());
  // Documents end at a line break, as the peer's do.
  for (size_t at = 0; at < text.size();) {
    const size_t line = text.find('\n', std::min(at + kDocumentBytes, text.size()));
    const size_t end = line == std::string::npos ? text.size() : line + 1;
    input.documents.push_back(text.substr(at, end - at));
    at = end;
  }
  return input;
}

void Load(benchmark::State& state, const Input& input) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseTokenizer(input.json, "tokenizer.json"));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(input.json.size()));
}

void Encode(benchmark::State& state, const Input& input) {
  const auto threads = static_cast<size_t>(state.range(0));
  int64_t tokens = 0;
  for (auto _ : state) {
    std::vector<std::jthread> workers;
    std::vector<int64_t> counts(threads);
    for (size_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        std::vector<int32_t> ids;
        for (size_t i = worker; i < input.documents.size(); i += threads) {
          ids.clear();
          CHECK(input.tokenizer->Encode(input.documents[i], {}, ids).ok());
          counts[worker] += static_cast<int64_t>(ids.size());
        }
      });
    }
    workers.clear();
    tokens = 0;
    for (const int64_t count : counts) tokens += count;
  }
  state.SetBytesProcessed(state.iterations() * input.bytes);
  state.counters["tokens"] = static_cast<double>(tokens);
}

void LongWord(benchmark::State& state, const Input& input) {
  std::string word;
  for (size_t i = 0; word.size() < (size_t{1} << 20); ++i)
    word.push_back("etaoinshrdlu"[i * i % 12]);
  for (auto _ : state) {
    std::vector<int32_t> ids;
    CHECK(input.tokenizer->Encode(word, {}, ids).ok());
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(word.size()));
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  CHECK(argc == 3);
  const horizon::Input input = horizon::ReadInput(argv[1], argv[2]);
  const auto unit = benchmark::kMillisecond;
  benchmark::RegisterBenchmark("Load", horizon::Load, std::cref(input))->Unit(unit);
  benchmark::RegisterBenchmark("Encode", horizon::Encode, std::cref(input))
      ->Arg(1)
      ->Arg(2)
      ->UseRealTime()
      ->Unit(unit);
  benchmark::RegisterBenchmark("LongWord", horizon::LongWord, std::cref(input))->Unit(unit);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
