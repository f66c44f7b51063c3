#include "app/show_progress.h"

#include <string_view>
#include <utility>

namespace horizon {

Progress ShowProgress(const CommandContext& context, std::string what, uint64_t total) {
  Log& log = context.log;
  const bool terminal = log.on_terminal();
  return Progress(context.clock,
                  [&log, terminal](std::string_view text) {
                    if (terminal) return log.Draw(text);
                    if (text.ends_with('\n')) text.remove_suffix(1);
                    log.Info(text);
                  },
                  {.what = std::move(what),
                   .total = total,
                   .style = terminal ? ProgressStyle::kTerminal : ProgressStyle::kLines});
}

}  // namespace horizon
