#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "report/live/http_server.h"

namespace horizon {

// An HTTP client for tests that run server and client in one thread. It never blocks; a test that
// waits for an answer runs the server meanwhile (ServeUntil).
class LiveClient {
 public:
  explicit LiveClient(uint16_t port);
  ~LiveClient();
  LiveClient(LiveClient&& other) noexcept;
  LiveClient(const LiveClient&) = delete;
  LiveClient& operator=(const LiveClient&) = delete;

  // Sends all of the text; the test fails if the socket does not take it at once.
  void Send(const std::string& text);
  // Appends what has arrived to text(). Returns false once the server has closed the connection.
  bool Receive();
  const std::string& text() const { return text_; }

 private:
  int socket_ = -1;
  std::string text_;
};

// The text of a request such as "GET /data HTTP/1.1" to localhost. `more` has further header lines,
// each ended by \r\n.
std::string Get(const std::string& target, uint16_t port, const std::string& more = "");

// Runs the server until `done` returns true; the test fails after a minute.
void ServeUntil(HttpServer& server, const std::function<bool()>& done);

// Sends the request and runs the server until it has closed the connection. Returns all that it
// sent.
std::string AnswerTo(HttpServer& server, const std::string& request);

}  // namespace horizon
