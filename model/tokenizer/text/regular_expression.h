#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// The regular expressions of a tokenizer.json, run by PCRE2. Only regular_expression.cc includes
// PCRE2.

// Working memory of a match. One thread at a time; any expression may use it. It is allocated on
// first use.
class MatchMemory {
 private:
  friend class RegularExpression;
  struct Parts;
  struct Free {
    void operator()(Parts* parts) const;
  };
  std::unique_ptr<Parts, Free> parts_;
};

// A compiled expression. Immutable: any number of threads may use one.
class RegularExpression {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;
  };

  // Compiles an expression in Oniguruma's syntax. Returns InvalidArgument with the expression and
  // the reason.
  static absl::StatusOr<RegularExpression> Compile(std::string_view expression);

  // Finds the first match that begins at or after `from`; look-behind can see the text before it.
  // `text` must be UTF-8. Returns ResourceExhausted if the search takes more steps or memory than
  // any sane expression needs.
  absl::StatusOr<std::optional<Match>> Find(std::string_view text, size_t from,
                                            MatchMemory& memory) const;

 private:
  struct Code;
  struct Free {
    void operator()(Code* code) const;
  };
  std::unique_ptr<Code, Free> code_;
};

}  // namespace horizon
