#include "tests/browser/browser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr char kChromium[] = "/usr/bin/chromium";
constexpr DocumentLimits kLimits{.text = 64_MiB, .depth = 64, .values = 4'000'000};

std::string Quote(std::string_view text) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.String(text);
  return std::move(json).Finish();
}

std::string TextAt(const Value* value, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (value != nullptr) value = value->Find(key);
  }
  const auto* text = value == nullptr ? nullptr : value->As<std::string>();
  return text == nullptr ? "" : *text;
}

// Chromium reads its commands from descriptor 3 and answers on 4.
[[noreturn]] void Become(int commands, int answers, int width, int height) {
  const int silent = ::open("/dev/null", O_RDWR);
  // Out of the way of 3 and 4 first.
  const int from = ::fcntl(commands, F_DUPFD, 10);
  const int to = ::fcntl(answers, F_DUPFD, 10);
  ::dup2(from, 3);
  ::dup2(to, 4);
  ::dup2(silent, 1);
  ::dup2(silent, 2);
  // Its children are in its group, so that all can be ended together.
  ::setpgid(0, 0);
  const std::string profile =
      StrCat("--user-data-dir=", testing::TempDir(), "/chromium-", getpid());
  const std::string size = StrCat("--window-size=", width, ",", height);
  ::setenv("HOME", testing::TempDir().c_str(), 1);
  ::execl(kChromium, kChromium, "--headless=new", "--no-sandbox", "--disable-gpu",
          "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--remote-debugging-pipe", size.c_str(), profile.c_str(),
          "about:blank", nullptr);
  ::_exit(127);
}

}  // namespace

