#include "ingest/trusted_certificates.h"

#include <gio/gio.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "ingest/gst_handles.h"

namespace millrace::ingest {

absl::StatusOr<TrustedCertificates> ReadTrusted(const std::string& ca_file) {
  GError* error = nullptr;
  GTlsDatabase* const trusted =
      g_tls_file_database_new(std::filesystem::absolute(ca_file).c_str(), &error);
  if (trusted != nullptr) {
    return TrustedCertificates(trusted, [](GTlsDatabase* database) { g_object_unref(database); });
  }
  const GstOwned<GError> owned(error);
  return absl::FailedPreconditionError(absl::StrCat("the certificates in ", ca_file,
                                                    " cannot be read: ", owned->message,
                                                    "; see source.tls_ca_file"));
}

}  // namespace millrace::ingest
