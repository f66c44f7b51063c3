// Whatever is asked, nothing is served but three things to those who may have them, and what an
// answer carries cannot break out of its field.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "report/live/judge_request.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr std::string_view kSecret = "s3cret-token";

// "METHOD TARGET", then a field a line: no more of HTTP than what is judged.
HttpRequest RequestOf(std::string_view text) {
  const auto take = [&text](char end) {
    const size_t length = text.find(end);
    const std::string piece(text.substr(0, length));
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    return piece;
  };
  HttpRequest request;
  request.method = take(' ');
  request.target = take('\n');
  while (!text.empty()) {
    const std::string line = take('\n');
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    request.fields.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return request;
}

void TryRules(const HttpRequest& request, const AccessRules& rules, std::string_view text) {
  const Verdict verdict = JudgeRequest(request, rules);
  for (const auto& [name, value] : verdict.fields) {
    CHECK((name + value).find_first_of("\r\n") == std::string::npos);
  }
  if (verdict.status != 200) {
    CHECK(verdict.status == 400 || verdict.status == 401 || verdict.status == 403 ||
          verdict.status == 404 || verdict.status == 405);
    CHECK(!verdict.refusal.empty());
    // A refusal gives away nothing, the secret least of all.
    CHECK(verdict.refusal.find(kSecret) == std::string::npos);
    return;
  }
  CHECK(request.method == "GET");
  const std::string path = request.target.substr(0, request.target.find('?'));
  switch (verdict.resource) {
    case LiveResource::kPage:
      CHECK(path == "/");
      break;
    case LiveResource::kData:
      CHECK(path == "/data");
      break;
    case LiveResource::kEvents:
      CHECK(path == "/events");
      break;
  }
  if (!rules.token.empty()) CHECK(text.find(kSecret) != std::string_view::npos);
  if (rules.loopback) {
    const std::string_view host = request.Field("Host");
    CHECK(EqualIgnoringCase(host, "localhost:8042") || host == "127.0.0.1:8042" ||
          host == "[::1]:8042");
  }
}

void TryText(std::string_view text) {
  const HttpRequest request = RequestOf(text);
  TryRules(request, {.port = 8042}, text);
  TryRules(request, {.port = 8042, .token = std::string(kSecret)}, text);
  TryRules(request,
           {.address = "0.0.0.0", .port = 8042, .loopback = false, .token = std::string(kSecret)},
           text);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryText({reinterpret_cast<const char*>(data), size});
  return 0;
}
