#include "report/live/judge_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "report/live/access_token.h"

namespace horizon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kSecret[] = "0123456789abcdef";
const AccessRules kLocal{.port = 8042};
const AccessRules kOpen{.address = "0.0.0.0", .port = 8042, .loopback = false, .token = kSecret};

HttpRequest Request(const std::string& target, HttpFields more = {}) {
  HttpRequest request{.method = "GET", .target = target, .fields = {{"Host", "localhost:8042"}}};
  request.fields.insert(request.fields.end(), more.begin(), more.end());
  return request;
}

TEST(JudgeRequest, ThreeThingsAreServedAndNothingElse) {
  EXPECT_EQ(JudgeRequest(Request("/"), kLocal).status, 200);
  EXPECT_EQ(JudgeRequest(Request("/"), kLocal).resource, LiveResource::kPage);
  EXPECT_EQ(JudgeRequest(Request("/?a=b"), kLocal).resource, LiveResource::kPage);
  EXPECT_EQ(JudgeRequest(Request("/data"), kLocal).resource, LiveResource::kData);
  EXPECT_EQ(JudgeRequest(Request("/events"), kLocal).resource, LiveResource::kEvents);
  for (const char* target :
       {"", "/index.html", "//", "/data/", "/data/..", "/../etc/passwd", "/%2e%2e/etc/passwd",
        "/..%2fjob.json", "/job.json", "/metrics.jsonl", "*", "http://localhost:8042/", "/DATA",
        "/events;x", "/data%00", "\\data"}) {
    EXPECT_EQ(JudgeRequest(Request(target), kLocal).status, 404) << target;
  }
}

