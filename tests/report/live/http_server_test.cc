#include "report/live/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "tests/report/live/live_client.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using std::chrono::milliseconds;

// Says what was asked, or begins a stream for "/events".
HttpAnswer Echo(const HttpRequest& request) {
  HttpAnswer answer{.fields = {{"X-Test", "yes"}}};
  if (request.target == "/events") answer.kind = AnswerKind::kEvents;
  answer.body = std::make_shared<const std::string>(
      StrCat(request.method, " ", request.target, " from ", request.Field("host"), "\n\n"));
  return answer;
}

std::unique_ptr<HttpServer> Serve(HttpServer::Handler handler, HttpServerLimits limits = {}) {
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      Listen(*ParseBindAddress("127.0.0.1"), 0, std::move(handler), limits);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

LiveClient Follower(HttpServer& server) {
  LiveClient client(server.port());
  client.Send(Get("/events", server.port()));
  const size_t before = server.streams();
  ServeUntil(server, [&] { return server.streams() > before; });
  return client;
}

TEST(HttpServer, AnswersARequestAndCloses) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  ASSERT_GT(server->port(), 0);
  const std::string answer = AnswerTo(*server, Get("/a?b", server->port()));
  const std::string body = StrCat("GET /a?b from localhost:", server->port(), "\n\n");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nX-Test: yes\r\n"),
                            HasSubstr(StrCat("\r\nContent-Length: ", body.size(), "\r\n")),
                            HasSubstr("\r\nConnection: close\r\n"), EndsWith("\r\n\r\n" + body)));
  ServeUntil(*server, [&] { return server->connections() == 0; });
}

// The body of a request is never read, so its method can still be refused in words.
TEST(HttpServer, ARequestWithABodyIsAnsweredWithoutReadingIt) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  const std::string answer =
      AnswerTo(*server, StrCat("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n",
                               std::string(100000, 'x')));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("POST / from a")));
}

TEST(HttpServer, AHeadThatArrivesInPiecesIsOneRequest) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  LiveClient client(server->port());
  for (const char letter : Get("/slow", server->port())) {
    client.Send(std::string(1, letter));
    ASSERT_TRUE(server->RunFor(milliseconds(0)).ok());
  }
  ServeUntil(*server, [&] { return !client.Receive(); });
  EXPECT_THAT(client.text(), HasSubstr("GET /slow"));
}

TEST(HttpServer, WhatIsNoRequestIsToldSo) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  EXPECT_THAT(AnswerTo(*server, "\x16\x03\x01 this is no HTTP\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(AnswerTo(*server, "GET / HTTP/1.1\r\nbad field name: x\r\n\r\n"),
              StartsWith("HTTP/1.1 400 "));
}

TEST(HttpServer, AHeadBeyondTheLimitIsRefusedAndNotKept) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.header_bytes = 1024});
  const std::string large = StrCat("X-Large: ", std::string(2000, 'x'), "\r\n");
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port(), large)), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(AnswerTo(*server, Get("/" + std::string(2000, 'x'), server->port())),
              StartsWith("HTTP/1.1 431 "));
  // A line that never ends.
  EXPECT_THAT(AnswerTo(*server, std::string(5000, 'G')), StartsWith("HTTP/1.1 4"));
  const std::string fits = StrCat("X-Fits: ", std::string(800, 'x'), "\r\n");
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port(), fits)), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, AClientThatNeverEndsItsRequestIsClosed) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.request_time = milliseconds(50)});
  LiveClient silent(server->port());
  LiveClient slow(server->port());
  slow.Send("GET / HTTP/1.1\r\nHost: ");
  ServeUntil(*server, [&] { return !silent.Receive() && !slow.Receive(); });
  EXPECT_THAT(silent.text(), IsEmpty());
  EXPECT_THAT(slow.text(), IsEmpty());
  ServeUntil(*server, [&] { return server->connections() == 0; });
}

TEST(HttpServer, AClientThatStaysAfterItsAnswerIsClosed) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.linger_time = milliseconds(20)});
  LiveClient client(server->port());
  client.Send(Get("/", server->port()));
  ServeUntil(*server, [&] { return server->connections() == 1; });
  ServeUntil(*server, [&] { return server->connections() == 0; });
}

