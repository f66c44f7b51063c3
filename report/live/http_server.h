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

// A small HTTP/1.1 server for one page. http_server.cc is the only file that uses sockets
// (Boost.Asio and Boost.Beast). A connection serves one request and is then closed, unless the
// answer is a stream of events. Request bodies are never read.

// An address to listen on.
struct BindAddress {
  std::string text;       // "127.0.0.1", "::1"
  std::string in_url;     // "127.0.0.1", "[::1]"
  bool loopback = false;  // can be reached from this machine only
};
// Parses a numeric IP address or "localhost"; anything else is InvalidArgument.
absl::StatusOr<BindAddress> ParseBindAddress(const std::string& text);

// Limits on what clients can make the server hold and wait for.
struct HttpServerLimits {
  // A new client beyond this number replaces one that is not being answered (it follows events, or
  // has asked nothing yet): one that has not taken all it was sent, else the one that came first.
  // If all clients are being answered, the new one gets 503; beyond twice this number it is closed
  // without an answer.
  size_t connections = 32;
  size_t header_bytes = 8 * 1024;                  // a longer head is answered with 431
  size_t waiting_events = 32;                      // a client with more unread events is dropped
  std::chrono::milliseconds request_time{10'000};  // for the whole head to arrive
  std::chrono::milliseconds write_time{10'000};    // for the client to take any of what is sent
  std::chrono::milliseconds linger_time{2'000};    // for a client to close after its answer
  std::chrono::milliseconds heartbeat{15'000};     // between comments sent to detect dead clients
};

// Used by one thread.
class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;

  virtual ~HttpServer() = default;
  // Serves requests for this long, then returns. It calls the handler on the calling thread.
  virtual absl::Status RunFor(std::chrono::milliseconds duration) = 0;
  // Sends a piece to every stream of events. Never waits.
  virtual void Publish(std::shared_ptr<const std::string> piece) = 0;
  virtual uint16_t port() const = 0;
  // The number of connected clients, and of those that follow events.
  virtual size_t connections() const = 0;
  virtual size_t streams() const = 0;
};

// Starts to listen at once; port 0 is any free port. An I/O error (IoErrno) if the port is taken or
// needs more rights, or if the address does not belong to this machine; the message says which and
// what to try.
absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const BindAddress& address, uint16_t port,
                                                   HttpServer::Handler handler,
                                                   const HttpServerLimits& limits = {});

}  // namespace horizon
