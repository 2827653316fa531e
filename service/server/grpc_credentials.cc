#include "service/server/grpc_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/crypto.h>

#include <string_view>

#include "base/status.h"
#include "service/access/pem_files.h"

namespace millrace::service {
namespace {

constexpr unsigned kReloadSeconds = 1;
constexpr std::string_view kCertificateKey = "listen.tls.certificate";
constexpr std::string_view kKeyKey = "listen.tls.key";
constexpr std::string_view kClientCaKey = "listen.tls.client_ca";

}  // namespace

absl::Status CheckTls(const GrpcSecurity::Tls& tls) {
  if (!tls.on()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(Identity identity,
                            ReadIdentity({tls.certificate, kCertificateKey}, {tls.key, kKeyKey}));
  OPENSSL_cleanse(identity.key.data(), identity.key.size());
  if (tls.client_ca.empty()) return absl::OkStatus();
  return CheckAuthorities({tls.client_ca, kClientCaKey});
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const GrpcSecurity::Tls& tls) {
  if (!tls.on()) return grpc::InsecureServerCredentials();
  MILLRACE_RETURN_IF_ERROR(CheckTls(tls));
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key, tls.certificate, tls.client_ca, kReloadSeconds));
  options.watch_identity_key_cert_pairs();
  if (!tls.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace millrace::service
