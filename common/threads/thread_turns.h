#pragma once

namespace horizon {

// Asks the system to let the calling thread run soon after it wakes, for short turns: a thread that
// mostly waits, and whose work others wait for. Beside threads that compute all the time on every
// core it would else wait for its turn for milliseconds. Takes no priority from anyone: over time
// every thread has its share. Linux does so from 6.12 on (a slice asked for by sched_setattr);
// where it does not, nothing changes.
void AskForShortTurns();

}  // namespace horizon
