#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace horizon {

// Records which work each stream was given and how far it has come. A device reports a failure of
// asynchronous work only at some later call; with this record the failure can be attributed to the
// work that caused it. Pieces of work are numbered per stream from 1, and a stream that has done
// the n-th has done all before it. Not thread-safe.
class StreamProgress {
 public:
  enum class Kind { kCopy, kKernel };
  // The point in a stream after its number-th piece of work.
  struct Place {
    int stream = -1;
    uint64_t number = 0;
  };

  // Streams are numbered 0, 1, ... in the order in which they are added.
  void AddStream(std::string name) { streams_.push_back({.name = std::move(name)}); }
  // Adds a piece of work and returns its number, for SetDone when it has ended.
  uint64_t AddWork(int stream, Kind kind, std::string name);
  // Adds a wait: the stream continues when `awaited` is reached.
  void AddWait(int stream, Place awaited);
  // The point after all work that the stream has been given.
  Place End(int stream) const { return {stream, streams_[stream].last}; }

  // Everything up to the place has ended.
  void SetDone(Place place);
  // The same where only the low 32 bits of the number are known.
  void SetDone(int stream, uint32_t low_bits);
  bool IsDone(Place place) const { return streams_[place.stream].done >= place.number; }

  // Lists the pieces of work that may have been running when everything stopped: in each stream the
  // first one that is not done, unless it waits for another stream. With `kernels_only`, for
  // failures that no copy can cause, lists only the kernels among them, if there are any. Example:
  // "'attention forward' on stream compute"; several are joined by " or ".
  std::string Suspects(bool kernels_only) const;

 private:
  struct Piece {
    uint64_t number = 0;
    Kind kind = Kind::kCopy;
    std::string name;
    Place awaited;  // for a wait: the place; stream is -1 for other work
  };
  struct Stream {
    std::string name;
    uint64_t last = 0;
    uint64_t done = 0;
    std::deque<Piece> pending;  // given and not done
  };
  const Piece* Running(const Stream& stream) const;

  std::vector<Stream> streams_;
};

}  // namespace horizon
