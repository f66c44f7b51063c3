#include "report/live/live_answer.h"

#include <memory>
#include <utility>

#include "common/text/str_cat.h"
#include "report/live/live_script.h"
#include "report/page.h"

namespace horizon {
namespace {

// Scripts of the page alone, which may ask this server only; styles are written by those scripts.
std::string PolicyOf(std::string_view nonce) {
  return StrCat("default-src 'none'; script-src 'nonce-", nonce,
                "'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; "
                "form-action 'none'; frame-ancestors 'none'");
}

// The last part of the folder's path that is a name.
std::string TitleOf(std::string_view folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.remove_suffix(1);
  const size_t slash = folder.rfind('/');
  if (slash != std::string_view::npos && slash + 1 < folder.size()) {
    folder.remove_prefix(slash + 1);
  }
  return std::string(folder);
}

}  // namespace

std::string FollowingPage(std::string_view title, std::string_view nonce) {
  constexpr std::string_view kScript = "<script";
  constexpr std::string_view kEnd = "</body>";
  std::string page = LivePage(title);
  size_t end = page.rfind(kEnd);
  if (end == std::string::npos) end = page.size();
  page.insert(end, StrCat("<script>\n", kLiveScript, "</script>\n"));
  const std::string marked = StrCat(kScript, " nonce=\"", nonce, "\"");
  for (size_t at = page.find(kScript); at != std::string::npos;
       at = page.find(kScript, at + marked.size())) {
    page.replace(at, kScript.size(), marked);
  }
  return page;
}

HttpAnswer AnswerLive(const HttpRequest& request, const AccessRules& rules, const RunFeed& feed,
                      std::string_view nonce) {
  Verdict verdict = JudgeRequest(request, rules);
  if (verdict.status != 200) return Refusal(verdict.status, verdict.refusal, verdict.fields);
  HttpAnswer answer{.fields = SecurityFields()};
  answer.fields.insert(answer.fields.end(), verdict.fields.begin(), verdict.fields.end());
  switch (verdict.resource) {
    case LiveResource::kPage:
      answer.fields.emplace_back("Content-Type", "text/html; charset=utf-8");
      answer.fields.emplace_back("Content-Security-Policy", PolicyOf(nonce));
      answer.body =
          std::make_shared<const std::string>(FollowingPage(TitleOf(feed.folder()), nonce));
      break;
    case LiveResource::kData:
      answer.fields.emplace_back("Content-Type", "application/json");
      answer.body = feed.document();
      break;
    case LiveResource::kEvents:
      answer.kind = AnswerKind::kEvents;
      answer.fields.emplace_back("Content-Type", "text/event-stream");
      answer.body = std::make_shared<const std::string>(feed.Opening(verdict.last_event_id));
      break;
  }
  return answer;
}

}  // namespace horizon
