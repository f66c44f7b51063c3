#pragma once

#include <string>
#include <string_view>

#include "report/live/http_message.h"
#include "report/live/judge_request.h"
#include "report/live/run_feed.h"

namespace horizon {

// The page that follows a run: LivePage with live.js added. Every script has `nonce`, so that the
// browser runs no injected script (Content-Security-Policy).
std::string FollowingPage(std::string_view title, std::string_view nonce);

// The answer to a request: `rules` decide whether it is served, `feed` has the contents. Reads no
// files.
HttpAnswer AnswerLive(const HttpRequest& request, const AccessRules& rules, const RunFeed& feed,
                      std::string_view nonce);

}  // namespace horizon
