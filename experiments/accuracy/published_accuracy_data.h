#pragma once

namespace horizon {

// The text of experiments/accuracy/published.csv. The build makes the .cc file.
extern const char kPublishedAccuracy[];

}  // namespace horizon
