#pragma once

#include <string>

namespace horizon {

// Writes config.json, qa.jsonl and job.yaml of a small run in the folder of RunShell: a model of
// four layers that trains for a million steps unless the command says otherwise. The machine is one
// of the catalog, so that nothing is measured.
void PrepareWatchedRun();

// Shell functions for tests that act while a run goes on. They wait for messages of the run, never
// for a time:
//   start ARGUMENTS...  `horizon train --config job.yaml ARGUMENTS` in the background; its messages
//                       are kept in the file err, its answer in the file answer
//   await TEXT          waits until a message has TEXT; fails if the run ends without one
//   finish              waits until the run has ended; sets $code
std::string WatchedRunFunctions();

}  // namespace horizon
