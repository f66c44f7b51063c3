#pragma once

#include <rapidcheck.h>

#include <string>

#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// Jobs and plans with every field anywhere in its range, both ends included; they need not go
// together with any model. For tests of the file formats.

// Any UTF-8: quotes, control characters, NUL, four-byte characters.
rc::Gen<std::string> AnyText();
// UTF-8 without control characters.
rc::Gen<std::string> PlainText();

rc::Gen<TrainingJob> RandomJobRecord(rc::Gen<std::string> text);
rc::Gen<StreamPlan> RandomPlanRecord(rc::Gen<std::string> text);

}  // namespace horizon
