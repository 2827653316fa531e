#include "service/grpc_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/private_file.h"

namespace millrace::service {
namespace {

constexpr unsigned kReloadSeconds = 1;
constexpr std::string_view kCertificateKey = "listen.tls.certificate";
constexpr std::string_view kKeyKey = "listen.tls.key";
constexpr std::string_view kClientCaKey = "listen.tls.client_ca";

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

Bio Over(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

/// Nobody is asked for the password of a key that has one.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*user*/) { return 0; }

absl::Status Wrong(std::string_view key, const std::string& path, std::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(key), ": ", path, " ", std::string(why)));
}

absl::StatusOr<Certificate> ReadCertificate(const std::string& path, std::string_view key) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string pem, ReadNamedFile(path, key));
  Certificate certificate(PEM_read_bio_X509(Over(pem).get(), nullptr, NoPassword, nullptr),
                          &X509_free);
  if (certificate == nullptr) return Wrong(key, path, "holds no certificate in PEM");
  return certificate;
}

absl::StatusOr<Key> ReadKey(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(std::string pem, ReadPrivateFile(path, kKeyKey));
  Key key(PEM_read_bio_PrivateKey(Over(pem).get(), nullptr, NoPassword, nullptr), &EVP_PKEY_free);
  OPENSSL_cleanse(pem.data(), pem.size());
  if (key == nullptr) return Wrong(kKeyKey, path, "holds no private key in PEM without a password");
  return key;
}

}  // namespace

absl::Status CheckTls(const GrpcSecurity::Tls& tls) {
  if (!tls.on()) return absl::OkStatus();
  MILLRACE_ASSIGN_OR_RETURN(const Certificate certificate,
                            ReadCertificate(tls.certificate, kCertificateKey));
  MILLRACE_ASSIGN_OR_RETURN(const Key key, ReadKey(tls.key));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong(kKeyKey, tls.key,
                 absl::StrCat("is the key of another certificate than ", tls.certificate));
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0) {
    return Wrong(kCertificateKey, tls.certificate, "has expired");
  }
  if (tls.client_ca.empty()) return absl::OkStatus();
  return ReadCertificate(tls.client_ca, kClientCaKey).status();
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
