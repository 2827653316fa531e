#include "service/certificate_watch.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "service/grpc_credentials.h"
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

/// Of the certificate of `file` that expires first. Nothing where it cannot be read.
std::optional<Validity> FirstToExpire(const PemFile& file) {
  const absl::StatusOr<std::vector<Validity>> all = ReadValidities(file);
  if (!all.ok() || all->empty()) return std::nullopt;
  return *std::ranges::min_element(*all, {}, &Validity::until);
}

/// Of the first, which is the server's own.
std::optional<Validity> First(const PemFile& file) {
  const absl::StatusOr<std::vector<Validity>> all = ReadValidities(file);
  return all.ok() && !all->empty() ? std::optional(all->front()) : std::nullopt;
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
  own_.validity = First({own_.path, own_.key});
  expiry_ns_ = own_.validity ? own_.validity->until.count() : kUnknown;
  if (!authorities_.path.empty()) {
    authorities_.validity = FirstToExpire({authorities_.path, authorities_.key});
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
    SayWhatIsWrong();
  }
  for (Watched* file : {&own_, &authorities_}) {
    if (!file->validity) continue;
    const Standing standing = Judge(*file->validity);
    if (standing != std::exchange(file->said, standing)) Say(standing, *file);
  }
}

void CertificateWatch::SayWhatIsWrong() const {
  const absl::Status checked = CheckTls(options_.tls);
  if (checked.ok() && own_.validity) {
    spdlog::info("listen.tls was read again, as it has changed; the certificate is valid until {}",
                 Day(own_.validity->until));
  } else if (!checked.ok()) {
    spdlog::error("{}; clients that connect from now on may fail until that is mended",
                  std::string(checked.message()));
  }
}

CertificateWatch::Standing CertificateWatch::Judge(const Validity& validity) const {
  const nanoseconds now = options_.now();
  if (now < validity.from) return Standing::kNotYet;
  if (now >= validity.until) return Standing::kExpired;
  return validity.until - now < kSoon ? Standing::kSoon : Standing::kValid;
}

void CertificateWatch::Say(Standing standing, const Watched& file) {
  switch (standing) {
    case Standing::kValid:
      return;
    case Standing::kNotYet:
      return spdlog::warn(
          "{}: {} is not valid before {}, so that {}; check this machine's clock, or take another "
          "certificate",
          file.key, file.path, Day(file.validity->from), file.refusal);
    case Standing::kSoon:
      return spdlog::warn("{}: {} expires on {}; put a new one in its place", file.key, file.path,
                          Day(file.validity->until));
    case Standing::kExpired:
      return spdlog::error("{}: {} has expired on {}, so that {}; put a new one in its place",
                           file.key, file.path, Day(file.validity->until), file.refusal);
  }
}

std::optional<nanoseconds> CertificateWatch::expiry() const {
  const std::int64_t expiry = expiry_ns_;
  if (expiry == kUnknown) return std::nullopt;
  return nanoseconds(expiry);
}

}  // namespace millrace::service
