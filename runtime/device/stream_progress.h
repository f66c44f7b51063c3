#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace horizon {

// What streams have been given and how far they have come, so that a failure of asynchronous work,
// which a device reports at some later call, can be put down to the work it belongs to. Pieces of
// work are numbered per stream from 1; a stream that has done the n-th has done all before it. Not
// for several threads.
class StreamProgress {
 public:
  enum class Kind { kCopy, kKernel };
  // Behind the number-th piece of the stream.
  struct Place {
    int stream = -1;
    uint64_t number = 0;
  };

  // Streams are 0, 1, ... in the order they are added.
  void AddStream(std::string name) { streams_.push_back({.name = std::move(name)}); }
  // The number of the piece, to be told to SetDone when it has ended.
  uint64_t AddWork(int stream, Kind kind, std::string name);
  // The stream goes on when `awaited` is reached.
  void AddWait(int stream, Place awaited);
  // Behind all that the stream has been given.
  Place End(int stream) const { return {stream, streams_[stream].last}; }

  // All up to the place has ended.
  void SetDone(Place place);
  // The same for a number of which only the low 32 bits are known.
  void SetDone(int stream, uint32_t low_bits);
  bool IsDone(Place place) const { return streams_[place.stream].done >= place.number; }

  // The pieces that may have been running when everything stopped: in each stream the first that
  // is not done, unless it waits for another stream. With `kernels_only`, for failures that no copy
  // can cause, just the kernels among them, if there are any. "'attention forward' on stream
  // compute"; several are joined by " or ".
  std::string Suspects(bool kernels_only) const;

 private:
  struct Piece {
    uint64_t number = 0;
    Kind kind = Kind::kCopy;
    std::string name;
    Place awaited;  // a wait, where its stream is not -1
  };
  struct Stream {
    std::string name;
    uint64_t last = 0;
    uint64_t done = 0;
    std::deque<Piece> pending;  // none that is done
  };
  const Piece* Running(const Stream& stream) const;

  std::vector<Stream> streams_;
};

}  // namespace horizon
