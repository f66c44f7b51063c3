#pragma once

#include <cstdint>

namespace horizon {

// The label of a token that only fills up a row. Routers leave such tokens out of their statistics;
// everywhere else it is a token without a label like any other.
inline constexpr int32_t kPaddingLabel = -101;

// One token of a micro-batch, with everything that kernels need to know about it. Host and device
// memory hold the same bytes.
struct TokenRecord {
  int32_t id = 0;
  int32_t label = -100;  // negative: the token does not count in the loss
  // A linked list of the tokens with the same id (LinkSameTokens fills it), so that a kernel can
  // sum the rows of an id in order without a search: the index in the micro-batch of the next token
  // with this id, -1 if there is none; and whether this token is the first one (1) or not (0).
  int32_t next_same = -1;
  int32_t is_first = 1;
  // The position of the token in its sample, from 0. Rotary angles come from it. Attention reaches
  // back no further than position 0, so samples that share a row do not attend to each other.
  int32_t position = 0;
};

}  // namespace horizon