TEST(HttpServer, AClientThatDoesNotTakeItsAnswerIsClosed) {
  const auto large = std::make_shared<const std::string>(64 << 20, 'x');
  const std::unique_ptr<HttpServer> server =
      Serve([&](const HttpRequest&) { return HttpAnswer{.body = large}; },
            {.write_time = milliseconds(100)});
  LiveClient client(server->port());
  client.Send(Get("/", server->port()));
  ServeUntil(*server, [&] { return server->connections() == 1; });
  EXPECT_GT(large.use_count(), 1);
  ServeUntil(*server, [&] { return server->connections() == 0; });
}

TEST(HttpServer, EveryFollowerGetsEveryEventInOrder) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  std::vector<LiveClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Follower(*server));
  EXPECT_EQ(server->streams(), 3u);
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += StrCat("data: ", i, "\n\n");
    server->Publish(std::make_shared<const std::string>(StrCat("data: ", i, "\n\n")));
  }
  for (LiveClient& client : clients) {
    ServeUntil(*server, [&] {
      EXPECT_TRUE(client.Receive());
      return client.text().ends_with("data: 19\n\n");
    });
    EXPECT_THAT(client.text(), AllOf(Not(HasSubstr("Content-Length")), EndsWith("\n\n" + all)));
  }
}

// Otherwise a client would apply a change to a document that is one change older.
TEST(HttpServer, WhatIsPublishedWhileTheOpeningIsOnItsWayFollowsIt) {
  const auto opening = std::make_shared<const std::string>(std::string(32 << 20, 'x') + "\n\n");
  const std::unique_ptr<HttpServer> server = Serve(
      [&](const HttpRequest&) { return HttpAnswer{.kind = AnswerKind::kEvents, .body = opening}; });
  LiveClient client = Follower(*server);
  server->Publish(std::make_shared<const std::string>("data: 1\n\n"));
  ServeUntil(*server, [&] {
    EXPECT_TRUE(client.Receive());
    return client.text().ends_with("x\n\ndata: 1\n\n");
  });
}

TEST(HttpServer, AFollowerThatLeavesIsForgotten) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  const LiveClient stays = Follower(*server);
  { const LiveClient leaves = Follower(*server); }
  ServeUntil(*server, [&] { return server->streams() == 1; });
  EXPECT_EQ(server->connections(), 1u);
}

// For as long as the client stays: the time limit of writing is not one of following.
TEST(HttpServer, CommentsGoToFollowersBetweenEvents) {
  const std::unique_ptr<HttpServer> server =
      Serve(Echo, {.write_time = milliseconds(50), .heartbeat = milliseconds(5)});
  LiveClient client = Follower(*server);
  const std::string comment = ": still here\n\n";
  ServeUntil(*server, [&] {
    const bool open = client.Receive();
    EXPECT_TRUE(open);
    return !open || client.text().size() > 50 * comment.size();
  });
  EXPECT_THAT(client.text(), HasSubstr("\n" + comment + comment));
}

// The kernel's buffers take some of it; then the events wait here, up to the limit.
TEST(HttpServer, AFollowerThatNeverReadsIsLeftBehind) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.waiting_events = 4});
  LiveClient stuck = Follower(*server);
  LiveClient reads = Follower(*server);
  const auto event = std::make_shared<const std::string>("data: " + std::string(4 << 20, 'x'));
  for (int i = 1; i <= 12; ++i) {
    server->Publish(event);
    ServeUntil(*server, [&] {
      EXPECT_TRUE(reads.Receive());
      return reads.text().size() >= i * event->size();
    });
    EXPECT_LE(event.use_count(), 6) << "more than the limit is kept";
  }
  ServeUntil(*server, [&] { return server->streams() == 1 && event.use_count() == 1; });
  EXPECT_TRUE(reads.Receive());
}

TEST(HttpServer, AFollowerThatTakesNothingForTooLongIsClosed) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.write_time = milliseconds(50)});
  const LiveClient stuck = Follower(*server);
  server->Publish(std::make_shared<const std::string>(64 << 20, 'x'));
  ServeUntil(*server, [&] { return server->streams() == 0; });
}

