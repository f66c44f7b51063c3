#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/documents/document.h"

namespace horizon {

// A headless Chromium of a test, driven through the DevTools protocol over two pipes: real input
// events, no port, no network. One thread.
class Browser {
 public:
  // Starts it with one empty tab of this size. NotFound, with the package's name, where there is no
  // Chromium; its profile lies below the test's temporary folder.
  static absl::StatusOr<Browser> Start(int width, int height);
  Browser(Browser&& other) noexcept;
  Browser& operator=(Browser&&) = delete;
  ~Browser();  // ends it

  // Opens a URL and waits until it has loaded.
  absl::Status Open(const std::string& url);
  // The value of a JavaScript expression, as JSON. Internal with the text where it throws.
  absl::StatusOr<std::string> Evaluate(const std::string& expression);
  // Any command of the tab; `parameters` is a JSON object. The answer's "result".
  absl::StatusOr<Document> Command(const std::string& method, const std::string& parameters);
  // Waits until an expression is true; DeadlineExceeded after a minute of the browser's time.
  absl::Status Await(const std::string& expression);

  // Messages of the console of level error, and exceptions nobody caught, so far.
  const std::string& errors() const { return errors_; }
  // Every URL that was asked for, one a line.
  const std::string& requests() const { return requests_; }

 private:
  Browser(pid_t process, int to, int from) : process_(process), to_(to), from_(from) {}
  absl::StatusOr<Document> Send(const std::string& method, const std::string& parameters,
                                const std::string& session);
  absl::StatusOr<std::string> ReadMessage();
  void Note(const Document& event);

  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  int64_t last_id_ = 0;
  bool loaded_ = false;
  std::string session_;
  std::string buffer_;
  std::string errors_;
  std::string requests_;
};

}  // namespace horizon
