#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace horizon {

// Regular expressions as tokenizer.json has them, run by PCRE2 (regular_expression.cc is the only
// file that includes it).

// What a match needs of memory, for one thread at a time; any expression may use it. Allocates when
// it is first needed.
class MatchMemory {
 private:
  friend class RegularExpression;
  struct Parts;
  struct Free {
    void operator()(Parts* parts) const;
  };
  std::unique_ptr<Parts, Free> parts_;
};

// Never changed once made; any number of threads may use one.
class RegularExpression {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;
  };

  // InvalidArgument with the expression and the reason. `expression` is in Oniguruma's syntax.
  static absl::StatusOr<RegularExpression> Compile(std::string_view expression);

  // The first match that begins at or after `from`; look-behind sees what is before. `text` is
  // UTF-8. ResourceExhausted when the search takes more steps or memory than any sane expression.
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
