#include "ingest/login.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace millrace::ingest {
namespace {

// As long as no password is; of a file that is none, no more is read.
constexpr std::size_t kMostCharacters = 4096;

absl::StatusOr<std::string> FromFile(const std::string& path) {
  std::error_code unreadable;
  const std::filesystem::file_type type = std::filesystem::status(path, unreadable).type();
  if (std::filesystem::exists(path, unreadable) && type != std::filesystem::file_type::regular) {
    return absl::FailedPreconditionError(absl::StrCat("the password cannot be read from ", path,
                                                      ": it is no file; see source.password_file"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string password(kMostCharacters + 1, '\0');
  file.read(password.data(), static_cast<std::streamsize>(password.size()));
  if (file.bad() || !file.eof()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the password cannot be read from ", path, ": ",
        file.is_open() ? "it is too long for one" : "there is no such file, or it may not be read",
        "; see source.password_file"));
  }
  password.resize(static_cast<std::size_t>(file.gcount()));
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
  const char* const value = std::getenv(login.password_variable.c_str());
  if (value != nullptr) return std::string(value);
  return absl::FailedPreconditionError(
      absl::StrCat("the environment variable ", login.password_variable,
                   " with the camera's password is not set; see source.password_env"));
}

}  // namespace millrace::ingest
