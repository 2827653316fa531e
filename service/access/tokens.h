// The tokens by which clients show who they are, and what each allows.
//
//   # who may look, who may change things
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

/// What a client may do. Whoever may control may view.
enum class Role { kView, kControl };

/// The tokens of one file, kept as hashes: no copy of a token stays in memory. Constant.
class Tokens {
 public:
  static constexpr std::size_t kShortest = 16;

  /// Reads lines "ROLE TOKEN"; empty lines and those that begin with '#' say nothing. `name` stands
  /// for the file in messages, which name the line and never what it holds. INVALID_ARGUMENT for
  /// any other line, a token that is short, has odd characters or is there twice, and no token at
  /// all.
  [[nodiscard]] static absl::StatusOr<Tokens> Parse(std::string_view text, std::string_view name);

  /// The role of `token`, or nullopt. Takes as long whichever it is.
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

/// The tokens of a file as it is now: it is read again when it has changed. Where it then cannot be
/// read, or has an error, the tokens read before stay, and the log says why. Thread-safe.
class TokenFile {
 public:
  /// Fails as Tokens::Parse() and ReadPrivateFile() do.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  /// The role of `token`, or nullopt.
  [[nodiscard]] std::optional<Role> RoleOf(std::string_view token) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  TokenFile(std::string path, FileVersion version, Tokens tokens);

  [[nodiscard]] static absl::StatusOr<Tokens> Load(const std::string& path);
  /// The tokens now. The file is small: it is read under the lock.
  [[nodiscard]] std::shared_ptr<const Tokens> Current() ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string path_;

  Mutex mu_;
  FileVersion version_ ABSL_GUARDED_BY(mu_);
  // Shared with calls that look into it.
  std::shared_ptr<const Tokens> tokens_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
