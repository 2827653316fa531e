// Says in words what becomes of the server's certificate, and of those of its clients' authorities,
// while it runs.
//
// gRPC reads the files of TLS anew every second and takes whatever they hold. Clients then see that
// a certificate has expired or fits no key, and the server would not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "service/access/grpc_security.h"
#include "service/access/pem_files.h"
#include "service/access/private_file.h"

namespace millrace::service {

/// Look() is for one thread; expiry() for any.
class CertificateWatch {
 public:
  struct Options {
    GrpcSecurity::Tls tls = {};
    /// The time since 1970.
    std::function<nanoseconds()> now = WallTime;
  };

  explicit CertificateWatch(Options options);

  /// To be called about once a second. Files that have changed are judged at the call after that:
  /// between two that are renamed into place they do not fit. Logs what is wrong with them, and
  /// once each that a certificate is not valid yet, will expire within two weeks, and has expired.
  /// Of the authorities it logs how many have expired, and judges the one that expires next.
  void Look();

  /// When the server's certificate expires, since 1970. Nothing without TLS, or if it cannot be
  /// read.
  [[nodiscard]] std::optional<nanoseconds> expiry() const;

 private:
  enum class Standing { kValid, kNotYet, kSoon, kExpired };

  /// What is to be said of a file.
  struct Verdict {
    Standing standing = Standing::kValid;
    /// Of the certificate that expires next, or expired last.
    Validity validity = {};
    /// How many have expired.
    std::size_t expired = 0;
  };

  /// A file with certificates, and what was said of it.
  struct Watched {
    std::string_view key;
    std::string path;
    /// Who refuses whom where it is not valid.
    std::string_view refusal;
    /// None where they cannot be read.
    std::vector<Validity> certificates = {};
    Verdict said = {};
  };

  [[nodiscard]] std::vector<FileVersion> Versions() const;
  void Read();
  void SayWhatIsWrong() const;
  [[nodiscard]] Verdict Judge(const std::vector<Validity>& certificates) const;
  static void SayExpired(std::size_t expired, const Watched& file);
  static void Say(const Verdict& verdict, const Watched& file);

  // Constant after construction.
  const Options options_;

  // Of Look()'s thread.
  std::vector<FileVersion> versions_;
  bool changed_ = false;
  Watched own_;
  Watched authorities_;

  static constexpr std::int64_t kUnknown = -1;
  std::atomic<std::int64_t> expiry_ns_ = kUnknown;
};

}  // namespace millrace::service