TEST(HttpServer, ANewcomerTakesThePlaceOfTheFollowerThatCameFirst) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.connections = 3});
  std::vector<LiveClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Follower(*server));
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port())), StartsWith("HTTP/1.1 200 "));
  EXPECT_FALSE(clients[0].Receive());
  EXPECT_TRUE(clients[1].Receive());
  EXPECT_TRUE(clients[2].Receive());
  EXPECT_EQ(server->streams(), 2u);
}

// One that does not read goes before those that do, though they came first.
TEST(HttpServer, ANewcomerTakesThePlaceOfAFollowerThatNeverReads) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.connections = 3});
  LiveClient first = Follower(*server);
  LiveClient stuck = Follower(*server);
  LiveClient last = Follower(*server);
  const auto event = std::make_shared<const std::string>(64 << 20, 'x');
  server->Publish(event);
  ServeUntil(*server, [&] {
    EXPECT_TRUE(first.Receive());
    EXPECT_TRUE(last.Receive());
    return first.text().size() > event->size() && last.text().size() > event->size();
  });
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port())), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(first.Receive());
  EXPECT_TRUE(last.Receive());
  EXPECT_EQ(server->streams(), 2u);
}

TEST(HttpServer, SilentClientsCannotKeepOthersOut) {
  const std::unique_ptr<HttpServer> server = Serve(Echo, {.connections = 3});
  std::vector<LiveClient> crowd;
  for (int i = 0; i < 10; ++i) crowd.emplace_back(server->port());
  ServeUntil(*server, [&] {
    int closed = 0;
    for (LiveClient& one : crowd) closed += one.Receive() ? 0 : 1;
    return closed == 7;
  });
  EXPECT_EQ(server->connections(), 3u);
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port())), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, WhereAllAreBeingAnsweredANewcomerIsTold) {
  const auto large = std::make_shared<const std::string>(64 << 20, 'x');
  const std::unique_ptr<HttpServer> server =
      Serve([&](const HttpRequest&) { return HttpAnswer{.body = large}; }, {.connections = 2});
  std::vector<LiveClient> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back(server->port());
    busy.back().Send(Get("/", server->port()));
  }
  ServeUntil(*server, [&] { return large.use_count() == 3; });
  EXPECT_THAT(AnswerTo(*server, Get("/", server->port())),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("There are 2 clients already")));
}

TEST(HttpServer, APortInUseIsNamedWithWhatToTry) {
  const std::unique_ptr<HttpServer> server = Serve(Echo);
  const absl::Status status = Listen(*ParseBindAddress("127.0.0.1"), server->port(), Echo).status();
  EXPECT_EQ(IoErrno(status), EADDRINUSE);
  EXPECT_EQ(std::string(status.message()),
            StrCat("cannot listen on 127.0.0.1 port ", server->port(),
                   ": it is in use; take another with --port, or any free one with --port 0"));
}

TEST(HttpServer, AnAddressOfNobodyHereIsNamed) {
  // 192.0.2.0/24 is for documentation (RFC 5737).
  const absl::Status status = Listen(*ParseBindAddress("192.0.2.7"), 0, Echo).status();
  EXPECT_EQ(IoErrno(status), EADDRNOTAVAIL);
  EXPECT_THAT(std::string(status.message()), HasSubstr("192.0.2.7"));
}

TEST(ParseBindAddress, TellsWhatIsReachedFromHereOnly) {
  for (const char* text : {"127.0.0.1", "127.8.9.10", "::1", "localhost"}) {
    ASSERT_TRUE(ParseBindAddress(text).ok()) << text;
    EXPECT_TRUE(ParseBindAddress(text)->loopback) << text;
  }
  for (const char* text : {"0.0.0.0", "::", "192.168.0.4", "::ffff:127.0.0.1"}) {
    ASSERT_TRUE(ParseBindAddress(text).ok()) << text;
    EXPECT_FALSE(ParseBindAddress(text)->loopback) << text;
  }
  EXPECT_EQ(ParseBindAddress("::1")->in_url, "[::1]");
  for (const char* text :
       {"", "example.org", "127.0.0.1:80", "256.0.0.1", "localhost.example.org"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseBindAddress(text).status())) << text;
  }
}

}  // namespace
}  // namespace horizon
