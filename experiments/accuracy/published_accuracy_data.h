#pragma once

namespace horizon {

// The text of published.csv; its .cc file is made by the build.
extern const char kPublishedAccuracy[];

}  // namespace horizon
