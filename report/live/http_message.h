#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace horizon {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The head of a request as it was sent. Nothing in it may be trusted.
struct HttpRequest {
  std::string method;
  std::string target;  // "/data?token=..."
  HttpFields fields;   // names as sent; they are compared without case

  // The value of the only field of that name; "" when there is none or more than one.
  std::string_view Field(std::string_view name) const;
};

// Whether an answer ends or goes on.
enum class AnswerKind {
  kWhole,   // `body` is the whole body
  kEvents,  // `body` begins a stream of server-sent events, which lasts until the client leaves
};

// An answer to a request.
struct HttpAnswer {
  AnswerKind kind = AnswerKind::kWhole;
  int status = 200;
  HttpFields fields;  // all but Content-Length and Connection, which the server adds
  std::shared_ptr<const std::string> body;  // never null
};

// Whether two texts are equal if 'A' to 'Z' count as 'a' to 'z'.
bool EqualIgnoringCase(std::string_view a, std::string_view b);

}  // namespace horizon
