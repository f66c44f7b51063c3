#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define HORIZON_CONCAT_INNER(a, b) a##b
#define HORIZON_CONCAT(a, b) HORIZON_CONCAT_INNER(a, b)

// Returns the error from the enclosing function if `expression` (an absl::Status) is one:
//   RETURN_IF_ERROR(io.Unlink(path));
#define RETURN_IF_ERROR(expression)                                                   \
  do {                                                                                \
    if (absl::Status status_macro_result = (expression); !status_macro_result.ok()) { \
      return status_macro_result;                                                     \
    }                                                                                 \
  } while (false)

// Assigns the value of an absl::StatusOr, or returns its error from the enclosing function:
//   ASSIGN_OR_RETURN(auto file, io.Open(path, OpenMode::kRead));
#define ASSIGN_OR_RETURN(declaration, expression) \
  HORIZON_ASSIGN_OR_RETURN(HORIZON_CONCAT(status_or_, __LINE__), declaration, expression)

// The macro declares `result` and `declaration`, so they cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HORIZON_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result).status();            \
  declaration = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
