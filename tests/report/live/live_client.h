#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "report/live/http_server.h"

namespace horizon {

// A client on this machine for tests that serve and ask in one thread: it never blocks; whoever
// waits for it lets the server run meanwhile.
class LiveClient {
 public:
  explicit LiveClient(uint16_t port);
  ~LiveClient();
  LiveClient(LiveClient&& other) noexcept;
  LiveClient(const LiveClient&) = delete;
  LiveClient& operator=(const LiveClient&) = delete;

  // Sends all of it; what the socket does not take fails the test.
  void Send(const std::string& text);
  // Takes what has arrived into text(); true while the other side has not closed.
  bool Receive();
  const std::string& text() const { return text_; }

 private:
  int socket_ = -1;
  std::string text_;
};

// "GET /data HTTP/1.1" to localhost with these further lines, each ended by \r\n.
std::string Get(const std::string& target, uint16_t port, const std::string& more = "");

// Lets the server run until `done` says so, or fails the test after a minute.
void ServeUntil(HttpServer& server, const std::function<bool()>& done);

// Serves until the server has closed the connection; all that it sent.
std::string AnswerTo(HttpServer& server, const std::string& request);

}  // namespace horizon