absl::StatusOr<Browser> Browser::Start(int width, int height) {
  if (::access(kChromium, X_OK) != 0) {
    return absl::NotFoundError(
        StrCat("there is no ", kChromium, ": the Debian package 'chromium' of tools/packages.txt"));
  }
  int commands[2];
  int answers[2];
  if (::pipe2(commands, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) {
    return absl::InternalError(StrCat("pipe: ", std::strerror(errno)));
  }
  const pid_t process = ::fork();
  if (process < 0) return absl::InternalError(StrCat("fork: ", std::strerror(errno)));
  if (process == 0) Become(commands[0], answers[1], width, height);
  ::close(commands[0]);
  ::close(answers[1]);
  ::signal(SIGPIPE, SIG_IGN);
  Browser browser(process, commands[1], answers[0]);
  ASSIGN_OR_RETURN(const Document made,
                   browser.Send("Target.createTarget", "{\"url\": \"about:blank\"}", ""));
  const std::string target = TextAt(made.root.Find("result"), {"targetId"});
  ASSIGN_OR_RETURN(
      const Document attached,
      browser.Send("Target.attachToTarget",
                   StrCat("{\"targetId\": ", Quote(target), ", \"flatten\": true}"), ""));
  browser.session_ = TextAt(attached.root.Find("result"), {"sessionId"});
  for (const char* domain : {"Page", "Runtime", "Log", "Network"}) {
    RETURN_IF_ERROR(browser.Command(StrCat(domain, ".enable"), "{}").status());
  }
  return browser;
}

Browser::Browser(Browser&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      last_id_(other.last_id_),
      session_(std::move(other.session_)),
      buffer_(std::move(other.buffer_)),
      errors_(std::move(other.errors_)),
      requests_(std::move(other.requests_)) {}

Browser::~Browser() {
  if (process_ < 0) return;
  ::close(to_);
  ::close(from_);
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

absl::StatusOr<std::string> Browser::ReadMessage() {
  for (;;) {
    const size_t end = buffer_.find('\0');
    if (end != std::string::npos) {
      std::string message = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return message;
    }
    std::vector<char> piece(1 << 16);
    const ssize_t count = ::read(from_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError("Chromium has ended; does it start by hand?");
    buffer_.append(piece.data(), static_cast<size_t>(count));
  }
}

void Browser::Note(const Document& event) {
  const std::string method = TextAt(&event.root, {"method"});
  const Value* parameters = event.root.Find("params");
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Runtime.exceptionThrown") {
    errors_ += TextAt(parameters, {"exceptionDetails", "exception", "description"}) + "\n";
  }
  if (method == "Runtime.consoleAPICalled" && TextAt(parameters, {"type"}) == "error") {
    errors_ += "console.error\n";
  }
  if (method == "Log.entryAdded" && TextAt(parameters, {"entry", "level"}) == "error") {
    errors_ += TextAt(parameters, {"entry", "text"}) + "\n";
  }
  if (method == "Network.requestWillBeSent") {
    requests_ += TextAt(parameters, {"request", "url"}) + "\n";
  }
}

absl::StatusOr<Document> Browser::Send(const std::string& method, const std::string& parameters,
                                       const std::string& session) {
  const int64_t id = ++last_id_;
  std::string message = StrCat("{\"id\": ", id, ", \"method\": ", Quote(method),
                               session.empty() ? "" : StrCat(", \"sessionId\": ", Quote(session)),
                               ", \"params\": ", parameters, "}");
  message.push_back('\0');
  for (size_t sent = 0; sent < message.size();) {
    const ssize_t count = ::write(to_, message.data() + sent, message.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError("Chromium takes no commands any more");
    sent += static_cast<size_t>(count);
  }
  for (;;) {
    ASSIGN_OR_RETURN(const std::string text, ReadMessage());
    ASSIGN_OR_RETURN(Document answer, ParseJson("devtools", text, kLimits));
    const Value* answered = answer.root.Find("id");
    if (answered == nullptr) {
      Note(answer);
      continue;
    }
    if (answered->As<int64_t>() == nullptr || *answered->As<int64_t>() != id) continue;
    if (answer.root.Find("error") != nullptr) {
      return absl::InternalError(
          StrCat(method, ": ", TextAt(answer.root.Find("error"), {"message"})));
    }
    return answer;
  }
}

absl::StatusOr<Document> Browser::Command(const std::string& method,
                                          const std::string& parameters) {
  return Send(method, parameters, session_);
}

absl::Status Browser::Open(const std::string& url) {
  loaded_ = false;
  ASSIGN_OR_RETURN(const Document answer,
                   Command("Page.navigate", StrCat("{\"url\": ", Quote(url), "}")));
  const std::string failed = TextAt(answer.root.Find("result"), {"errorText"});
  if (!failed.empty()) return absl::NotFoundError(StrCat("cannot open ", url, ": ", failed));
  while (!loaded_) {
    ASSIGN_OR_RETURN(const std::string text, ReadMessage());
    ASSIGN_OR_RETURN(const Document event, ParseJson("devtools", text, kLimits));
    Note(event);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Browser::Evaluate(const std::string& expression) {
  ASSIGN_OR_RETURN(
      const Document answer,
      Command("Runtime.evaluate",
              StrCat("{\"awaitPromise\": true, \"returnByValue\": true, \"expression\": ",
                     Quote(StrCat("Promise.resolve(", expression,
                                  ").then((value) => JSON.stringify(value))")),
                     "}")));
  const Value* result = answer.root.Find("result");
  if (result->Find("exceptionDetails") != nullptr) {
    return absl::InternalError(
        StrCat(expression, ": ", TextAt(result, {"exceptionDetails", "exception", "description"})));
  }
  return TextAt(result, {"result", "value"});
}

absl::Status Browser::Await(const std::string& expression) {
  ASSIGN_OR_RETURN(const std::string came,
                   Evaluate(StrCat("new Promise((done) => { const from = performance.now(); ",
                                   "const look = () => { if (", expression, ") done(true); ",
                                   "else if (performance.now() - from > 60000) done(false); ",
                                   "else requestAnimationFrame(look); }; look(); })")));
  if (came == "true") return absl::OkStatus();
  return absl::DeadlineExceededError(StrCat("never came true: ", expression));
}

}  // namespace horizon
