#include "service/access/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "service/access/token_text.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::string_view kKey = "listen.tokens_file";

std::optional<Role> RoleNamed(std::string_view name) {
  if (name == "view") return Role::kView;
  if (name == "control") return Role::kControl;
  return std::nullopt;
}

}  // namespace

Tokens::Hash Tokens::HashOf(std::string_view token) {
  Hash hash = {};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

absl::StatusOr<Tokens> Tokens::Parse(std::string_view text, std::string_view name) {
  Tokens tokens;
  int number = 0;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view said = absl::StripAsciiWhitespace(line);
    if (said.empty() || said.front() == '#') continue;
    if (const absl::Status added = tokens.AddLine({said.data(), said.size()}); !added.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(kKey), ": ", std::string(name),
                                                     ":", number, ": ",
                                                     std::string(added.message())));
    }
  }
  if (!tokens.entries_.empty()) return tokens;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(kKey), ": ", std::string(name),
                   " holds no token; add a line 'view TOKEN' or 'control TOKEN'"));
}

absl::Status Tokens::AddLine(std::string_view line) {
  const std::size_t end = line.find_first_of(" \t");
  const std::optional<Role> role = RoleNamed(line.substr(0, end));
  const std::size_t start = line.find_first_not_of(" \t", end);
  if (!role || start == std::string_view::npos) {
    return absl::InvalidArgumentError("the line must be 'view TOKEN' or 'control TOKEN'");
  }
  const std::string_view token = line.substr(start);
  if (!std::ranges::all_of(token, IsTokenCharacter)) {
    return absl::InvalidArgumentError(
        "a token is letters, digits and - . _ ~ + / = alone; 'openssl rand -hex 32' makes one");
  }
  if (token.size() < kMinLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the token is shorter than ", kMinLength, " characters; 'openssl rand -hex 32' makes one"));
  }
  if (RoleOf(token)) return absl::InvalidArgumentError("the token is that of a line before");
  entries_.push_back({.hash = HashOf(token), .role = *role});
  return absl::OkStatus();
}

std::optional<Role> Tokens::RoleOf(std::string_view token) const {
  const Hash hash = HashOf(token);
  std::optional<Role> role;
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) role = entry.role;
  }
  return role;
}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::string path) {
  // Taken first: a change during the read gives another version.
  const FileVersion version = VersionOf(path);
  MILLRACE_ASSIGN_OR_RETURN(Tokens tokens, Load(path));
  return std::unique_ptr<TokenFile>(new TokenFile(std::move(path), version, std::move(tokens)));
}

TokenFile::TokenFile(std::string path, FileVersion version, Tokens tokens)
    : path_(std::move(path)),
      version_(version),
      tokens_(std::make_shared<const Tokens>(std::move(tokens))) {}

absl::StatusOr<Tokens> TokenFile::Load(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(std::string text, ReadPrivateFile(path, kKey));
  absl::StatusOr<Tokens> tokens = Tokens::Parse(text, path);
  OPENSSL_cleanse(text.data(), text.size());
  return tokens;
}

std::optional<Role> TokenFile::RoleOf(std::string_view token) { return Current()->RoleOf(token); }

std::shared_ptr<const Tokens> TokenFile::Current() {
  const FileVersion now = VersionOf(path_);
  MutexLock lock(mu_);
  if (now == version_) return tokens_;
  version_ = now;
  if (absl::StatusOr<Tokens> tokens = Load(path_); tokens.ok()) {
    tokens_ = std::make_shared<const Tokens>(*std::move(tokens));
    spdlog::info("{}: read again, as it has changed", std::string(kKey));
  } else {
    spdlog::error("{}; the tokens read before stay", std::string(tokens.status().message()));
  }
  return tokens_;
}

}  // namespace millrace::service
