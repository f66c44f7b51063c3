#include "runtime/checkpoint/checkpoint_saver.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/start_thread.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/state_place.h"

namespace horizon {
namespace {

// Bytes that are copied out of the state at a time.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

double SecondsOf(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::vector<SavedTensor> SavedTensorsOf(const Schedule& schedule) {
  std::vector<SavedTensor> tensors;
  for (const Stage& stage : schedule.chunks.stages) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (!tensor.trained) continue;
      tensors.push_back({tensor.name, tensor.shape, PartsOf(stage, tensor)});
    }
  }
  return tensors;
}

CheckpointSaver::CheckpointSaver(const Schedule& schedule, const ParameterStore& store,
                                 const Options& options)
    : store_(store),
      options_(options),
      chunk_count_(static_cast<int32_t>(schedule.chunks.chunks.size())) {
  for (const Chunk& chunk : schedule.chunks.chunks) {
    first_states_.push_back(chunk.frozen() ? ChunkState::kWritten : ChunkState::kNotYet);
  }
  frozen_ = static_cast<size_t>(
      std::count(first_states_.begin(), first_states_.end(), ChunkState::kWritten));
  std::unordered_map<std::string, size_t> position;
  for (size_t i = 0; i < options.layout.tensors.size(); ++i) {
    position.emplace(options.layout.tensors[i].name, i);
  }
  for (const ParameterStore::Place& place : store.places()) {
    const auto known = position.find(place.slice.tensor->name);
    CHECK(known != position.end() || !place.slice.trained());
    tensor_of_.push_back(known == position.end() ? 0 : known->second);
  }
}

absl::StatusOr<std::unique_ptr<CheckpointSaver>> CheckpointSaver::Create(
    const Schedule& schedule, const ParameterStore& store, const Options& options) {
  std::unique_ptr<CheckpointSaver> saver(new CheckpointSaver(schedule, store, options));
  ASSIGN_OR_RETURN(saver->thread_,
                   StartThread("saver", [saver = saver.get()] { saver->RunSaves(); }));
  return saver;
}

CheckpointSaver::~CheckpointSaver() {
  if (!thread_.joinable()) return;  // it could not be started
  Finish();
  const std::scoped_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

CheckpointSaver::Save& CheckpointSaver::Add(int64_t step) {
  auto save = std::make_shared<Save>();
  save->step = step;
  save->chunks = first_states_;
  save->written = frozen_;
  saves_.push_back(std::move(save));
  changed_.notify_all();
  return *saves_.back();
}

// Runs one save after the other. Only one writes at a time, since a writer begins by removing the
// unfinished folders of others.
void CheckpointSaver::RunSaves() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Save> next;
    changed_.wait(lock, [&] {
      const auto open =
          std::find_if(saves_.begin(), saves_.end(), [](const auto& save) { return !save->ended; });
      next = open == saves_.end() ? nullptr : *open;
      return next != nullptr || closing_;
    });
    if (next == nullptr) return;
    lock.unlock();
    Run(*next);
    lock.lock();
  }
}

void CheckpointSaver::Begin(int64_t step) {
  std::unique_lock lock(mutex_);
  Await(lock, 1);
  Add(step);
}

void CheckpointSaver::Provide(int64_t step, CheckpointFacts facts) {
  const std::scoped_lock lock(mutex_);
  for (const std::shared_ptr<Save>& save : saves_) {
    if (save->step != step) continue;
    save->facts = std::move(facts);
    break;
  }
  changed_.notify_all();
}

SaveReport CheckpointSaver::SaveNow(int64_t step, CheckpointFacts facts) {
  std::unique_lock lock(mutex_);
  Await(lock, 0);
  Save& save = Add(step);
  for (int32_t c = 0; c < chunk_count_; ++c) {
    if (first_states_[static_cast<size_t>(c)] == ChunkState::kWritten) continue;
    save.chunks[static_cast<size_t>(c)] = ChunkState::kReady;
    save.ready.push_back(c);
  }
  save.facts = std::move(facts);
  changed_.notify_all();
  Await(lock, 0);
  SaveReport report = std::move(reports_.back());
  reports_.pop_back();
  return report;
}

void CheckpointSaver::BeforeUpdate(int64_t step, int32_t chunk) {
  std::unique_lock lock(mutex_);
  // While this waits, the training thread may remove a save that has ended.
  const std::deque<std::shared_ptr<Save>> saves = saves_;
  for (const std::shared_ptr<Save>& shared : saves) {
    Save& save = *shared;
    const auto place = static_cast<size_t>(chunk);
    if (save.step >= step || save.ended || save.chunks[place] != ChunkState::kReady) continue;
    const auto waiting = std::find(save.ready.begin(), save.ready.end(), chunk);
    if (waiting != save.ready.end()) {
      save.ready.erase(waiting);
      save.ready.push_front(chunk);
    }
    const Nanoseconds begin = options_.clock.Now();
    changed_.wait(lock, [&] {
      return save.ended || save.dropped || save.chunks[place] == ChunkState::kWritten;
    });
    save.report.waited += SecondsOf(options_.clock.Now() - begin);
  }
}

