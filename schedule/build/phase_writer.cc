#include "schedule/build/phase_writer.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace horizon {

PhaseWriter::PhaseWriter(size_t buffers) : tracks_(buffers) {
  for (Tracks& tracks : tracks_) tracks.readers.fill(-1);
}

void PhaseWriter::BeginPhase() {
  phase_ = Phase();
  // A step is as long as the one before, more or less.
  phase_.operations.reserve(last_operations_);
  phase_.access_pool.reserve(last_accesses_);
  phase_.wait_pool.reserve(last_waits_);
  phase_begin_ = static_cast<int64_t>(written_.size());
}

void PhaseWriter::BeginBody() {
  phase_.body_begin = static_cast<OperationId>(phase_.operations.size());
}

Phase PhaseWriter::EndPhase() {
  previous_begin_ = phase_begin_;
  previous_body_ = phase_begin_ + phase_.body_begin;
  last_operations_ = phase_.operations.size() + phase_.operations.size() / 4;
  last_accesses_ = phase_.access_pool.size() + phase_.access_pool.size() / 4;
  last_waits_ = phase_.wait_pool.size() + phase_.wait_pool.size() / 4;
  return std::exchange(phase_, Phase());
}

int64_t PhaseWriter::Append(Operation operation, std::span<const Access> accesses,
                            std::span<const int64_t> after) {
  const int64_t number = static_cast<int64_t>(written_.size());
  const size_t lane = static_cast<size_t>(operation.lane);
  std::vector<int64_t>& in_lane = lane_numbers_[lane];

  Clock known;
  known.fill(-1);
  if (!in_lane.empty()) known = written_[in_lane.back()].clock;
  operation.waits.begin = static_cast<uint32_t>(phase_.wait_pool.size());
  AddWaits(operation.lane, Needed(accesses, after), known);
  operation.waits.end = static_cast<uint32_t>(phase_.wait_pool.size());

  known[lane] = static_cast<int32_t>(in_lane.size());
  in_lane.push_back(number);
  written_.push_back({operation.lane, known[lane], known});
  Track(accesses, number);

  operation.accesses.begin = static_cast<uint32_t>(phase_.access_pool.size());
  phase_.access_pool.insert(phase_.access_pool.end(), accesses.begin(), accesses.end());
  operation.accesses.end = static_cast<uint32_t>(phase_.access_pool.size());
  phase_.operations.push_back(operation);
  return number;
}

PhaseWriter::Clock PhaseWriter::Needed(std::span<const Access> accesses,
                                       std::span<const int64_t> after) const {
  Clock needed;
  needed.fill(-1);
  const auto need = [&](int64_t number) {
    if (number < 0) return;
    int32_t& place = needed[static_cast<size_t>(written_[number].lane)];
    place = std::max(place, written_[number].place);
  };
  for (const Access& access : accesses) {
    const Tracks& tracks = tracks_[access.buffer];
    need(tracks.writer);
    if (access.mode == AccessMode::kRead) continue;
    for (size_t lane = 0; lane < kLaneCount; ++lane) {
      needed[lane] = std::max(needed[lane], tracks.readers[lane]);
    }
  }
  for (const int64_t number : after) need(number);
  return needed;
}

void PhaseWriter::AddWaits(Lane own, Clock needed, Clock& known) {
  needed[static_cast<size_t>(own)] = -1;
  const auto implied = [&](size_t lane) {
    if (needed[lane] <= known[lane]) return true;
    for (size_t other = 0; other < kLaneCount; ++other) {
      if (other == lane || needed[other] < 0) continue;
      const int64_t number = lane_numbers_[other][needed[other]];
      if (written_[number].clock[lane] >= needed[lane]) return true;
    }
    return false;
  };
  for (size_t lane = 0; lane < kLaneCount; ++lane) {
    if (implied(lane)) needed[lane] = -1;
  }
  for (size_t lane = 0; lane < kLaneCount; ++lane) {
    if (needed[lane] < 0) continue;
    const int64_t number = lane_numbers_[lane][needed[lane]];
    phase_.wait_pool.push_back(WaitFor(number));
    for (size_t i = 0; i < kLaneCount; ++i) {
      known[i] = std::max(known[i], written_[number].clock[i]);
    }
  }
}

void PhaseWriter::Track(std::span<const Access> accesses, int64_t number) {
  const Written& written = written_[number];
  for (const Access& access : accesses) {
    Tracks& tracks = tracks_[access.buffer];
    if (access.mode == AccessMode::kWrite) {
      tracks.writer = number;
      tracks.readers.fill(-1);
    } else if (tracks.writer != number) {
      tracks.readers[static_cast<size_t>(written.lane)] = written.place;
    }
  }
}

Wait PhaseWriter::WaitFor(int64_t number) const {
  if (number >= phase_begin_) {
    return {.operation = static_cast<OperationId>(number - phase_begin_), .previous_step = false};
  }
  // A wait can name the body of the step before and nothing else.
  CHECK(number >= previous_body_);
  return {.operation = static_cast<OperationId>(number - previous_body_), .previous_step = true};
}

}  // namespace horizon
