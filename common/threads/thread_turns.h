#pragma once

namespace horizon {

// Asks the scheduler to give the calling thread short time slices, so that it runs soon after it
// wakes. Call it in a thread that mostly waits and whose work other threads wait for, such as one
// that submits copies: while other threads compute on every core, it would otherwise wait for
// milliseconds before it runs. It takes no priority from other threads; over time every thread gets
// its share. Linux supports this from 6.12 on (a custom slice in sched_setattr); on other systems
// the call does nothing.
void RequestShortTimeSlice();

}  // namespace horizon
