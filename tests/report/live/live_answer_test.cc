// The page, its data and its events over real sockets, as a browser asks for them.
#include "report/live/live_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "report/live/http_server.h"
#include "tests/report/live/live_client.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LiveAnswerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = MadeRun(*io_, 3);
    feed_ = std::make_unique<RunFeed>(*io_, folder_, 7);
    ASSERT_TRUE(feed_->status().ok()) << feed_->status();
    absl::StatusOr<std::unique_ptr<HttpServer>> server =
        Listen(*ParseBindAddress("127.0.0.1"), 0, [this](const HttpRequest& request) {
          return AnswerLive(request, rules_, *feed_, "n0nce");
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    rules_.port = server_->port();
  }
  std::string Ask(const std::string& target, const std::string& more = "") {
    return AnswerTo(*server_, Get(target, server_->port(), more));
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  std::string folder_;
  std::unique_ptr<RunFeed> feed_;
  AccessRules rules_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(LiveAnswerTest, ThePageHasItsScriptsAndLetsNoOthersRun) {
  const std::string answer = Ask("/");
  EXPECT_THAT(
      answer,
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Type: text/html; charset=utf-8"),
            HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'nonce-n0nce';"),
            HasSubstr("X-Content-Type-Options: nosniff"), HasSubstr("Cache-Control: no-store"),
            HasSubstr("Referrer-Policy: no-referrer"), HasSubstr("<title>run</title>"),
            HasSubstr("new EventSource("), HasSubstr("</html>")));
  size_t scripts = 0;
  for (size_t at = answer.find("<script"); at != std::string::npos;
       at = answer.find("<script", at + 1)) {
    EXPECT_EQ(answer.substr(at, 21), "<script nonce=\"n0nce\"") << at;
    ++scripts;
  }
  EXPECT_GE(scripts, 3u);
}

TEST_F(LiveAnswerTest, TheDataAreTheFeedsDocument) {
  EXPECT_THAT(Ask("/data"), AllOf(HasSubstr("Content-Type: application/json\r\n"),
                                  EndsWith("\r\n\r\n" + *feed_->document())));
}

TEST_F(LiveAnswerTest, AFileThatGrowsArrivesAsAnEvent) {
  LiveClient client(server_->port());
  client.Send(Get("/events", server_->port()));
  ServeUntil(*server_, [&] { return server_->streams() == 1; });
  ServeUntil(*server_, [&] {
    EXPECT_TRUE(client.Receive());
    return client.text().ends_with("\n\n") && client.text().find("id: 7-0") != std::string::npos;
  });
  EXPECT_THAT(client.text(), AllOf(HasSubstr("Content-Type: text/event-stream\r\n"),
                                   HasSubstr("event: view\nid: 7-0\ndata: {\"problem\": null,")));
  const std::string path = JoinPath(folder_, "eval.jsonl");
  const std::string lines = *ReadTextFile(*io_, path);
  ASSERT_TRUE(WriteTextFile(*io_, path,
                            lines + "{\"step\": 3, \"loss\": 2.25, \"perplexity\": 9.4, "
                                    "\"tokens\": 40}\n")
                  .ok());
  const std::shared_ptr<const std::string> event = feed_->Poll();
  ASSERT_NE(event, nullptr);
  server_->Publish(event);
  ServeUntil(*server_, [&] {
    EXPECT_TRUE(client.Receive());
    return client.text().ends_with(*event);
  });
  EXPECT_THAT(*event, HasSubstr("[\"append\", [\"evaluations\"], [{\"step\": 3, \"loss\": 2.25"));
}

TEST_F(LiveAnswerTest, AStreamGoesOnBehindTheLastEventOfTheClient) {
  LiveClient client(server_->port());
  client.Send(Get("/events", server_->port(), "Last-Event-ID: 7-0\r\n"));
  ServeUntil(*server_, [&] { return server_->streams() == 1; });
  ServeUntil(*server_, [&] {
    EXPECT_TRUE(client.Receive());
    return client.text().ends_with("retry: 2000\n\n");
  });
  EXPECT_THAT(client.text(), Not(HasSubstr("event: view")));
}

TEST_F(LiveAnswerTest, NothingElseIsThere) {
  for (const char* target : {"/job.json", "/../job.json", "/metrics.jsonl", "/favicon.ico"}) {
    EXPECT_THAT(Ask(target), StartsWith("HTTP/1.1 404 Not Found\r\n")) << target;
  }
  EXPECT_THAT(AnswerTo(*server_, StrCat("DELETE / HTTP/1.1\r\nHost: localhost:", server_->port(),
                                        "\r\n\r\n")),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET\r\n")));
}

TEST_F(LiveAnswerTest, APageOfAnotherNameIsRefused) {
  EXPECT_THAT(AnswerTo(*server_, "GET /data HTTP/1.1\r\nHost: rebound.example\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("steps_done"))));
}

TEST_F(LiveAnswerTest, ATokenIsAskedForWhereThereIsOne) {
  rules_.token = "a-long-secret";
  EXPECT_THAT(Ask("/data"), AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("WWW-Authenticate"),
                                  Not(HasSubstr("steps_done"))));
  EXPECT_THAT(Ask("/?token=a-long-secret"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Set-Cookie: horizon_token_"),
                    HasSubstr("=a-long-secret; Path=/")));
  const std::string cookie =
      StrCat("Cookie: horizon_token_", server_->port(), "=a-long-secret\r\n");
  EXPECT_THAT(Ask("/data", cookie), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Ask("/data", "Authorization: Bearer a-long-secret\r\n"), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace horizon
