#pragma once

#include <cstdint>

namespace horizon {

// A token of a micro-batch as every memory holds it.
struct TokenRecord {
  int32_t id = 0;
  int32_t label = -100;  // negative: counts nothing
  // The next position of the micro-batch with the same id, -1 when there is none; and whether this
  // position is the id's first. So the rows of an id can be summed in order without a search.
  int32_t next_same = -1;
  int32_t is_first = 1;
  // How far into its sample the token is, from 0. Rotary angles come from it, and attention looks
  // back no further: samples that share a row do not see each other.
  int32_t position = 0;
};

}  // namespace horizon
