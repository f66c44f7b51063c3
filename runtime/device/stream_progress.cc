#include "runtime/device/stream_progress.h"

#include <utility>

#include "common/text/str_cat.h"

namespace horizon {

uint64_t StreamProgress::AddWork(int stream, Kind kind, std::string name) {
  Stream& to = streams_[stream];
  to.pending.push_back({.number = ++to.last, .kind = kind, .name = std::move(name)});
  return to.last;
}

void StreamProgress::AddWait(int stream, Place awaited) {
  Stream& to = streams_[stream];
  to.pending.push_back({.number = ++to.last, .name = "wait", .awaited = awaited});
}

void StreamProgress::SetDone(Place place) {
  Stream& stream = streams_[place.stream];
  if (place.number > stream.done) stream.done = place.number;
  while (!stream.pending.empty() && stream.pending.front().number <= stream.done) {
    stream.pending.pop_front();
  }
}

void StreamProgress::SetDone(int stream, uint32_t low_bits) {
  const uint64_t known = streams_[stream].done;
  const auto ahead = static_cast<int32_t>(low_bits - static_cast<uint32_t>(known));
  if (ahead > 0) SetDone({stream, known + static_cast<uint64_t>(ahead)});
}

const StreamProgress::Piece* StreamProgress::Running(const Stream& stream) const {
  for (const Piece& piece : stream.pending) {
    if (piece.awaited.stream < 0) return &piece;
    if (!IsDone(piece.awaited)) return nullptr;
  }
  return nullptr;
}

std::string StreamProgress::Suspects(bool kernels_only) const {
  std::string kernels;
  std::string all;
  for (const Stream& stream : streams_) {
    const Piece* piece = Running(stream);
    if (piece == nullptr) continue;
    const std::string text = StrCat("'", piece->name, "' on stream ", stream.name);
    all += StrCat(all.empty() ? "" : " or ", text);
    if (piece->kind == Kind::kKernel) kernels += StrCat(kernels.empty() ? "" : " or ", text);
  }
  return kernels_only && !kernels.empty() ? kernels : all;
}

}  // namespace horizon