void CheckpointSaver::AfterUpdate(int64_t step, int32_t chunk) {
  const std::scoped_lock lock(mutex_);
  for (const std::shared_ptr<Save>& save : saves_) {
    if (save->step != step) continue;
    save->chunks[static_cast<size_t>(chunk)] = ChunkState::kReady;
    save->ready.push_back(chunk);
  }
  changed_.notify_all();
}

std::vector<SaveReport> CheckpointSaver::TakeReports() {
  const std::scoped_lock lock(mutex_);
  while (!saves_.empty() && saves_.front()->ended) {
    reports_.push_back(std::move(saves_.front()->report));
    saves_.pop_front();
  }
  return std::exchange(reports_, {});
}

std::vector<SaveReport> CheckpointSaver::Finish() {
  std::unique_lock lock(mutex_);
  for (const std::shared_ptr<Save>& save : saves_) {
    const bool whole =
        std::count(save->chunks.begin(), save->chunks.end(), ChunkState::kNotYet) == 0;
    save->dropped = !whole || !save->facts.has_value();
  }
  changed_.notify_all();
  Await(lock, 0);
  return std::exchange(reports_, {});
}

// Waits until at most so many saves are in progress, oldest first.
void CheckpointSaver::Await(std::unique_lock<std::mutex>& lock, size_t most_under_way) {
  while (saves_.size() > most_under_way) {
    Save& oldest = *saves_.front();
    changed_.wait(lock, [&] { return oldest.ended; });
    reports_.push_back(std::move(oldest.report));
    saves_.pop_front();
  }
}

void CheckpointSaver::Run(Save& save) {
  const Nanoseconds begin = options_.clock.Now();
  const absl::Status status = Write(save);
  const std::scoped_lock lock(mutex_);
  save.report.step = save.step;
  save.report.status = status;
  save.report.seconds = SecondsOf(options_.clock.Now() - begin);
  save.ended = true;
  changed_.notify_all();
}

absl::Status CheckpointSaver::Write(Save& save) {
  if (options_.replace) {
    absl::Status removed = RemoveCheckpoint(options_.io, options_.lock, save.step);
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<CheckpointWriter> writer,
      CheckpointWriter::Create(options_.io, options_.lock, options_.layout,
                               {.step = save.step, .extra_files = options_.extra_files}));
  std::unique_lock lock(mutex_);
  while (save.written < save.chunks.size() || !save.facts.has_value()) {
    changed_.wait(lock, [&] {
      return save.dropped || !save.ready.empty() ||
             (save.written == save.chunks.size() && save.facts.has_value());
    });
    if (save.dropped) {
      return absl::CancelledError(StrCat("the save of step ", save.step,
                                         " was dropped: the run ended before its state was whole"));
    }
    if (save.ready.empty()) continue;
    const int32_t chunk = save.ready.front();
    save.ready.pop_front();
    lock.unlock();
    RETURN_IF_ERROR(WriteChunk(*writer, save.step, chunk));
    lock.lock();
    save.chunks[static_cast<size_t>(chunk)] = ChunkState::kWritten;
    ++save.written;
    changed_.notify_all();
  }
  const CheckpointFacts facts = *save.facts;
  lock.unlock();
  RETURN_IF_ERROR(writer->Commit(facts));
  save.report.path = writer->path();
  save.report.bytes = writer->bytes_written();
  return PruneCheckpoints(options_.io, options_.lock, options_.keep).status();
}

absl::Status CheckpointSaver::WriteChunk(CheckpointWriter& writer, int64_t step, int32_t chunk) {
  std::vector<std::byte> piece(kPieceBytes);
  const std::span<const ParameterStore::Place> places = store_.places();
  for (size_t p = 0; p < places.size(); ++p) {
    const ParameterStore::Place& place = places[p];
    if (place.chunk != chunk || !place.slice.trained()) continue;
    const size_t first = tensor_of_[p] * options_.layout.entries_per_tensor();
    for (size_t e = first; e < first + options_.layout.entries_per_tensor(); ++e) {
      const StatePart part = options_.layout.entries[e].part;
      const uint64_t bytes = store_.StateBytes(place, part).value();
      const uint64_t offset = OffsetInTensor(place.slice, part, options_.layout.format);
      for (uint64_t done = 0; done < bytes; done += kPieceBytes) {
        const std::span<std::byte> now =
            std::span(piece).first(std::min(kPieceBytes, bytes - done));
        RETURN_IF_ERROR(store_.ReadState(place, part, done, now));
        RETURN_IF_ERROR(writer.Write(e, offset + done, now, step));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon
