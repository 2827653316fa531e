#include "service/access/pem_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "service/access/private_file.h"

namespace millrace::service {
namespace {

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

Bio Over(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

/// Keeps OpenSSL from prompting for the password of an encrypted key.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*user*/) { return 0; }

absl::Status Wrong(const PemFile& file, std::string_view why) {
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(file.name), ": ", file.path, " ", std::string(why)));
}

absl::StatusOr<Certificate> FirstOf(const std::string& pem, const PemFile& file) {
  Certificate certificate(PEM_read_bio_X509(Over(pem).get(), nullptr, NoPassword, nullptr),
                          &X509_free);
  if (certificate == nullptr) return Wrong(file, "holds no certificate in PEM");
  return certificate;
}

absl::StatusOr<Key> KeyOf(const std::string& pem, const PemFile& file) {
  Key key(PEM_read_bio_PrivateKey(Over(pem).get(), nullptr, NoPassword, nullptr), &EVP_PKEY_free);
  if (key == nullptr) return Wrong(file, "holds no private key in PEM without a password");
  return key;
}

// Clamps years that 64-bit nanoseconds cannot represent.
std::chrono::nanoseconds SinceEpoch(const ASN1_TIME* time) {
  constexpr std::int64_t kMax = std::int64_t{1} << 33;
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::chrono::nanoseconds(0);
  return std::chrono::seconds(std::clamp<std::int64_t>(timegm(&parts), 0, kMax));
}

bool HasExpired(const X509* certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

/// The certificates at the beginning of `pem`.
std::vector<Certificate> AllOf(const std::string& pem) {
  const Bio bio = Over(pem);
  std::vector<Certificate> all;
  for (;;) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr), &X509_free);
    if (next == nullptr) break;
    all.push_back(std::move(next));
  }
  ERR_clear_error();
  return all;
}

absl::StatusOr<std::vector<Certificate>> ReadAll(const PemFile& file) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string pem, ReadCertificates(file));
  return AllOf(pem);
}

}  // namespace

absl::StatusOr<std::vector<Validity>> ReadValidities(const PemFile& file) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<Certificate> all, ReadAll(file));
  std::vector<Validity> validities;
  for (const Certificate& one : all) {
    validities.push_back({.from = SinceEpoch(X509_get0_notBefore(one.get())),
                          .until = SinceEpoch(X509_get0_notAfter(one.get()))});
  }
  return validities;
}

absl::Status CheckAuthorities(const PemFile& file) {
  MILLRACE_ASSIGN_OR_RETURN(const std::vector<Certificate> all, ReadAll(file));
  const bool expired =
      std::ranges::all_of(all, [](const Certificate& one) { return HasExpired(one.get()); });
  if (!expired) return absl::OkStatus();
  return Wrong(file, all.size() == 1 ? "has expired" : "holds certificates that have all expired");
}

absl::StatusOr<std::string> ReadCertificates(const PemFile& file) {
  MILLRACE_ASSIGN_OR_RETURN(std::string pem, ReadNamedFile(file.path, file.name));
  MILLRACE_RETURN_IF_ERROR(FirstOf(pem, file).status());
  return pem;
}

absl::StatusOr<Identity> ReadIdentity(const PemFile& certificate, const PemFile& key) {
  Identity identity;
  MILLRACE_ASSIGN_OR_RETURN(identity.certificate,
                            ReadNamedFile(certificate.path, certificate.name));
  MILLRACE_ASSIGN_OR_RETURN(const Certificate first, FirstOf(identity.certificate, certificate));
  MILLRACE_ASSIGN_OR_RETURN(identity.key, ReadPrivateFile(key.path, key.name));
  MILLRACE_ASSIGN_OR_RETURN(const Key its_key, KeyOf(identity.key, key));
  if (X509_check_private_key(first.get(), its_key.get()) != 1) {
    return Wrong(key, absl::StrCat("is the key of another certificate than ", certificate.path));
  }
  if (HasExpired(first.get())) return Wrong(certificate, "has expired");
  return identity;
}

}  // namespace millrace::service
