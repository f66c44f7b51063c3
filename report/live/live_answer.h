#pragma once

#include <string>
#include <string_view>

#include "report/live/http_message.h"
#include "report/live/judge_request.h"
#include "report/live/run_feed.h"

namespace horizon {

// The page that follows a run: LivePage with live.js behind it, and `nonce` on every script of it,
// by which the browser tells them from scripts that somebody smuggled in.
std::string FollowingPage(std::string_view title, std::string_view nonce);

// The answer to a request: judged by `rules`, made from what `feed` holds. Reads nothing.
HttpAnswer AnswerLive(const HttpRequest& request, const AccessRules& rules, const RunFeed& feed,
                      std::string_view nonce);

}  // namespace horizon
