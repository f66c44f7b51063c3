#include "report/live/run_feed.h"

#include <charconv>
#include <utility>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "report/live/json_change.h"
#include "report/view_json.h"
#include "simulator/prediction.h"

namespace horizon {
namespace {

// What is kept for clients that come back; those that were gone longer get the whole document.
constexpr size_t kMostChanges = 256;
constexpr size_t kMostChangesBytes = 4 << 20;

// The events' lines must not be cut by what is in them.
std::string Event(std::string_view name, const std::string& id_line, std::string_view data) {
  return StrCat("event: ", name, "\n", id_line, "data: ", data, "\n\n");
}

}  // namespace

RunFeed::RunFeed(Io& io, std::string folder, int64_t epoch)
    : io_(io), folder_(std::move(folder)), epoch_(epoch) {
  fingerprint_ = Fingerprint();
  status_ = ReadFolder();
  document_ = std::make_shared<const std::string>(DocumentText());
}

std::string RunFeed::Fingerprint() {
  std::string sizes;
  for (const char* name :
       {"job.json", "plan.json", "machine.json", "prediction.json", "metrics.jsonl", "eval.jsonl",
        "routing.jsonl", "timelines.json", "run.json"}) {
    const absl::StatusOr<FileInfo> info = io_.Info(JoinPath(folder_, name));
    sizes += info.ok() ? StrCat(info->size.value(), " ") : std::string("- ");
  }
  const absl::StatusOr<bool> locked = io_.IsLocked(JoinPath(folder_, "lock"));
  return sizes + (locked.ok() && *locked ? "locked" : "free");
}

absl::Status RunFeed::ReadFolder() {
  if (view_.has_value()) {
    const absl::Status status = RefreshRun(io_, *view_);
    // Another run may have taken the place of the one that was followed.
    if (!absl::IsDataLoss(status)) {
      RETURN_IF_ERROR(status);
      FillReasons();
      view_json_ = ViewJson(*view_);
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(view_, ReadRun(io_, folder_));
  FillReasons();
  view_json_ = ViewJson(*view_);
  return absl::OkStatus();
}

// They take dozens of simulations, which a training that runs should not have to share its cores
// with.
void RunFeed::FillReasons() {
  if (view_->state == RunState::kRunning || !view_->reasons.empty()) return;
  const Setting setting{.profile = view_->machine, .software = view_->prediction.software};
  view_->reasons = ReasonsOf(view_->spec, view_->job, view_->plan, setting);
}

std::shared_ptr<const std::string> RunFeed::Poll() {
  std::string fingerprint = Fingerprint();
  // What could not be read may have been mended without a change of size.
  if (fingerprint == fingerprint_ && status_.ok()) return nullptr;
  fingerprint_ = std::move(fingerprint);
  status_ = ReadFolder();
  auto document = std::make_shared<const std::string>(DocumentText());
  if (*document == *document_) return nullptr;
  const std::string change = JsonChange(*document_, *document);
  document_ = std::move(document);
  ++revision_;
  const bool whole = change.size() >= document_->size();
  auto event = std::make_shared<const std::string>(
      whole ? WholeEvent() : Event("change", IdLine(revision_), change));
  Keep({.revision = revision_, .event = event});
  return event;
}

void RunFeed::Keep(Change change) {
  changes_bytes_ += change.event->size();
  changes_.push_back(std::move(change));
  while (changes_.size() > kMostChanges || changes_bytes_ > kMostChangesBytes) {
    changes_bytes_ -= changes_.front().event->size();
    changes_.pop_front();
  }
}

std::string RunFeed::DocumentText() const {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.BeginObject().Key("problem");
  if (status_.ok()) {
    writer.Null();
  } else {
    writer.String(std::string(status_.message()));
  }
  writer.EndObject();
  std::string text = std::move(writer).Finish();
  if (view_json_.empty()) return text;
  text.pop_back();
  return StrCat(text, ", ", std::string_view(view_json_).substr(1));
}

std::string RunFeed::IdLine(int64_t revision) const {
  return StrCat("id: ", epoch_, "-", revision, "\n");
}

std::string RunFeed::WholeEvent() const { return Event("view", IdLine(revision_), *document_); }

std::string RunFeed::Opening(std::string_view last_event_id) const {
  std::string text = "retry: 2000\n\n";
  const std::string prefix = StrCat(epoch_, "-");
  int64_t has = -1;
  if (last_event_id.starts_with(prefix)) {
    last_event_id.remove_prefix(prefix.size());
    const char* end = last_event_id.data() + last_event_id.size();
    int64_t number = -1;
    const auto [stop, error] = std::from_chars(last_event_id.data(), end, number);
    if (error == std::errc() && stop == end) has = number;
  }
  const int64_t oldest = revision_ - static_cast<int64_t>(changes_.size());
  if (has < oldest || has > revision_) return text + WholeEvent();
  for (const Change& change : changes_) {
    if (change.revision > has) text += *change.event;
  }
  return text;
}

}  // namespace horizon
