// Says in words what becomes of the server's certificate while it runs.
//
// gRPC reads the files of TLS anew every second and takes whatever they hold. Clients then see that
// a certificate has expired or fits no key, and the server would not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "service/grpc_security.h"
#include "service/pem_files.h"
#include "service/private_file.h"

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
  /// once each that the certificate is not valid yet, will expire within two weeks, and has
  /// expired.
  void Look();

  /// When the certificate expires, since 1970. Nothing without TLS, or if it cannot be read.
  [[nodiscard]] std::optional<nanoseconds> expiry() const;

 private:
  enum class Standing { kValid, kNotYet, kSoon, kExpired };

  [[nodiscard]] std::vector<FileVersion> Versions() const;
  void Read();
  void SayWhatIsWrong() const;
  [[nodiscard]] Standing Judge() const;
  void Say(Standing standing) const;

  // Constant after construction.
  const Options options_;

  // Of Look()'s thread.
  std::vector<FileVersion> versions_;
  bool changed_ = false;
  std::optional<Validity> validity_;
  Standing said_ = Standing::kValid;

  static constexpr std::int64_t kUnknown = -1;
  std::atomic<std::int64_t> expiry_ns_ = kUnknown;
};

}  // namespace millrace::service
