#pragma once

#include <rapidcheck.h>

#include <string>

#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Generators of jobs and plans for tests of the file formats. Every field is anywhere in its range,
// including both ends; the values need not be valid together or for any model.

// Any UTF-8 text: with quotes, control characters, NUL and four-byte characters.
rc::Gen<std::string> AnyText();
// UTF-8 text without control characters.
rc::Gen<std::string> PlainText();

rc::Gen<TrainingJob> RandomJobRecord(rc::Gen<std::string> text);
rc::Gen<StreamPlan> RandomPlanRecord(rc::Gen<std::string> text);

}  // namespace horizon
