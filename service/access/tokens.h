// The tokens that authenticate clients, and the role of each.
//
//   # view: may read; control: may also make changes
//   view     Wm9v3nq0-or-any-16-characters
//   control  b2F1c3Rpbmc-that-nobody-guesses
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "service/access/private_file.h"

namespace millrace::service {

/// A client's permission. The role kControl includes kView.
enum class Role { kView, kControl };

/// The tokens of one file, kept as hashes: no copy of a token stays in memory. Constant after
/// construction.
class Tokens {
 public:
  static constexpr std::size_t kMinLength = 16;

  /// Reads lines "ROLE TOKEN". Empty lines and lines that begin with '#' are ignored. `name` names
  /// the file in messages, which give the line number and never the contents. INVALID_ARGUMENT for
  /// any other line, for a short, malformed or repeated token, and for a file without tokens.
  [[nodiscard]] static absl::StatusOr<Tokens> Parse(std::string_view text, std::string_view name);

  /// The role of `token`, or nullopt. The comparison takes equally long for every token.
  [[nodiscard]] std::optional<Role> RoleOf(std::string_view token) const;

 private:
  using Hash = std::array<std::uint8_t, 32>;

  struct Entry {
    Hash hash;
    Role role;
  };

  [[nodiscard]] static Hash HashOf(std::string_view token);
  [[nodiscard]] absl::Status AddLine(std::string_view line);

  std::vector<Entry> entries_;
};

/// The current tokens of a file. Reads the file again when it has changed. If that fails, the
/// previous tokens stay valid, and the log gives the reason. Thread-safe.
class TokenFile {
 public:
  /// Fails as Tokens::Parse() and ReadPrivateFile() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  /// The role of `token`, or nullopt.
  [[nodiscard]] std::optional<Role> RoleOf(std::string_view token) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  TokenFile(std::string path, FileVersion version, Tokens tokens);

  [[nodiscard]] static absl::StatusOr<Tokens> Load(const std::string& path);
  /// The current tokens. The lock is held during the read, because the file is small.
  [[nodiscard]] std::shared_ptr<const Tokens> Current() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string path_;

  Mutex mu_;
  FileVersion version_ ABSL_GUARDED_BY(mu_);
  // Shared with the calls that are reading it.
  std::shared_ptr<const Tokens> tokens_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
