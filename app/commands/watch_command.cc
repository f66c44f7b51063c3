#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/commands/commands.h"
#include "common/documents/json.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "report/live/access_token.h"
#include "report/live/http_server.h"
#include "report/live/live_answer.h"
#include "report/live/run_feed.h"

namespace horizon {
namespace {

constexpr std::chrono::milliseconds kPollInterval{1000};
// How long a Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds kServeInterval{100};

class WatchCommand : public Command {
 public:
  std::string_view name() const override { return "watch"; }
  CommandGroup group() const override { return CommandGroup::kLook; }
  std::string_view summary() const override {
    return "Serve the report of a run as a page that follows it while it trains";
  }
  std::string_view details() const override {
    return "Prints the address of the page and serves it until Ctrl-C. Only this machine can open "
           "it, unless --bind says otherwise; then the address contains a token, and everybody who "
           "has that can look. Only the record of this run is served, and nothing is written.";
  }
  OptionList Options() override {
    return {
        .options = {{.name = "port",
                     .value = &port_,
                     .unit = "number",
                     .help = "Port to listen on; 0 takes any free port",
                     .minimum = 0,
                     .maximum = 65535},
                    {.name = "bind",
                     .value = &bind_,
                     .unit = "address",
                     .help = "Address to listen on, 0.0.0.0 for all; anything but a loopback "
                             "address needs a token"},
                    {.name = "token",
                     .value = &token_,
                     .unit = "text",
                     .help =
                         "Token that visitors need (default a random one where --bind needs one)"},
                    {.name = "json", .value = &json_, .help = "Print the address in JSON"}},
        .positionals = {{.name = "RUN",
                         .value = &run_,
                         .help = "Folder of a run",
                         .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(const BindAddress address, ParseBindAddress(bind_));
    AccessRules rules{.address = address.in_url, .loopback = address.loopback};
    if (token_.has_value()) {
      RETURN_IF_ERROR(CheckToken(*token_));
      rules.token = *token_;
    } else if (!address.loopback) {
      ASSIGN_OR_RETURN(rules.token, MakeToken());
    }
    RunFeed feed(context.io, run_, context.clock.UnixSeconds());
    // A folder that is torn, or only beginning, may be whole in a moment; one that is not there is
    // a slip of the pen.
    if (absl::IsNotFound(feed.status())) return feed.status();
    const StopSignals signals;
    const auto answer = [&](const HttpRequest& request) {
      const absl::StatusOr<std::string> nonce = MakeToken();
      if (!nonce.ok()) return Refusal(500, "There is no randomness to protect the page with.");
      return AnswerLive(request, rules, feed, *nonce);
    };
    ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                     Listen(address, static_cast<uint16_t>(port_), answer));
    rules.port = server->port();
    RETURN_IF_ERROR(context.output.Write(AddressText(rules)));
    Say(context.log, feed);
    Nanoseconds next = context.clock.Now() + kPollInterval;
    while (!signals.requested()) {
      RETURN_IF_ERROR(server->RunFor(kServeInterval));
      if (context.clock.Now() < next) continue;
      const absl::Status before = feed.status();
      if (std::shared_ptr<const std::string> event = feed.Poll()) server->Publish(event);
      if (feed.status() != before) Say(context.log, feed);
      next = context.clock.Now() + kPollInterval;
    }
    context.log.Info(StrCat("stopped serving ", run_));
    return absl::OkStatus();
  }

 private:
  std::string AddressText(const AccessRules& rules) const {
    const std::string url = StrCat("http://", rules.address, ":", rules.port, "/",
                                   rules.token.empty() ? "" : "?token=", rules.token);
    if (!json_) return url + "\n";
    JsonWriter json;
    json.BeginObject().Key("url").String(url).Key("port").Unsigned(rules.port).EndObject();
    return std::move(json).Finish();
  }

  void Say(Log& log, const RunFeed& feed) const {
    if (feed.status().ok()) {
      log.Info(StrCat("serving ", run_, ", which is ", ToString(feed.view()->state),
                      "; stop with Ctrl-C"));
    } else {
      log.Warning(StrCat(std::string(feed.status().message()), "; looking again every second"));
    }
  }

  std::string run_;
  int64_t port_ = 8042;
  std::string bind_ = "127.0.0.1";
  std::optional<std::string> token_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWatchCommand() { return std::make_unique<WatchCommand>(); }

}  // namespace horizon
