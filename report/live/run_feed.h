#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/io.h"
#include "report/run_view.h"

namespace horizon {

// Follows a run folder for those who show it: what it holds as one JSON document, and what has
// changed in it as server-sent events. Knows nothing of sockets. The document is ViewJson's with
// one more key, "problem": null, or why the folder could not be read the last time it was looked
// at; the rest is then as it was, or missing where there never was anything to read.
//
// Events: "view" with the whole document, "change" with what to do to the one before (JsonChange).
// Their ids say which document they lead to, so that a client that was gone for a while gets only
// what it missed. Used by one thread; `io` outlives it.
class RunFeed {
 public:
  // `epoch` sets this feed's ids apart from those of an earlier one: the time it was started.
  RunFeed(Io& io, std::string folder, int64_t epoch);

  // Looks at the folder; costs a few stats where nothing changed. The event for all followers, or
  // null where there is nothing new to show.
  std::shared_ptr<const std::string> Poll();

  const std::string& folder() const { return folder_; }
  std::shared_ptr<const std::string> document() const { return document_; }
  // What a stream of events begins with: how soon to come back when it breaks, and what the client
  // does not have yet. `last_event_id` is what it says it has; anything else than an id given
  // before is nothing.
  std::string Opening(std::string_view last_event_id) const;

  // Of the last look, as ReadRun has it.
  const absl::Status& status() const { return status_; }
  // What was read last, if anything could ever be.
  const std::optional<RunView>& view() const { return view_; }

 private:
  struct Change {
    int64_t revision;  // that it leads to
    std::shared_ptr<const std::string> event;
  };

  // The sizes of what grows or appears while a run goes on, and whether it is being written.
  std::string Fingerprint();
  absl::Status Look();
  void FillReasons();
  std::string DocumentText() const;
  std::string IdLine(int64_t revision) const;
  std::string WholeEvent() const;
  void Keep(Change change);

  Io& io_;
  const std::string folder_;
  const int64_t epoch_;
  int64_t revision_ = 0;
  std::string fingerprint_;
  absl::Status status_;
  std::optional<RunView> view_;
  std::string view_json_;  // of view_; empty: none
  std::shared_ptr<const std::string> document_;
  std::deque<Change> changes_;  // the latest, without gaps
  size_t changes_bytes_ = 0;
};

}  // namespace horizon
