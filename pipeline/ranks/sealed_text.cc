#include "pipeline/ranks/sealed_text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::pipeline {
namespace {

constexpr std::size_t kSumBytes = 32;

std::string Hex(const unsigned char* bytes, std::size_t size) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes), size});
}

// The context's length comes first, so that no other split of the same bytes has the same sum.
std::string SumOf(std::string_view secret, std::string_view context, std::string_view text) {
  const std::string bytes =
      absl::StrCat(context.size(), ":", std::string(context), std::string(text));
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum;
  MILLRACE_CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                      sum.data(), nullptr) != nullptr);
  return Hex(sum.data(), kSumBytes);
}

}  // namespace

std::string MakeNonce() {
  std::array<unsigned char, kSumBytes> bytes;
  MILLRACE_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return Hex(bytes.data(), bytes.size());
}

std::string Seal(std::string_view secret, std::string_view context, std::string_view text) {
  return SumOf(secret, context, text).append(text);
}

absl::StatusOr<std::string> Unseal(std::string_view secret, std::string_view context,
                                   std::string_view sealed) {
  constexpr std::size_t kDigits = 2 * kSumBytes;
  const std::string_view sum = sealed.substr(0, kDigits);
  const std::string_view text = sealed.substr(sum.size());
  const std::string right = SumOf(secret, context, text);
  if (sum.size() == kDigits && CRYPTO_memcmp(sum.data(), right.data(), kDigits) == 0) {
    return std::string(text);
  }
  return absl::PermissionDeniedError("it does not have this secret");
}

}  // namespace millrace::pipeline
