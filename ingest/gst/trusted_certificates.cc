#include "ingest/gst/trusted_certificates.h"

#include <gio/gio.h>

#include <cstdint>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {

namespace {

/// All certificate authorities of a system take a fifth of a megabyte.
constexpr std::uint64_t kMaxBytes = 16 << 20;

absl::Status Unreadable(const std::string& ca_file, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the certificates in ", ca_file, " cannot be read: ", why, "; see source.tls_ca_file"));
}

}  // namespace

absl::StatusOr<TrustedCertificates> ReadTrusted(const std::string& ca_file) {
  // ContentOf() refuses pipes and devices; GLib would block on them.
  if (const absl::Status read = ContentOf(ca_file, kMaxBytes).status(); !read.ok()) {
    return Unreadable(ca_file, read.message());
  }
  GError* error = nullptr;
  GTlsDatabase* const trusted =
      g_tls_file_database_new(std::filesystem::absolute(ca_file).c_str(), &error);
  if (trusted != nullptr) {
    return TrustedCertificates(trusted, [](GTlsDatabase* database) { g_object_unref(database); });
  }
  const GstOwned<GError> owned(error);
  return Unreadable(ca_file, owned->message);
}

}  // namespace millrace::ingest
