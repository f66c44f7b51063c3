#pragma once

#include <string>

namespace horizon {

// Makes config.json, qa.jsonl and job.yaml of a small run in the folder of RunShell: a model of
// four layers on a machine of the catalog, so that nothing is measured, which trains for a million
// steps unless the command says otherwise.
void PrepareWatchedRun();

// Shell functions for tests that act while a run goes on. They wait for what the run says, never
// for a time:
//   start ARGUMENTS...  `horizon train --config job.yaml ARGUMENTS` in the background; its messages
//                       are kept in the file err, its answer in the file answer
//   await TEXT          until a message has TEXT; fails when the run ends without one
//   finish              until the run has ended; sets $code
std::string WatchedRunFunctions();

}  // namespace horizon
