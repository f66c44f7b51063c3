// Where the buffers of a schedule lie, and that its chunks hold each parameter once.
#include <algorithm>
#include <map>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

absl::Status Broken(const std::string& message) { return absl::InternalError(message); }

absl::Status CheckPlaces(const Schedule& schedule) {
  const std::vector<Buffer>& buffers = schedule.memory.buffers;
  for (int m = 0; m < kMemoryCount; ++m) {
    std::vector<const Buffer*> sorted;
    for (const Buffer& buffer : buffers) {
      if (static_cast<int>(buffer.memory) == m) sorted.push_back(&buffer);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; });
    Bytes end;
    const Buffer* last = nullptr;
    for (const Buffer* buffer : sorted) {
      if (buffer->bytes == 0_B) {
        return Broken(StrCat(schedule.NameOf(*buffer), " has no bytes"));
      }
      if (buffer->offset % kBufferAlignment != 0) {
        return Broken(StrCat(schedule.NameOf(*buffer), " at ", buffer->offset, " is not aligned"));
      }
      if (Bytes(buffer->offset) < end) {
        return Broken(StrCat(schedule.NameOf(*last), " and ", schedule.NameOf(*buffer),
                             " overlap at ", buffer->offset));
      }
      end = Bytes(buffer->offset) + buffer->bytes;
      if (!end.ok()) {
        return Broken(StrCat(schedule.NameOf(*buffer), " ends past 2^64"));
      }
      last = buffer;
    }
    if (end != schedule.memory.totals[m]) {
      return Broken(StrCat("the ", ToString(static_cast<Memory>(m)), " memory is said to hold ",
                           schedule.memory.totals[m].value(), " bytes, but its last buffer",
                           last == nullptr ? "" : StrCat(", ", schedule.NameOf(*last), ","),
                           " ends at ", end.value()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckUsed(const Schedule& schedule) {
  std::vector<char> used(schedule.memory.buffers.size(), 0);
  for (const Phase* phase : {&schedule.first, &schedule.steady, &schedule.drain}) {
    for (const Operation& operation : phase->operations) {
      for (const Access& access : phase->AccessesOf(operation)) {
        if (access.buffer < 0 || access.buffer >= static_cast<BufferId>(used.size())) {
          return Broken(StrCat(schedule.NameOf(operation), " touches buffer ", access.buffer,
                               ", which does not exist"));
        }
        used[access.buffer] = 1;
      }
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      return Broken(StrCat(schedule.NameOf(schedule.memory.buffers[i]), " is never used"));
    }
  }
  return absl::OkStatus();
}

// The trained parameters of a piece, tensor by tensor.
uint64_t TrainedIn(const Stage& stage, UnitRange units) {
  uint64_t trained = 0;
  for (const TensorSpec& tensor : stage.tensors) {
    if (!tensor.trained) continue;
    if (tensor.split_axis >= 0) {
      trained += tensor.parameters / static_cast<uint64_t>(stage.units) *
                 static_cast<uint64_t>(units.end - units.begin);
    } else if (units.begin <= tensor.unit && tensor.unit < units.end) {
      trained += tensor.parameters;
    }
  }
  return trained;
}

// Each unit of each stage lies in exactly one chunk, and the counts agree.
absl::Status CheckChunks(const Schedule& schedule) {
  const ChunkTable& table = schedule.chunks;
  std::vector<std::vector<UnitRange>> ranges(table.stages.size());
  uint64_t total = 0;
  for (size_t c = 0; c < table.chunks.size(); ++c) {
    const Chunk& chunk = table.chunks[c];
    uint64_t parameters = 0;
    uint64_t trained = 0;
    for (const ChunkPiece& piece : table.PiecesOf(chunk)) {
      ranges[piece.stage].push_back(piece.units);
      parameters += ParametersInUnits(table.stages[piece.stage], piece.units);
      trained += TrainedIn(table.stages[piece.stage], piece.units);
    }
    if (parameters != chunk.parameters) {
      return Broken(StrCat("chunk ", table.NameOf(static_cast<int32_t>(c)), " is said to hold ",
                           chunk.parameters, " parameters, its pieces hold ", parameters));
    }
    if (trained != chunk.trained) {
      return Broken(StrCat("chunk ", table.NameOf(static_cast<int32_t>(c)), " is said to train ",
                           chunk.trained, " parameters, its tensors train ", trained));
    }
    total += parameters;
  }
  uint64_t expected = 0;
  for (size_t s = 0; s < table.stages.size(); ++s) {
    const Stage& stage = table.stages[s];
    expected += stage.parameters;
    if (stage.tensors.empty()) continue;  // a tied head
    std::vector<UnitRange>& pieces = ranges[s];
    std::sort(pieces.begin(), pieces.end(),
              [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
    int64_t end = 0;
    for (const UnitRange& piece : pieces) {
      if (piece.begin != end || piece.end <= piece.begin) {
        return Broken(StrCat("the chunks of stage ", stage.name, " leave out or repeat units at ",
                             std::min(piece.begin, end)));
      }
      end = piece.end;
    }
    if (end != stage.units) {
      return Broken(
          StrCat("the chunks of stage ", stage.name, " end at unit ", end, " of ", stage.units));
    }
  }
  if (total != expected || total != table.parameters) {
    return Broken(StrCat("the chunks hold ", total, " parameters, the model has ", expected,
                         ", the table says ", table.parameters));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyMemory(const Schedule& schedule) {
  RETURN_IF_ERROR(CheckPlaces(schedule));
  RETURN_IF_ERROR(CheckUsed(schedule));
  return CheckChunks(schedule);
}

}  // namespace horizon
