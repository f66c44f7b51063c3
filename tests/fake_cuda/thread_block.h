#pragma once

#include <string>

#include "tests/fake_cuda/include/fake_cuda_launch.h"
#include "tests/fake_cuda/random.h"

namespace fake_cuda {

// Runs all thread blocks of a kernel launch, one after the other in a random order. The threads of
// a thread block are fibers, which switch only at barriers, shuffles and votes. The caller has
// opened device memory (OpenHeap); only one caller may run a grid at a time. A thread block that
// cannot go on, for instance because not all of its threads reach a barrier, is a fault; while
// faults are collected, that thread block is abandoned and the next one runs.
void RunGrid(const KernelLaunch& launch, Random& random);

// Makes a thread of the running thread block the one that accesses to shared memory and faults are
// recorded for, until the next switch.
void SetRunningThread(unsigned thread);

// Reports a fault if the device of the running kernel has no such instruction, which came with
// compute capability 8.0.
void CheckAmpere(const char* instruction);

// Names the thread that runs, for messages: ", in the kernel launched at FILE:LINE (FUNCTION),
// block (x, y, z), thread (x, y, z)". Empty while no kernel runs. Async-signal-safe enough for a
// handler that ends the process.
std::string DescribeRunningThread();

}  // namespace fake_cuda
