#include "tests/runtime/checkpoint/saved_run.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_writer.h"

namespace horizon {

std::vector<SavedTensor> SmallTensors() {
  return {{.name = "model.embed.weight", .shape = {61, 47}},
          {.name = "model.layers.0.weight", .shape = {257}},
          {.name = "model.layers.0.empty", .shape = {0, 3}},
          {.name = "model.norm.weight", .shape = {1}}};
}

CheckpointLayout SmallLayout(StateFormat format, SaveMode mode, Bytes max_shard) {
  absl::StatusOr<CheckpointLayout> layout =
      LayOutCheckpoint(SmallTensors(), format, mode, max_shard);
  CHECK(layout.ok());
  return *std::move(layout);
}

CheckpointFacts SmallFacts(int64_t step, StateFormat format) {
  CheckpointFacts facts;
  facts.job = {.model = "a \"model\"", .data = "stories.jsonl", .steps = 40, .learning_rate = 0.1};
  facts.job.state_format = format;
  facts.plan = {.buffer_depth = 3, .resident_chunks = 1};
  facts.model_fingerprint = "0123456789abcdef";
  facts.data_fingerprint = "fedcba9876543210";
  facts.data_position = {.epoch = 2, .index = 100 + step};
  facts.generator_key = 7;
  facts.counters = {.skipped_steps = 1,
                    .tokens = 1000 * step,
                    .first_loss = 5.5,
                    .best_loss = 1.0 / 3.0,
                    .last_loss = 0.1 * static_cast<double>(step)};
  facts.metrics_lines = step;
  return facts;
}

std::vector<std::byte> StateBytes(const CheckpointLayout& layout, size_t entry, int64_t step) {
  std::vector<std::byte> bytes(layout.entries[entry].bytes.value());
  uint32_t state = static_cast<uint32_t>(entry * 977 + static_cast<uint64_t>(step) * 31337 + 1);
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

absl::Status SaveStep(Io& io, const RunLock& lock, const CheckpointLayout& layout, int64_t step) {
  CheckpointWriter::Options options{.step = step};
  options.extra_files = {{.name = "config.json", .text = "{\"vocab\": 61}\n"}};
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointWriter> writer,
                   CheckpointWriter::Create(io, lock, layout, std::move(options)));
  for (size_t i = layout.entries.size(); i-- > 0;) {
    const std::vector<std::byte> bytes = StateBytes(layout, i, step);
    const size_t first = bytes.size() / 3;
    const size_t second = bytes.size() / 2;
    const auto all = std::span(bytes);
    RETURN_IF_ERROR(writer->Write(i, second, all.subspan(second), step));
    RETURN_IF_ERROR(writer->Write(i, 0, all.first(first), step));
    RETURN_IF_ERROR(writer->Write(i, first, all.subspan(first, second - first), step));
  }
  return writer->Commit(SmallFacts(step, layout.format));
}

absl::Status CheckSaved(Io& io, const std::string& path, const CheckpointLayout& layout,
                        int64_t step) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(io, path));
  const Manifest& manifest = checkpoint.manifest();
  if (manifest.step != step || manifest.facts != SmallFacts(step, layout.format) ||
      manifest.mode != layout.mode || manifest.tensors.size() != layout.entries.size()) {
    return absl::DataLossError("the manifest holds something else");
  }
  std::vector<std::vector<std::byte>> found(layout.entries.size());
  RETURN_IF_ERROR(checkpoint.Read(
      [&](const TensorRecord& tensor, uint64_t offset, std::span<const std::byte> bytes) {
        std::vector<std::byte>& into = found[&tensor - manifest.tensors.data()];
        CHECK(offset == into.size());
        into.insert(into.end(), bytes.begin(), bytes.end());
        return absl::OkStatus();
      }));
  for (size_t i = 0; i < layout.entries.size(); ++i) {
    const CheckpointEntry& entry = layout.entries[i];
    const TensorRecord& tensor = manifest.tensors[i];
    if (tensor.name != layout.tensors[entry.tensor].name || tensor.part != entry.part ||
        found[i] != StateBytes(layout, i, step)) {
      return absl::DataLossError(StrCat("tensor ", Quoted(tensor.name), ", part ",
                                        ToString(tensor.part), " is not what was saved"));
    }
  }
  return absl::OkStatus();
}

absl::Status MakeRun(Io& io, const std::string& run_folder, const CheckpointLayout& layout,
                     const std::vector<int64_t>& steps) {
  RETURN_IF_ERROR(io.MakeDirectory(run_folder));
  ASSIGN_OR_RETURN(const RunLock lock, RunLock::Acquire(io, run_folder));
  for (const int64_t step : steps) RETURN_IF_ERROR(SaveStep(io, lock, layout, step));
  return absl::OkStatus();
}

}  // namespace horizon
