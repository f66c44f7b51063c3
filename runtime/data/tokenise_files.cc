#include "runtime/data/tokenise_files.h"

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/thread_pool.h"
#include "runtime/data/records/record_stream.h"
#include "runtime/data/records/sequential_reader.h"

namespace horizon {
namespace {

constexpr std::array<EnumWord<OnBadLine>, 2> kOnBadLine = {
    {{OnBadLine::kStop, "stop"}, {OnBadLine::kSkip, "skip"}}};

// A task is long enough that the cost of handing it to a thread does not matter.
constexpr size_t kTaskBytes = size_t{256} << 10;
constexpr size_t kTaskRecords = 512;
// Text that is read ahead of the slowest task.
constexpr size_t kAheadBytes = size_t{8} << 20;

// Some records of a file, in order, and their results.
struct Task {
  struct Entry {
    DataRecord record;
    absl::Status status;  // why the record is bad
    TokenLine line;
  };
  DataLayout layout = DataLayout::kLines;
  DataKind kind = DataKind::kText;
  std::vector<Entry> entries;
  size_t bytes = 0;
  std::future<absl::Status> done;
};

absl::Status TokeniseEntry(const Task& task, const TokeniseOptions& options, Sample& sample,
                           TokenLine& line, const DataRecord& record) {
  if (task.layout == DataLayout::kText) return TokenisePiece(record, options, line);
  const TokenLimits limits = {.sequence = options.sequence, .vocab = options.vocab};
  RETURN_IF_ERROR(ParseSample(record.text, task.kind, limits, sample));
  return TokeniseSample(sample, options, line);
}

void RunTask(Task& task, const TokeniseOptions& options) {
  Sample sample;
  for (Task::Entry& entry : task.entries) {
    if (!entry.status.ok()) continue;
    entry.status = TokeniseEntry(task, options, sample, entry.line, entry.record);
    std::string().swap(entry.record.text);
  }
}

absl::StatusOr<Bytes> TotalBytes(Io& io, const std::vector<std::string>& paths) {
  Bytes total;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileInfo info, io.Info(path));
    total += info.size;
  }
  return total;
}

// Reads tasks from the files, hands them to the thread pool, and collects the oldest results in
// order.
class Pipeline {
 public:
  Pipeline(const DataFiles& files, const SampleSink& sink, const DataProgress& progress,
           Bytes total)
      : files_(files), progress_(progress), total_(total), cutter_(files.tokenise.sequence, sink) {}

  absl::Status Start(int threads) {
    most_tasks_ = 2 * static_cast<size_t>(threads) + 1;
    ASSIGN_OR_RETURN(pool_, ThreadPool::Create(
                                {.name = "tokenise", .threads = threads, .waiting = most_tasks_}));
    return absl::OkStatus();
  }

  absl::Status ReadFile(Io& io, const std::string& path) {
    ASSIGN_OR_RETURN(RecordStream stream, RecordStream::Open(io, path));
    kind_ = stream.layout() == DataLayout::kText ? DataKind::kText : files_.kind;
    if (kind_.has_value()) RETURN_IF_ERROR(CheckKind(*kind_, files_.tokenise));
    if (stream.layout() == DataLayout::kText && files_.kind.value_or(*kind_) != *kind_) {
      return absl::InvalidArgumentError(StrCat("cannot read '", path, "': it is plain text, not ",
                                               ToString(*files_.kind), " data"));
    }
    bool more = true;
    while (more) {
      auto task = std::make_unique<Task>();
      ASSIGN_OR_RETURN(more, FillTask(stream, *task));
      Submit(std::move(task));
      while (tasks_.size() >= most_tasks_ || ahead_bytes_ > kAheadBytes) {
        RETURN_IF_ERROR(TakeBack(stream));
      }
      if (progress_) RETURN_IF_ERROR(progress_(Bytes(done_before_ + stream.taken()), total_));
    }
    while (!tasks_.empty()) RETURN_IF_ERROR(TakeBack(stream));
    if (stream.layout() == DataLayout::kText) RETURN_IF_ERROR(EndTextFile());
    done_before_ += stream.taken();
    result_.kinds.push_back(kind_.value_or(DataKind::kText));
    result_.hashes.push_back(stream.hash());
    return absl::OkStatus();
  }

  TokenisedFiles Finish() && {
    result_.statistics = cutter_.statistics();
    return std::move(result_);
  }

