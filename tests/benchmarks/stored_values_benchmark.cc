// Reading weights as fp32 from the page cache, by format: values a second, and what that is of the
// bytes on disk. Ranges are those of a parameter store (2^18 values).
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/files/io.h"
#include "model/files/model_files.h"
#include "model/files/model_folder_writer.h"
#include "model/files/stored_tensor.h"
#include "model/files/stored_values.h"

namespace horizon {
namespace {

// An expert of gpt-oss: its gate and up, 16.6 million values.
constexpr int64_t kInputs = 2880;
constexpr int64_t kOutputs = 5760;
constexpr uint64_t kRange = uint64_t{1} << 18;

struct Stored {
  StoredFormat format;
  std::vector<TensorDeclaration> tensors;  // values, and scales where there are any
};

Stored StoredAs(const std::string& format) {
  const std::vector<int64_t> shape = {1, kInputs, kOutputs};
  if (format == "mxfp4") {
    return {StoredFormat::kMxfp4,
            {{"w_blocks", Dtype::kU8, {1, kOutputs, kInputs / 32, 16}},
             {"w_scales", Dtype::kU8, {1, kOutputs, kInputs / 32}}}};
  }
  if (format == "fp8") {
    return {StoredFormat::kFp8,
            {{"w", Dtype::kF8E4M3, shape},
             {"w_scale_inv", Dtype::kBF16, {1, (kInputs + 127) / 128, kOutputs / 128}}}};
  }
  return {StoredFormat::kPlain,
          {{"w",
            format == "f16"   ? Dtype::kF16
            : format == "f32" ? Dtype::kF32
                              : Dtype::kBF16,
            shape}}};
}

void BM_ReadStored(benchmark::State& state, const std::string& format) {
  const std::unique_ptr<Io> io = MakePosixIo();
  std::string folder = "/tmp/stored_values_benchmark_XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  const Stored stored = StoredAs(format);
  CHECK(WriteModelFolder(*io, folder, stored.tensors,
                         [](const TensorDeclaration&, uint64_t offset, std::span<std::byte> into) {
                           // Codes, scales and halves of all kinds, none of them NaN.
                           for (size_t i = 0; i < into.size(); ++i) {
                             into[i] = static_cast<std::byte>((offset + i) * 37 % 101);
                           }
                           return absl::OkStatus();
                         })
            .ok());
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(*io, folder);
  CHECK(files.ok());
  StoredTensor tensor{.format = stored.format,
                      .shape = {1, kInputs, kOutputs},
                      .values = files->Find(stored.tensors[0].name),
                      .block_rows = 128,
                      .block_columns = 128};
  if (stored.tensors.size() > 1) tensor.scales = files->Find(stored.tensors[1].name);
  StoredValues values(*files);
  constexpr uint64_t kElements = uint64_t{kInputs} * kOutputs;
  std::vector<float> into(kRange);
  for (auto _ : state) {
    for (uint64_t first = 0; first < kElements; first += kRange) {
      const auto range = std::span(into).first(std::min(kRange, kElements - first));
      CHECK(values.Read(tensor, first, range).ok());
      benchmark::DoNotOptimize(into.data());
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(kElements) * state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(tensor.bytes().value()) * state.iterations());
  CHECK(io->Unlink(JoinPath(folder, "model.safetensors")).ok());
  CHECK(io->RemoveDirectory(folder).ok());
}

BENCHMARK_CAPTURE(BM_ReadStored, f32, std::string("f32"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadStored, bf16, std::string("bf16"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadStored, f16, std::string("f16"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadStored, fp8, std::string("fp8"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_ReadStored, mxfp4, std::string("mxfp4"))->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace horizon
