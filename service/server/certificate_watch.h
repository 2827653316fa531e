// Logs problems of the server's certificate, and of its clients' authorities, while the server
// runs.
//
// gRPC reads the TLS files again every second and uses whatever they contain. Without this watch
// only clients would notice that a certificate has expired or does not match the key.
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

/// Look() is for one thread; expiry() is thread-safe.
class CertificateWatch {
 public:
  struct Options {
    GrpcSecurity::Tls tls = {};
    /// The current time since 1970.
    std::function<nanoseconds()> now = WallTime;
  };

  explicit CertificateWatch(Options options);

  /// Call it about once a second. Changed files are checked one call later, because a new
  /// certificate and its new key arrive one after the other. Logs errors in the files. Logs once
  /// each that a certificate is not yet valid, expires within two weeks, or has expired. For the
  /// authorities it logs the number of expired ones, and watches the one that expires next.
  void Look();

  /// Expiry of the server's certificate, since 1970. Nullopt without TLS, or if the certificate
  /// cannot be read.
  [[nodiscard]] std::optional<nanoseconds> expiry() const;

 private:
  enum class Standing { kValid, kNotYet, kSoon, kExpired };

  /// The condition of a file's certificates, for the log.
  struct Verdict {
    Standing standing = Standing::kValid;
    /// Validity of the certificate that expires next; if all have expired, of the one that expired
    /// last.
    Validity validity = {};
    /// The number of expired certificates.
    std::size_t expired = 0;
  };

  /// A file with certificates, and the last logged verdict.
  struct Watched {
    std::string_view key;
    std::string path;
    /// The consequence of an invalid certificate, for the log: "clients refuse it".
    std::string_view refusal;
    /// Empty if the file cannot be read.
    std::vector<Validity> certificates = {};
    Verdict said = {};
  };

  [[nodiscard]] std::vector<FileVersion> Versions() const;
  void Read();
  void LogFailures() const;
  [[nodiscard]] Verdict Judge(const std::vector<Validity>& certificates) const;
  static void LogExpired(std::size_t expired, const Watched& file);
  static void Log(const Verdict& verdict, const Watched& file);

  // Constant after construction.
  const Options options_;

  // Used only by Look()'s thread.
  std::vector<FileVersion> versions_;
  bool changed_ = false;
  Watched own_;
  Watched authorities_;

  static constexpr std::int64_t kUnknown = -1;
  std::atomic<std::int64_t> expiry_ns_ = kUnknown;
};

}  // namespace millrace::service