TEST(JudgeRequest, OnlyGetIsAnswered) {
  for (const char* method : {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", "CONNECT", ""}) {
    HttpRequest request = Request("/");
    request.method = method;
    const Verdict verdict = JudgeRequest(request, kLocal);
    EXPECT_EQ(verdict.status, 405) << method;
    EXPECT_THAT(verdict.fields, Contains(Pair("Allow", "GET")));
  }
}

TEST(JudgeRequest, OnLoopbackTheHostHasToBeThisMachine) {
  for (const char* host : {"localhost:8042", "LOCALHOST:8042", "127.0.0.1:8042", "[::1]:8042"}) {
    EXPECT_EQ(JudgeRequest({"GET", "/", {{"hOST", host}}}, kLocal).status, 200) << host;
  }
  for (const char* host :
       {"evil.example:8042", "localhost", "localhost:80", "localhost:8042.evil.example",
        "localhost.evil.example:8042", "127.0.0.1:80420", "::1:8042", "a@localhost:8042"}) {
    EXPECT_EQ(JudgeRequest({"GET", "/", {{"Host", host}}}, kLocal).status, 403) << host;
  }
  EXPECT_EQ(JudgeRequest({"GET", "/", {}}, kLocal).status, 400);
  const HttpFields two = {{"Host", "localhost:8042"}, {"Host", "evil.example"}};
  EXPECT_EQ(JudgeRequest({"GET", "/", two}, kLocal).status, 400);
  const AccessRules other{.address = "127.0.0.9", .port = 80};
  EXPECT_EQ(JudgeRequest({"GET", "/", {{"Host", "127.0.0.9"}}}, other).status, 200);
  EXPECT_EQ(JudgeRequest({"GET", "/", {{"Host", "localhost"}}}, other).status, 200);
}

TEST(JudgeRequest, ATokenOpensInThreeWaysAndNoOther) {
  const std::string secret = kSecret;
  const std::string cookie = "horizon_token_8042=" + secret;
  for (const HttpRequest& request :
       {Request("/?token=" + secret), Request("/?a=b&token=" + secret + "&c"),
        Request("/", {{"Authorization", "Bearer " + secret}}),
        Request("/", {{"authorization", "bearer " + secret}}), Request("/", {{"Cookie", cookie}}),
        Request("/", {{"Cookie", "a=b; " + cookie + "; c=d"}})}) {
    EXPECT_EQ(JudgeRequest(request, kOpen).status, 200);
  }
  for (const HttpRequest& request :
       {Request("/"), Request("/?token="), Request("/?token=" + secret + "0"),
        Request("/?token=" + secret.substr(1)), Request("/?token=0" + secret.substr(1, 14) + "0"),
        Request("/?Token=" + secret), Request("/?xtoken=" + secret), Request("/token=" + secret),
        Request("/?" + secret), Request("/", {{"Authorization", secret}}),
        Request("/", {{"Authorization", "Basic " + secret}}), Request("/", {{"Cookie", secret}}),
        Request("/", {{"Cookie", "horizon_token_8043=" + secret}}), Request("/elsewhere")}) {
    const Verdict verdict = JudgeRequest(request, kOpen);
    EXPECT_EQ(verdict.status, 401) << request.target;
    EXPECT_THAT(verdict.fields, Contains(Pair("WWW-Authenticate", "Bearer")));
  }
}

TEST(JudgeRequest, TheTokenOfAnAddressBecomesACookie) {
  EXPECT_THAT(JudgeRequest(Request("/?token=0123456789abcdef"), kOpen).fields,
              Contains(Pair("Set-Cookie",
                            "horizon_token_8042=0123456789abcdef; Path=/; HttpOnly; "
                            "SameSite=Strict")));
  EXPECT_THAT(
      JudgeRequest(Request("/", {{"Authorization", "Bearer 0123456789abcdef"}}), kOpen).fields,
      IsEmpty());
  EXPECT_THAT(JudgeRequest(Request("/?token=0123456789abcdef"), kLocal).fields, IsEmpty());
}

// On loopback both are asked for.
TEST(JudgeRequest, ATokenDoesNotStandInForTheHost) {
  AccessRules rules = kLocal;
  rules.token = kSecret;
  EXPECT_EQ(JudgeRequest(Request("/"), rules).status, 401);
  const HttpRequest elsewhere{"GET", "/?token=0123456789abcdef", {{"Host", "evil.example"}}};
  EXPECT_EQ(JudgeRequest(elsewhere, rules).status, 403);
}

TEST(JudgeRequest, TheLastEventIsHandedOn) {
  const HttpFields last = {{"Last-Event-ID", "7-12"}};
  EXPECT_EQ(JudgeRequest(Request("/events", last), kLocal).last_event_id, "7-12");
  EXPECT_EQ(JudgeRequest(Request("/events"), kLocal).last_event_id, "");
}

TEST(Refusal, SaysItInWordsThatNobodyKeepsOrRuns) {
  const HttpAnswer answer = Refusal(404, "Not here.");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(*answer.body, "Not here.\n");
  EXPECT_THAT(answer.fields, Contains(Pair("Cache-Control", "no-store")));
  EXPECT_THAT(answer.fields, Contains(Pair("X-Content-Type-Options", "nosniff")));
  EXPECT_THAT(answer.fields, Contains(Pair("Content-Security-Policy", "default-src 'none'")));
}

TEST(AccessToken, NoTwoAreAlikeAndEachIsOne) {
  const absl::StatusOr<std::string> first = MakeToken();
  const absl::StatusOr<std::string> second = MakeToken();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->size(), 32u);
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(CheckToken(*first).ok());
}

TEST(AccessToken, OneThatCouldNotStandInAnAddressIsRefused) {
  EXPECT_TRUE(CheckToken("A-z.0_9~").ok());
  EXPECT_TRUE(CheckToken(std::string(128, 'x')).ok());
  for (const std::string& token :
       {std::string(), std::string("short12"), std::string(129, 'x'), std::string("with space"),
        std::string("semi;colon"), std::string("new\nline!"),
        std::string("gr\xc3\xbc\xc3\x9f-dich")}) {
    const absl::Status status = CheckToken(token);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << token;
    EXPECT_THAT(std::string(status.message()), HasSubstr("8 to 128 letters"));
  }
}

TEST(AccessToken, OnlyTheSecretEqualsIt) {
  EXPECT_TRUE(EqualsSecret("abcabc", "abcabc"));
  EXPECT_FALSE(EqualsSecret("abc", "abcabc"));
  EXPECT_FALSE(EqualsSecret("abcabcabcabc", "abcabc"));
  EXPECT_FALSE(EqualsSecret("abcabd", "abcabc"));
  EXPECT_FALSE(EqualsSecret("bbcabc", "abcabc"));
  EXPECT_FALSE(EqualsSecret("", "abcabc"));
  EXPECT_FALSE(EqualsSecret("", ""));
}

}  // namespace
}  // namespace horizon
