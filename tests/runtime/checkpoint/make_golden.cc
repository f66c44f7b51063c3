// make_golden RUN: writes the golden checkpoint of this version into a new run folder. Kept to show
// how tests/runtime/checkpoint/golden/ was made; see golden_state.h.
#include <cstdio>
#include <memory>
#include <string>

#include "common/files/io.h"
#include "common/status_macros.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "tests/runtime/checkpoint/golden_state.h"

namespace horizon {
namespace {

absl::Status MakeGolden(const std::string& run) {
  const std::unique_ptr<Io> io = MakePosixIo();
  RETURN_IF_ERROR(io->MakeDirectory(run));
  ASSIGN_OR_RETURN(const RunLock lock, RunLock::Acquire(*io, run));
  ASSIGN_OR_RETURN(const CheckpointLayout layout,
                   LayOutCheckpoint(GoldenTensors(), StateFormat::k8BitMoments, SaveMode::kFull));
  CheckpointWriter::Options options{.step = kGoldenStep};
  options.extra_files = {{.name = "config.json", .text = kGoldenConfig}};
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointWriter> writer,
                   CheckpointWriter::Create(*io, lock, layout, options));
  for (size_t i = 0; i < layout.entries.size(); ++i) {
    std::vector<std::byte> bytes(layout.entries[i].bytes.value());
    for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = GoldenByte(i, at);
    RETURN_IF_ERROR(writer->Write(i, 0, bytes, kGoldenStep));
  }
  return writer->Commit(GoldenFacts());
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const absl::Status status = horizon::MakeGolden(argv[1]);
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
