#pragma once

#include <cstdint>
#include <string>

#include "report/live/http_message.h"

namespace horizon {

// Who may ask.
struct AccessRules {
  // Where the server listens, as an address in a URL has it: "127.0.0.1", "[::1]".
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  // On a loopback address only requests that were addressed to this machine by name or number are
  // answered: a page of the web can make its own name lead here (DNS rebinding), but the browser
  // still says that name in the field Host.
  bool loopback = true;
  std::string token;  // empty: none is asked for
};

// All that is served; whatever else a request names does not exist.
enum class LiveResource { kPage, kData, kEvents };

struct Verdict {
  int status = 200;  // of another status nothing is served but `refusal`
  LiveResource resource = LiveResource::kPage;
  std::string refusal;        // a line for people
  HttpFields fields;          // that the answer has to carry: a cookie, the methods allowed, ...
  std::string last_event_id;  // of kEvents: what the client says it has
};

// Decides about a request. Pure; no part of the request becomes a name of a file. 400: no or
// several Host fields on loopback; 403: another host's name; 401: no token, or not the right one,
// as `?token=`, as "Authorization: Bearer", or as the cookie that the first of these sets; 404:
// anything but "/", "/data" and "/events"; 405: any method but GET.
Verdict JudgeRequest(const HttpRequest& request, const AccessRules& rules);

// The answer that says a refusal. Also what the server itself sends before there is a request to
// judge: 400, 431, 503.
HttpAnswer Refusal(int status, const std::string& text, const HttpFields& fields = {});

// What every answer carries: nothing is kept, guessed at, framed or told to others.
HttpFields SecurityFields();

}  // namespace horizon
