// Says in words what becomes of the server's certificate, and of those of its clients' authorities,
// while it runs.
//
// gRPC reads the files of TLS anew every second and takes whatever they hold. Clients then see that
// a certificate has expired or fits no key, and the server would not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  /// once each that a certificate is not valid yet, will expire within two weeks, and has expired:
  /// of the authorities, the one that expires first.
  void Look();

  /// When the server's certificate expires, since 1970. Nothing without TLS, or if it cannot be
  /// read.
  [[nodiscard]] std::optional<nanoseconds> expiry() const;

 private:
  enum class Standing { kValid, kNotYet, kSoon, kExpired };

  /// A file with a certificate, and what was said of it.
  struct Watched {
    std::string_view key;
    std::string path;
    /// Who refuses whom where it is not valid.
    std::string_view refusal;
    std::optional<Validity> validity = {};
    Standing said = Standing::kValid;
  };

  [[nodiscard]] std::vector<FileVersion> Versions() const;
  void Read();
  void SayWhatIsWrong() const;
  [[nodiscard]] Standing Judge(const Validity& validity) const;
  static void Say(Standing standing, const Watched& file);

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
