#include "service/certificate_watch.h"

#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "service/grpc_credentials.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::string_view kCertificateKey = "listen.tls.certificate";
constexpr std::chrono::hours kSoon(14 * 24);

std::string Day(nanoseconds since_1970) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[sizeof("2262-04-11 23:47 UTC")] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace

CertificateWatch::CertificateWatch(Options options)
    : options_(std::move(options)), versions_(Versions()) {
  Read();
}

std::vector<FileVersion> CertificateWatch::Versions() const {
  const GrpcSecurity::Tls& tls = options_.tls;
  return {VersionOf(tls.certificate), VersionOf(tls.key), VersionOf(tls.client_ca)};
}

void CertificateWatch::Read() {
  if (!options_.tls.on()) return;
  const absl::StatusOr<Validity> validity =
      ReadValidity({options_.tls.certificate, kCertificateKey});
  validity_ = validity.ok() ? std::optional(*validity) : std::nullopt;
  expiry_ns_ = validity.ok() ? validity->until.count() : kUnknown;
}

void CertificateWatch::Look() {
  if (!options_.tls.on()) return;
  std::vector<FileVersion> now = Versions();
  if (now != versions_) {
    versions_ = std::move(now);
    changed_ = true;
    return;
  }
  if (std::exchange(changed_, false)) {
    Read();
    SayWhatIsWrong();
  }
  if (!validity_) return;
  const Standing standing = Judge();
  if (standing != std::exchange(said_, standing)) Say(standing);
}

void CertificateWatch::SayWhatIsWrong() const {
  const absl::Status checked = CheckTls(options_.tls);
  if (checked.ok() && validity_) {
    spdlog::info("listen.tls was read again, as it has changed; the certificate is valid until {}",
                 Day(validity_->until));
  } else if (!checked.ok()) {
    spdlog::error("{}; clients that connect from now on may fail until that is mended",
                  std::string(checked.message()));
  }
}

CertificateWatch::Standing CertificateWatch::Judge() const {
  const nanoseconds now = options_.now();
  if (now < validity_->from) return Standing::kNotYet;
  if (now >= validity_->until) return Standing::kExpired;
  return validity_->until - now < kSoon ? Standing::kSoon : Standing::kValid;
}

void CertificateWatch::Say(Standing standing) const {
  const std::string& path = options_.tls.certificate;
  switch (standing) {
    case Standing::kValid:
      return;
    case Standing::kNotYet:
      return spdlog::warn(
          "listen.tls.certificate: {} is not valid before {}, so that clients refuse it; check "
          "this machine's clock, or take another certificate",
          path, Day(validity_->from));
    case Standing::kSoon:
      return spdlog::warn("listen.tls.certificate: {} expires on {}; put a new one in its place",
                          path, Day(validity_->until));
    case Standing::kExpired:
      return spdlog::error(
          "listen.tls.certificate: {} has expired on {}, so that clients refuse it; put a new one "
          "in its place",
          path, Day(validity_->until));
  }
}

std::optional<nanoseconds> CertificateWatch::expiry() const {
  const std::int64_t expiry = expiry_ns_;
  if (expiry == kUnknown) return std::nullopt;
  return nanoseconds(expiry);
}

}  // namespace millrace::service
