// Macros for an early return of absl::Status and absl::StatusOr errors.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

/// Returns from the enclosing function if `expression` is not OK.
#define MILLRACE_RETURN_IF_ERROR(expression)                                \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

/// Assigns the value of a StatusOr to `declaration`, or returns its error:
/// `MILLRACE_ASSIGN_OR_RETURN(Plan plan, MakePlan(options));`.
#define MILLRACE_ASSIGN_OR_RETURN(declaration, expression) \
  MILLRACE_ASSIGN_OR_RETURN_(MILLRACE_CONCAT_(status_or_, __LINE__), declaration, expression)

// Parentheses around a declaration do not compile.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define MILLRACE_ASSIGN_OR_RETURN_(name, declaration, expression) \
  auto name = (expression);                                       \
  if (!name.ok()) return std::move(name).status();                \
  declaration = *std::move(name)
// NOLINTEND(bugprone-macro-parentheses)

#define MILLRACE_CONCAT_(a, b) MILLRACE_CONCAT_INNER_(a, b)
#define MILLRACE_CONCAT_INNER_(a, b) a##b
