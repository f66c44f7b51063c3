#include "report/live/http_server.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <cerrno>
#include <deque>
#include <exception>
#include <list>
#include <string_view>
#include <utility>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "report/live/judge_request.h"

namespace horizon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// What connections and the server share. Lives longer than all connections.
struct ServerState {
  const HttpServerLimits limits;
  const HttpServer::Handler handler;
  size_t connections = 0;
  size_t streams = 0;
};

std::string HeadOf(const HttpAnswer& answer) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(answer.status));
  std::string head = StrCat("HTTP/1.1 ", answer.status, " ",
                            std::string_view(reason.data(), reason.size()), "\r\n");
  for (const auto& [name, value] : answer.fields) head += StrCat(name, ": ", value, "\r\n");
  if (answer.kind == AnswerKind::kWhole) {
    head += StrCat("Content-Length: ", answer.body->size(), "\r\n");
  }
  return head + "Connection: close\r\n\r\n";
}

HttpRequest RequestOf(const http::request<http::empty_body>& message) {
  HttpRequest request{.method = std::string(message.method_string()),
                      .target = std::string(message.target())};
  for (const auto& field : message) {
    request.fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return request;
}

// One client, from its request to its end. Whatever is awaited holds a reference to this, so it
// lives as long as something can still happen; closing the socket ends every wait. Each wait has a
// time limit, except the one for a follower of events to leave: a heartbeat finds those that are
// gone.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, ServerState& state)
      : stream_(std::move(socket)), buffer_(state.limits.header_bytes), state_(state) {
    ++state_.connections;
  }
  ~Connection() { Leave(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool closed() const { return closed_; }

  void ReadRequest() {
    // A header of exactly the limit is refused by whichever of buffer and parser notices.
    parser_.header_limit(static_cast<uint32_t>(state_.limits.header_bytes));
    stream_.expires_after(state_.limits.request_time);
    http::async_read_header(
        stream_, buffer_, parser_,
        [self = shared_from_this()](const ErrorCode& error, size_t) { self->OnRequest(error); });
  }

  void Follow(std::shared_ptr<const std::string> piece) {
    if (closed_) return;
    if (waiting_.size() >= state_.limits.waiting_events) return Close();
    waiting_.push_back(std::move(piece));
    if (waiting_.size() == 1) WriteNext();
  }

  bool following() const { return following_; }
  // Whether nobody waits for an answer here: nothing has been asked yet, or all was answered but
  // for events to come.
  bool only_listens() const { return following_ || !asked_; }
  // Whether it has not taken all it was sent, as one that never reads.
  bool is_behind() const { return !waiting_.empty(); }

  void Close() {
    if (closed_) return;
    Leave();
    stream_.close();
    // What is being written stays: the operation that was cancelled may still look at it.
    while (waiting_.size() > 1) waiting_.pop_back();
  }

 private:
  // A client that was closed does not count any more, however long its last wait takes to end.
  void Leave() {
    if (std::exchange(closed_, true)) return;
    if (following_) --state_.streams;
    --state_.connections;
  }

  void OnRequest(const ErrorCode& error) {
    if (closed_) return;
    asked_ = true;
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Answer(Refusal(431, "The head of the request is too large."));
    }
    if (error == beast::error::timeout) return Close();
    if (error && error.category() == http::make_error_code(http::error::bad_field).category()) {
      // A client that left in the middle of its request wants no answer.
      if (error == http::error::end_of_stream || error == http::error::partial_message) {
        return Close();
      }
      return Answer(Refusal(400, "This is no HTTP request."));
    }
    if (error) return Close();
    if (state_.connections > state_.limits.connections) {
      return Answer(Refusal(503, StrCat("There are ", state_.limits.connections,
                                        " clients already; close one and try again.")));
    }
    Answer(state_.handler(RequestOf(parser_.get())));
  }

  void Answer(HttpAnswer answer) {
    if (answer.kind == AnswerKind::kEvents) {
      // The opening is the first piece that waits: what is published while it is on its way
      // follows it.
      following_ = true;
      ++state_.streams;
      // A time limit holds for what begins after it was set: the wait for the client to leave has
      // none, the pieces have.
      stream_.expires_never();
      AwaitEnd();
      return Follow(std::make_shared<const std::string>(HeadOf(answer) + *answer.body));
    }
    waiting_.push_back(std::make_shared<const std::string>(HeadOf(answer)));
    waiting_.push_back(std::move(answer.body));
    WriteNext();
  }

  void OnAnswered() {
    // Closing while something of the client is unread would reset the connection, and the answer
    // might be lost on its way.
    ErrorCode ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.expires_after(state_.limits.linger_time);
    AwaitEnd();
  }

  void AwaitEnd() {
    stream_.async_read_some(asio::buffer(discarded_),
                            [self = shared_from_this()](const ErrorCode& error, size_t) {
                              if (self->closed_) return;
                              // Nobody who follows events has anything more to say.
                              if (error || self->following_) return self->Close();
                              self->AwaitEnd();
                            });
  }

  // Sends what waits, as much at a time as the client takes: each part has the whole time limit, so
  // that a slow network is not taken for a client that does not read.
  void WriteNext() {
    while (!waiting_.empty() && sent_ == waiting_.front()->size()) {
      waiting_.pop_front();
      sent_ = 0;
    }
    if (waiting_.empty()) {
      if (!following_) OnAnswered();
      return;
    }
    stream_.expires_after(state_.limits.write_time);
    stream_.async_write_some(asio::buffer(*waiting_.front()) + sent_,
                             [self = shared_from_this()](const ErrorCode& error, size_t count) {
                               if (self->closed_) return;
                               if (error) return self->Close();
                               self->sent_ += count;
                               self->WriteNext();
                             });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  std::deque<std::shared_ptr<const std::string>> waiting_;  // the first is being written
  size_t sent_ = 0;                                         // of it
  std::array<char, 512> discarded_;
  bool asked_ = false;
  bool following_ = false;
  bool closed_ = false;
  ServerState& state_;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(Handler handler, const HttpServerLimits& limits)
      : state_{.limits = limits, .handler = std::move(handler)},
        acceptor_(io_),
        heartbeat_(io_),
        retry_(io_) {}

  absl::Status Open(const BindAddress& address, uint16_t port) {
    const Tcp::endpoint endpoint(asio::ip::make_address(address.text), port);
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) return ListenError(error.value(), address, port);
    Accept();
    Beat();
    return absl::OkStatus();
  }

  absl::Status RunFor(std::chrono::milliseconds duration) override {
    // The handlers throw nothing of their own; what is left is memory that ran out.
    try {
      io_.run_for(duration);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return absl::ResourceExhaustedError(StrCat("cannot serve any longer: ", error.what()));
    }
  }

  void Publish(std::shared_ptr<const std::string> piece) override {
    std::erase_if(followers_, [](const std::weak_ptr<Connection>& follower) {
      const std::shared_ptr<Connection> connection = follower.lock();
      return connection == nullptr || connection->closed();
    });
    for (const std::weak_ptr<Connection>& follower : followers_) {
      const std::shared_ptr<Connection> connection = follower.lock();
      if (connection->following()) connection->Follow(piece);
    }
  }

  uint16_t port() const override { return port_; }
  size_t connections() const override { return state_.connections; }
  size_t streams() const override { return state_.streams; }

 private:
  static absl::Status ListenError(int number, const BindAddress& address, uint16_t port) {
    const absl::Status status = IoError(number, "listen");
    std::string text = StrCat("cannot listen on ", address.text, " port ", port, ": ");
    switch (number) {
      case EADDRINUSE:
        text += "it is in use; take another with --port, or any free one with --port 0";
        break;
      case EACCES:
        text += "it needs more rights; take one above 1023 with --port";
        break;
      case EADDRNOTAVAIL:
        text += "no network of this machine has that address; try --bind 127.0.0.1";
        break;
      default:
        text += std::string(status.message());
    }
    return WithMessage(status, text);
  }

  void Accept() {
    acceptor_.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
      if (error) {
        // Out of descriptors, most likely: asking again at once would spin.
        retry_.expires_after(std::chrono::milliseconds(100));
        retry_.async_wait([this](const ErrorCode&) { Accept(); });
        return;
      }
      if (state_.connections >= state_.limits.connections) MakeRoom();
      if (state_.connections < 2 * state_.limits.connections) {
        const auto connection = std::make_shared<Connection>(std::move(socket), state_);
        followers_.push_back(connection);
        connection->ReadRequest();
      }
      std::erase_if(followers_, [](const std::weak_ptr<Connection>& one) { return one.expired(); });
      Accept();
    });
  }

  // Closes one client that only listens, if there is any. The page comes back by itself when its
  // events end; followers that never read can then keep nobody out.
  void MakeRoom() {
    std::shared_ptr<Connection> leaves;
    for (const std::weak_ptr<Connection>& one : followers_) {
      const std::shared_ptr<Connection> connection = one.lock();
      if (connection == nullptr || connection->closed() || !connection->only_listens()) continue;
      const bool first = leaves == nullptr || (connection->is_behind() && !leaves->is_behind());
      if (first) leaves = connection;
    }
    if (leaves != nullptr) leaves->Close();
  }

  void Beat() {
    heartbeat_.expires_after(state_.limits.heartbeat);
    heartbeat_.async_wait([this](const ErrorCode& error) {
      if (error) return;
      Publish(std::make_shared<const std::string>(": still here\n\n"));
      Beat();
    });
  }

  // Destroyed from the last to the first: io_ ends the connections that waits still hold, which
  // count themselves out of state_.
  ServerState state_;
  std::list<std::weak_ptr<Connection>> followers_;  // and those that may become one
  uint16_t port_ = 0;
  asio::io_context io_{1};
  Tcp::acceptor acceptor_;
  asio::steady_timer heartbeat_;
  asio::steady_timer retry_;
};

}  // namespace

absl::StatusOr<BindAddress> ParseBindAddress(const std::string& text) {
  ErrorCode error;
  const asio::ip::address address =
      asio::ip::make_address(text == "localhost" ? "127.0.0.1" : text, error);
  if (error) {
    return absl::InvalidArgumentError(StrCat(
        "'", text, "' is no address of the network; write it in numbers, such as 127.0.0.1, ",
        "0.0.0.0 or ::1"));
  }
  const std::string plain = address.to_string();
  return BindAddress{.text = plain,
                     .in_url = address.is_v6() ? StrCat("[", plain, "]") : plain,
                     .loopback = address.is_loopback()};
}

absl::StatusOr<std::unique_ptr<HttpServer>> Listen(const BindAddress& address, uint16_t port,
                                                   HttpServer::Handler handler,
                                                   const HttpServerLimits& limits) {
  try {
    auto server = std::make_unique<BeastServer>(std::move(handler), limits);
    if (absl::Status status = server->Open(address, port); !status.ok()) return status;
    return server;
  } catch (const std::exception& error) {
    return absl::UnavailableError(StrCat("cannot listen on ", address.text, ": ", error.what()));
  }
}

}  // namespace horizon
