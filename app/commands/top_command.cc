#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "common/signal_flag.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "report/run_view.h"
#include "report/terminal/frame.h"
#include "report/terminal/screen.h"
#include "report/view_json.h"

namespace horizon {
namespace {

// How long a key, a signal or a new size of the window may go unnoticed.
constexpr std::chrono::milliseconds kLookInterval{100};

class TopCommand : public Command {
 public:
  std::string_view name() const override { return "top"; }
  CommandGroup group() const override { return CommandGroup::kLook; }
  std::string_view summary() const override {
    return "Show a run in the terminal while it trains: lanes, memory, loss, throughput";
  }
  std::string_view details() const override {
    return "Follows the run until you press q or Ctrl-C. Without a terminal, or with --once, one "
           "picture is printed. Block characters need a UTF-8 locale; NO_COLOR=1 turns colours "
           "off.";
  }
  OptionList Options() override {
    return {.options = {{.name = "once", .value = &once_, .help = "Print one picture and end"},
                        {.name = "interval",
                         .value = &interval_,
                         .unit = "seconds",
                         .help = "Seconds between updates",
                         .minimum = 0,
                         .maximum = 3600},
                        {.name = "json", .value = &json_, .help = "Answer in JSON, once"}},
            .positionals = {{.name = "RUN",
                             .value = &run_,
                             .help = "Folder of a run",
                             .words = WordKind::kFolder}}};
  }

  absl::Status Run(const CommandContext& context) override {
    ASSIGN_OR_RETURN(RunView view, ReadRun(context.io, run_));
    if (json_) return context.output.Write(ViewJson(view) + "\n");
    const FrameStyle style{.utf8 = context.terminal.utf8, .colour = context.output.has_colour()};
    if (!once_ && !context.terminal.dumb) {
      const auto write = [&](std::string_view text) { return context.output.WriteRaw(text); };
      absl::StatusOr<std::unique_ptr<Screen>> screen = Screen::Open(write);
      if (screen.ok()) return Follow(context, std::move(view), **screen, style);
      if (!absl::IsFailedPrecondition(screen.status())) return screen.status();
    }
    std::string text;
    for (const std::string& line : DrawFrame(view, "", {.columns = OutputSize().columns}, style)) {
      text += line + "\n";
    }
    return context.output.WriteRaw(text);  // a frame has no foreign control characters
  }

 private:
  absl::Status Follow(const CommandContext& context, RunView view, Screen& screen,
                      const FrameStyle& style) const {
    const StopSignals signals;
    const auto interval = Nanoseconds(std::llround(std::max(interval_, 0.1) * 1e9));
    std::string problem;
    Nanoseconds next = context.clock.Now() + interval;
    Screen::Size drawn{.columns = 0, .rows = 0};  // nobody's size: draw
    while (!signals.requested()) {
      const Screen::Size size = screen.size();
      if (drawn != size) {
        RETURN_IF_ERROR(screen.Draw(
            DrawFrame(view, problem, {.columns = size.columns, .rows = size.rows}, style)));
        drawn = size;
      }
      const Screen::Key key = screen.AwaitKey(kLookInterval);
      if (key == Screen::Key::kQuit || key == Screen::Key::kClosed) break;
      if (context.clock.Now() < next) continue;
      problem = Refresh(context.io, view);
      next = context.clock.Now() + interval;
      drawn = {.columns = 0, .rows = 0};
    }
    return absl::OkStatus();
  }

  // Another run may have taken the place of the one that was followed. What could not be read is
  // told in words.
  std::string Refresh(Io& io, RunView& view) const {
    absl::Status status = RefreshRun(io, view);
    if (absl::IsDataLoss(status)) {
      absl::StatusOr<RunView> fresh = ReadRun(io, run_);
      status = fresh.status();
      if (fresh.ok()) view = *std::move(fresh);
    }
    return std::string(status.message());
  }

  std::string run_;
  bool once_ = false;
  double interval_ = 1;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTopCommand() { return std::make_unique<TopCommand>(); }

}  // namespace horizon
