#include "tests/report/live/live_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "common/text/str_cat.h"

namespace horizon {

LiveClient::LiveClient(uint16_t port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // On loopback this needs nobody to accept: the backlog takes it.
  EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::fcntl(socket_, F_SETFL, O_NONBLOCK), 0);
}

LiveClient::LiveClient(LiveClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), text_(std::move(other.text_)) {}

LiveClient::~LiveClient() {
  if (socket_ >= 0) ::close(socket_);
}

void LiveClient::Send(const std::string& text) {
  EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

bool LiveClient::Receive() {
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count > 0) {
      text_.append(piece.data(), static_cast<size_t>(count));
      continue;
    }
    return count < 0 && errno == EAGAIN;
  }
}

std::string Get(const std::string& target, uint16_t port, const std::string& more) {
  return StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost:", port, "\r\n", more, "\r\n");
}

void ServeUntil(HttpServer& server, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "what was waited for never came";
    ASSERT_TRUE(server.RunFor(std::chrono::milliseconds(2)).ok());
  }
}

std::string AnswerTo(HttpServer& server, const std::string& request) {
  LiveClient client(server.port());
  client.Send(request);
  ServeUntil(server, [&] { return !client.Receive(); });
  return client.text();
}

}  // namespace horizon
