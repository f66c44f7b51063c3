#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HORIZON_CONCAT_INNER(a, b) a##b
#define HORIZON_CONCAT(a, b) HORIZON_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` (an absl::Status) is an error.
#define RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                \
    if (absl::Status status_macro_result = (expression); !status_macro_result.ok()) { \
      return status_macro_result;                                                     \
    }                                                                                 \
  } while (false)

// ASSIGN_OR_RETURN(auto file, io.Open(path)): takes the value, or returns the error.
#define ASSIGN_OR_RETURN(declaration, expression) \
  HORIZON_ASSIGN_OR_RETURN(HORIZON_CONCAT(status_or_, __LINE__), declaration, expression)

// `result` and `declaration` are names to declare, which parentheses would break.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HORIZON_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result).status();            \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
