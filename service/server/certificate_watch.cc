#include "service/server/certificate_watch.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/server/grpc_credentials.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

constexpr std::chrono::hours kSoon(14 * 24);

std::string Day(nanoseconds since_1970) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[sizeof("2262-04-11 23:47 UTC")] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

/// Empty if the file cannot be read.
std::vector<Validity> CertificatesOf(const PemFile& file) {
  absl::StatusOr<std::vector<Validity>> all = ReadValidities(file);
  return all.ok() ? *std::move(all) : std::vector<Validity>();
}

}  // namespace

CertificateWatch::CertificateWatch(Options options)
    : options_(std::move(options)),
      versions_(Versions()),
      own_{.key = "listen.tls.certificate",
           .path = options_.tls.certificate,
           .refusal = "clients refuse it"},
      authorities_{.key = "listen.tls.client_ca",
                   .path = options_.tls.client_ca,
                   .refusal = "clients whose certificates it has signed are refused"} {
  Read();
}

std::vector<FileVersion> CertificateWatch::Versions() const {
  const GrpcSecurity::Tls& tls = options_.tls;
  return {VersionOf(tls.certificate), VersionOf(tls.key), VersionOf(tls.client_ca)};
}

void CertificateWatch::Read() {
  if (!options_.tls.on()) return;
  own_.certificates = CertificatesOf({own_.path, own_.key});
  if (own_.certificates.size() > 1) {
    own_.certificates.resize(1);  // The other certificates are authorities.
  }
  expiry_ns_ = own_.certificates.empty() ? kUnknown : own_.certificates.front().until.count();
  if (!authorities_.path.empty()) {
    authorities_.certificates = CertificatesOf({authorities_.path, authorities_.key});
  }
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
    LogFailures();
  }
  for (Watched* file : {&own_, &authorities_}) {
    if (file->certificates.empty()) continue;
    const Verdict verdict = Judge(file->certificates);
    const Verdict before = std::exchange(file->said, verdict);
    if (verdict.expired != before.expired) LogExpired(verdict.expired, *file);
    const bool is_another = verdict.validity.until != before.validity.until;
    if (is_another || verdict.standing != before.standing) Log(verdict, *file);
  }
}

void CertificateWatch::LogFailures() const {
  const absl::Status checked = CheckTls(options_.tls);
  if (checked.ok() && !own_.certificates.empty()) {
    spdlog::info("listen.tls was read again, as it has changed; the certificate is valid until {}",
                 Day(own_.certificates.front().until));
  } else if (!checked.ok()) {
    spdlog::error("{}; clients that connect from now on may fail until that is mended",
                  std::string(checked.message()));
  }
}

CertificateWatch::Verdict CertificateWatch::Judge(const std::vector<Validity>& certificates) const {
  const nanoseconds now = options_.now();
  std::vector<Validity> left = certificates;
  const std::size_t expired =
      std::erase_if(left, [now](const Validity& one) { return one.until <= now; });
  if (left.empty()) {
    return {.standing = Standing::kExpired,
            .validity = *std::ranges::max_element(certificates, {}, &Validity::until),
            .expired = expired};
  }
  const Validity next = *std::ranges::min_element(left, {}, &Validity::until);
  Standing standing = next.until - now < kSoon ? Standing::kSoon : Standing::kValid;
  if (now < next.from) standing = Standing::kNotYet;
  return {.standing = standing, .validity = next, .expired = expired};
}

// If all certificates have expired, Log() logs it.
void CertificateWatch::LogExpired(std::size_t expired, const Watched& file) {
  if (expired == 0 || expired == file.certificates.size()) return;
  spdlog::error(
      "{}: {}: {} of its {} certificates {} expired, so that {}; put new ones in their place or "
      "remove them",
      file.key, file.path, expired, file.certificates.size(), expired == 1 ? "has" : "have",
      file.refusal);
}

void CertificateWatch::Log(const Verdict& verdict, const Watched& file) {
  switch (verdict.standing) {
    case Standing::kValid:
      return;
    case Standing::kNotYet:
      return spdlog::warn(
          "{}: {} is not valid before {}, so that {}; check this machine's clock, or take another "
          "certificate",
          file.key, file.path, Day(verdict.validity.from), file.refusal);
    case Standing::kSoon:
      return spdlog::warn("{}: {} expires on {}; put a new one in its place", file.key, file.path,
                          Day(verdict.validity.until));
    case Standing::kExpired:
      return spdlog::error("{}: {} has expired on {}, so that {}; put a new one in its place",
                           file.key, file.path, Day(verdict.validity.until), file.refusal);
  }
}

std::optional<nanoseconds> CertificateWatch::expiry() const {
  const std::int64_t expiry = expiry_ns_;
  if (expiry == kUnknown) return std::nullopt;
  return nanoseconds(expiry);
}

}  // namespace millrace::service
