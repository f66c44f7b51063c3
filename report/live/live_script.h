#pragma once

namespace horizon {

// live.js as text; the body is written by the build (live_script_cc in BUILD).
extern const char kLiveScript[];

}  // namespace horizon
