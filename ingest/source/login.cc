#include "ingest/source/login.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"

namespace millrace::ingest {
namespace {

// Longer than any password.
constexpr std::uint64_t kMaxBytes = 4096;

absl::StatusOr<std::string> FromFile(const std::string& path) {
  absl::StatusOr<std::string> read = ContentOf(path, kMaxBytes);
  if (!read.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("the password cannot be read from ", path,
                                                      ": ", read.status().message(),
                                                      "; see source.password_file"));
  }
  std::string password = *std::move(read);
  const bool has_line_break = password.ends_with('\n');
  if (has_line_break) password.pop_back();
  if (has_line_break && password.ends_with('\r')) password.pop_back();
  return password;
}

}  // namespace

bool HasPassword(const Login& login) {
  return !login.password_file.empty() || !login.password_variable.empty();
}

absl::StatusOr<std::string> ReadPassword(const Login& login) {
  if (!login.password_file.empty()) return FromFile(login.password_file);
  if (login.password_variable.empty()) return std::string();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment.
  const char* const value = std::getenv(login.password_variable.c_str());
  if (value != nullptr) return std::string(value);
  return absl::FailedPreconditionError(
      absl::StrCat("the environment variable ", login.password_variable,
                   " with the camera's password is not set; see source.password_env"));
}

}  // namespace millrace::ingest
