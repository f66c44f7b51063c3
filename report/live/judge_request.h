#pragma once

#include <cstdint>
#include <string>

#include "report/live/http_message.h"

namespace horizon {

// Decides which requests to the live page are answered.

// The rules of access.
struct AccessRules {
  // The address that the server listens on, in the form of a URL: "127.0.0.1", "[::1]".
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  // On a loopback address the field Host of a request must name this machine, by name or number.
  // This stops DNS rebinding: a web page can make its own domain resolve to this machine, but the
  // browser still sends that domain as Host.
  bool loopback = true;
  std::string token;  // empty: none is required
};

// Everything that is served; all other targets are 404.
enum class LiveResource { kPage, kData, kEvents };

// How a request is to be answered.
struct Verdict {
  int status = 200;  // with any other status only `refusal` is served
  LiveResource resource = LiveResource::kPage;
  std::string refusal;        // one line for people
  HttpFields fields;          // to add to the answer: a cookie, the allowed methods, ...
  std::string last_event_id;  // for kEvents: the last event that the client says it has
};

// Decides how to answer a request. Pure; no part of the request is used as a file name. 400: none
// or several Host fields on loopback; 403: Host names another machine; 401: the token is missing or
// wrong. A token is given as `?token=`, as "Authorization: Bearer", or as the cookie that `?token=`
// sets. 404: any target but "/", "/data" and "/events"; 405: any method but GET.
Verdict JudgeRequest(const HttpRequest& request, const AccessRules& rules);

// The answer for a refused request. The server itself also sends it before there is a whole
// request: 400, 431, 503.
HttpAnswer Refusal(int status, const std::string& text, const HttpFields& fields = {});

// The header fields of every answer. They forbid caching, MIME sniffing, framing, sending a
// referrer, and use by pages of other origins.
HttpFields SecurityFields();

}  // namespace horizon