 private:
  // False when the file has ended.
  absl::StatusOr<bool> FillTask(RecordStream& stream, Task& task) {
    task.layout = stream.layout();
    while (task.bytes < kTaskBytes && task.entries.size() < kTaskRecords) {
      Task::Entry entry;
      ASSIGN_OR_RETURN(const bool more, stream.Next(entry.record));
      if (!more) return false;
      if (!entry.record.problem.empty()) {
        entry.status = absl::InvalidArgumentError(entry.record.problem);
      } else if (!kind_.has_value()) {
        absl::StatusOr<DataKind> kind = DetectKind(entry.record.text);
        if (kind.ok()) {
          RETURN_IF_ERROR(CheckKind(*kind, files_.tokenise));
          kind_ = *kind;
        }
        entry.status = kind.status();
      }
      // Entries before the kind was known are bad, so the task's kind is that of all others.
      task.kind = kind_.value_or(DataKind::kText);
      task.bytes += entry.record.text.size();
      task.entries.push_back(std::move(entry));
    }
    return true;
  }

  void Submit(std::unique_ptr<Task> task) {
    ahead_bytes_ += task->bytes;
    Task& running = *task;
    tasks_.push_back(std::move(task));
    running.done = pool_->Submit([this, &running](const std::stop_token&) {
      RunTask(running, files_.tokenise);
      return absl::OkStatus();
    });
  }

  absl::Status TakeBack(const RecordStream& stream) {
    RETURN_IF_ERROR(tasks_.front()->done.get());
    const std::unique_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    ahead_bytes_ -= task->bytes;
    for (const Task::Entry& entry : task->entries) {
      if (!entry.status.ok()) {
        RETURN_IF_ERROR(NoteBadLine(stream.Where(entry.record), entry.status));
      } else if (task->layout == DataLayout::kText) {
        RETURN_IF_ERROR(cutter_.AddToDocument(entry.line.ids));
      } else if (task->kind == DataKind::kText) {
        RETURN_IF_ERROR(cutter_.AddToDocument(entry.line.ids));
        RETURN_IF_ERROR(cutter_.EndDocument());
      } else {
        RETURN_IF_ERROR(cutter_.AddSample(entry.line));
      }
    }
    return absl::OkStatus();
  }

  absl::Status NoteBadLine(std::string where, const absl::Status& reason) {
    if (files_.on_bad_line == OnBadLine::kStop) {
      return absl::InvalidArgumentError(StrCat(where, ": ", reason.message()));
    }
    cutter_.CountBadLine();
    if (result_.bad_lines.size() < TokenisedFiles::kMostBadLines) {
      result_.bad_lines.push_back(
          {std::move(where), std::string(reason.message().data(), reason.message().size())});
    }
    return absl::OkStatus();
  }

  absl::Status EndTextFile() {
    TokenLine end;
    EndText(files_.tokenise, end);
    RETURN_IF_ERROR(cutter_.AddToDocument(end.ids));
    return cutter_.EndDocument();
  }

  const DataFiles& files_;
  const DataProgress& progress_;
  const Bytes total_;
  SampleCutter cutter_;
  TokenisedFiles result_;
  std::optional<DataKind> kind_;  // of the file being read
  uint64_t done_before_ = 0;      // bytes of the files before
  size_t most_tasks_ = 0;
  size_t ahead_bytes_ = 0;
  std::deque<std::unique_ptr<Task>> tasks_;  // handed over, oldest first
  std::unique_ptr<ThreadPool> pool_;         // last: its threads use the tasks
};

}  // namespace

std::span<const EnumWord<OnBadLine>> WordsOf(OnBadLine) { return kOnBadLine; }

absl::StatusOr<TokenisedFiles> TokeniseFiles(Io& io, const DataFiles& files, int threads,
                                             const SampleSink& sink, const DataProgress& progress) {
  ASSIGN_OR_RETURN(const Bytes total, TotalBytes(io, files.paths));
  Pipeline pipeline(files, sink, progress, total);
  RETURN_IF_ERROR(pipeline.Start(threads));
  for (const std::string& path : files.paths) RETURN_IF_ERROR(pipeline.ReadFile(io, path));
  return std::move(pipeline).Finish();
}

absl::StatusOr<std::vector<Hash128>> HashFiles(Io& io, const std::vector<std::string>& paths,
                                               const DataProgress& progress) {
  ASSIGN_OR_RETURN(const Bytes total, TotalBytes(io, paths));
  std::vector<Hash128> hashes;
  uint64_t done = 0;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(SequentialReader reader, SequentialReader::Open(io, path));
    while (true) {
      ASSIGN_OR_RETURN(const std::string_view part, reader.Peek(1));
      if (part.empty()) break;
      reader.Skip(part.size());
      if (progress) RETURN_IF_ERROR(progress(Bytes(done + reader.taken()), total));
    }
    done += reader.taken();
    hashes.push_back(reader.hash());
  }
  return hashes;
}

}  // namespace horizon
