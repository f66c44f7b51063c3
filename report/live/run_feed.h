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

// Follows a run folder for a live page: it has the contents as one JSON document, and the changes
// as server-sent events. It does not use sockets. The document is that of ViewJson with one more
// key, "problem": null, or why the folder could not be read the last time. With a problem the rest
// of the document is as it was before, or missing if nothing could ever be read.
//
// There are two kinds of events: "view" with the whole document, and "change" with the changes to
// the document before (JsonChange). The id of an event names the document that it leads to, so that
// a client that reconnects gets only what it missed. Used by one thread; `io` outlives it.
class RunFeed {
 public:
  // `epoch` distinguishes this feed's event ids from those of an earlier feed; it is the time of
  // the start.
  RunFeed(Io& io, std::string folder, int64_t epoch);

  // Reads the folder if it has changed; otherwise this costs a few stat calls. Returns the event
  // for all followers, or null if there is nothing new to show.
  std::shared_ptr<const std::string> Poll();

  const std::string& folder() const { return folder_; }
  std::shared_ptr<const std::string> document() const { return document_; }
  // The beginning of a stream of events: how soon to reconnect when it breaks, and what the client
  // does not have yet. `last_event_id` is the last event that the client says it has; an id that
  // this feed has not given counts as none.
  std::string Opening(std::string_view last_event_id) const;

  // The result of the last attempt to read the folder; errors of ReadRun.
  const absl::Status& status() const { return status_; }
  // The view that was read last; empty if none could be read yet.
  const std::optional<RunView>& view() const { return view_; }

 private:
  struct Change {
    int64_t revision;  // of the document that it leads to
    std::shared_ptr<const std::string> event;
  };

  // The sizes of the files that grow or appear during a run, and whether the run holds its lock.
  std::string Fingerprint();
  absl::Status ReadFolder();
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
  std::string view_json_;  // of view_; empty if there is none
  std::shared_ptr<const std::string> document_;
  std::deque<Change> changes_;  // the latest changes, without gaps
  size_t changes_bytes_ = 0;
};

}  // namespace horizon
