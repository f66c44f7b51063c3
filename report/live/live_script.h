#pragma once

namespace horizon {

// The text of live.js. The build makes the .cc file (live_script_cc in BUILD).
extern const char kLiveScript[];

}  // namespace horizon
