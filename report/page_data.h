#pragma once

namespace horizon {

// The files of report/page as text. The build makes the .cc file (page_data_cc in BUILD).
extern const char kPageHtml[];
extern const char kPageCss[];
extern const char kDrawJs[];
extern const char kTimelineJs[];
extern const char kExpertsJs[];
extern const char kPageJs[];

}  // namespace horizon
