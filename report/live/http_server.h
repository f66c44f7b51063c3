#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "report/live/http_message.h"

namespace horizon {

// A small HTTP/1.1 server for one page. http_server.cc is the only file that touches sockets
// (Boost.Asio and Boost.Beast). A connection serves one request and is closed, unless the answer is
// a stream of events. Request bodies are never read.

struct BindAddress {
  std::string text;       // "127.0.0.1", "::1"
  std::string in_url;     // "127.0.0.1", "[::1]"
  bool loopback = false;  // reached from this machine only
};
// An address of the network in numbers, or "localhost"; else InvalidArgument.
absl::StatusOr<BindAddress> ParseBindAddress(const std::string& text);

// What strangers can make the server hold and wait for.
struct HttpServerLimits {
  // A newcomer beyond these takes the place of a client that only listens: one that has not taken
  // all it was sent, else the one that came first. Where all are being answered it is told 503, and
  // beyond twice as many closed unanswered.
  size_t connections = 32;
  size_t header_bytes = 8 * 1024;  // more is 431
  size_t waiting_events = 32;      // a client with more of them unread is left behind
  std::chrono::milliseconds request_time{10'000};  // for the whole head to arrive
  std::chrono::milliseconds write_time{10'000};    // for any of what is sent to be taken
  std::chrono::milliseconds linger_time{2'000};    // for a client to close after its answer
  std::chrono::milliseconds heartbeat{15'000};     // comments between events find dead clients
};

// Used by one thread.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  virtual ~HttpServer() = default;
  // Serves what arrives for this long and returns; `handler` is called in it.
  virtual absl::Status RunFor(std::chrono::milliseconds duration) = 0;
  // Sends a piece to every stream of events; never waits.
  virtual void Publish(std::shared_ptr<const std::string> piece) = 0;
  virtual uint16_t port() const = 0;
  // Clients connected, and those of them that follow the events.
  virtual size_t connections() const = 0;
  virtual size_t streams() const = 0;
};

// Listens at once; port 0 is any free one. An I/O error (IoErrno) when the port is taken, needs
// more rights, or the address is not of this machine; the message says which and what to try.
absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const BindAddress& address, uint16_t port,
                                                   HttpServer::Handler handler,
                                                   const HttpServerLimits& limits = {});

}  // namespace horizon
