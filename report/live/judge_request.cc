#include "report/live/judge_request.h"

#include <string_view>
#include <utility>

#include "common/text/str_cat.h"
#include "report/live/access_token.h"

namespace horizon {
namespace {

constexpr uint16_t kPortThatGoesUnsaid = 80;

Verdict Refuse(int status, std::string text, HttpFields fields = {}) {
  return {.status = status, .refusal = std::move(text), .fields = std::move(fields)};
}

bool NamesThisMachine(std::string_view host, const AccessRules& rules) {
  for (const std::string_view name : {std::string_view("localhost"), std::string_view("127.0.0.1"),
                                      std::string_view("[::1]"), std::string_view(rules.address)}) {
    if (EqualIgnoringCase(host, StrCat(name, ":", rules.port))) return true;
    if (rules.port == kPortThatGoesUnsaid && EqualIgnoringCase(host, name)) return true;
  }
  return false;
}

// The piece of `text` before `separator`, which is taken off with it.
std::string_view TakeUntil(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

// The value of `name` among "name=value" pieces; "" where it is missing.
std::string_view ValueOf(std::string_view pieces, char separator, std::string_view name) {
  while (!pieces.empty()) {
    std::string_view piece = TakeUntil(pieces, separator);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    if (TakeUntil(piece, '=') == name) return piece;
  }
  return "";
}

std::string_view BearerOf(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view field = request.Field("Authorization");
  if (!EqualIgnoringCase(field.substr(0, kScheme.size()), kScheme)) return "";
  return field.substr(kScheme.size());
}

}  // namespace

Verdict JudgeRequest(const HttpRequest& request, const AccessRules& rules) {
  if (rules.loopback) {
    const std::string_view host = request.Field("Host");
    if (host.empty()) return Refuse(400, "The request has no single Host.");
    if (!NamesThisMachine(host, rules)) {
      return Refuse(403, StrCat("This is served to this machine only: open http://localhost:",
                                rules.port, "/ here."));
    }
  }
  std::string_view query = request.target;
  const std::string_view path = TakeUntil(query, '?');
  HttpFields fields;
  if (!rules.token.empty()) {
    // Cookies of one host are shared by all its ports.
    const std::string cookie = StrCat("horizon_token_", rules.port);
    if (EqualsSecret(ValueOf(query, '&', "token"), rules.token)) {
      fields.emplace_back("Set-Cookie",
                          StrCat(cookie, "=", rules.token, "; Path=/; HttpOnly; SameSite=Strict"));
    } else if (!EqualsSecret(BearerOf(request), rules.token) &&
               !EqualsSecret(ValueOf(request.Field("Cookie"), ';', cookie), rules.token)) {
      return Refuse(401, "A token is needed: open the whole address that horizon watch printed.",
                    {{"WWW-Authenticate", "Bearer"}});
    }
  }
  Verdict verdict{.fields = std::move(fields)};
  if (path == "/") {
    verdict.resource = LiveResource::kPage;
  } else if (path == "/data") {
    verdict.resource = LiveResource::kData;
  } else if (path == "/events") {
    verdict.resource = LiveResource::kEvents;
    verdict.last_event_id = request.Field("Last-Event-ID");
  } else {
    return Refuse(404, "There is nothing here; the page is at /.");
  }
  if (request.method != "GET") {
    return Refuse(405, "Only GET is answered.", {{"Allow", "GET"}});
  }
  return verdict;
}

HttpFields SecurityFields() {
  return {{"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

HttpAnswer Refusal(int status, const std::string& text, const HttpFields& fields) {
  HttpAnswer answer{.status = status, .fields = SecurityFields()};
  answer.fields.insert(answer.fields.end(), fields.begin(), fields.end());
  answer.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
  answer.fields.emplace_back("Content-Security-Policy", "default-src 'none'");
  answer.body = std::make_shared<const std::string>(text + "\n");
  return answer;
}

}  // namespace horizon
