#include "ingest/gst/gst_error.h"

#include <mutex>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/library_log.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

absl::StatusCode CodeOf(const GError& error) {
  if (error.domain == GST_RESOURCE_ERROR) {
    switch (error.code) {
      case GST_RESOURCE_ERROR_NOT_FOUND:
        return absl::StatusCode::kNotFound;
      case GST_RESOURCE_ERROR_NOT_AUTHORIZED:
        return absl::StatusCode::kPermissionDenied;
      default:
        return absl::StatusCode::kUnavailable;
    }
  }
  return absl::StatusCode::kFailedPrecondition;
}

/// Whether decodebin does not know the file's type, or takes it for text.
bool IsUnknownKind(const GError& error) {
  if (error.domain != GST_STREAM_ERROR) return false;
  return error.code == GST_STREAM_ERROR_TYPE_NOT_FOUND ||
         std::string_view(error.message).find("text file") != std::string_view::npos;
}

/// Whether a demultiplexer reports, without words of its own, a file without an end or with another
/// file's bytes in it.
bool CannotBeSplit(const GError& error) {
  if (error.domain != GST_STREAM_ERROR || error.code != GST_STREAM_ERROR_DEMUX) return false;
  const GstOwned<gchar> usual(gst_error_get_message(error.domain, error.code));
  return std::string_view(error.message) == usual.get();
}

std::string_view WithoutEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(".\n") + 1);
}

}  // namespace

void LoadGStreamer() {
  static std::once_flag once;
  std::call_once(once, [] {
    gst_init(nullptr, nullptr);
    LogLibraries();
  });
}

void InitializeGStreamer() {
  static std::once_flag once;
  std::call_once(once, [] {
    LoadGStreamer();
    // The thread pool takes the priority of the thread that makes the first pool of its kind.
    const auto nothing = [](gpointer /*data*/, gpointer /*user_data*/) {};
    g_thread_pool_free(g_thread_pool_new(nothing, nullptr, 1, FALSE, nullptr), FALSE, TRUE);
  });
}

GstFailure FailureIn(GstMessage* message) {
  GError* error = nullptr;
  gchar* detail = nullptr;
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_ERROR:
      gst_message_parse_error(message, &error, &detail);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning(message, &error, &detail);
      break;
    default:
      MILLRACE_CHECK(false);
  }
  return {.error = GstOwned<GError>(error), .detail = GstOwned<gchar>(detail)};
}

absl::Status StatusFromMessage(GstMessage* message) {
  const GstFailure failure = FailureIn(message);
  return StatusFromError(*failure.error, failure.detail.get());
}

std::string_view Why(const gchar* detail) {
  const std::string_view text = WithoutEnd(detail == nullptr ? "" : detail);
  const std::size_t line = text.rfind('\n');
  return line == std::string_view::npos ? std::string_view() : text.substr(line + 1);
}

absl::Status NoVideo() {
  return absl::FailedPreconditionError("it has no video, or none that GStreamer can decode");
}

absl::Status StatusFromError(const GError& error, const gchar* detail) {
  if (IsUnknownKind(error)) {
    return absl::FailedPreconditionError(
        "it is no video that is known here, or it is damaged; name a video, as MP4, Matroska, AVI "
        "or MPEG-TS");
  }
  if (CannotBeSplit(error)) {
    return absl::FailedPreconditionError("it is cut short or damaged; name a whole video");
  }
  const std::string_view why = Why(detail);
  if (why.find("not-linked") != std::string_view::npos) {
    return NoVideo();
  }
  if (why.find("not-negotiated") != std::string_view::npos) {
    return absl::FailedPreconditionError(
        "its video is of a kind or size that cannot be decoded here; set H.264 or H.265, and a "
        "usual size");
  }
  std::string text(WithoutEnd(error.message));
  if (!why.empty() && text.find(why) == std::string::npos) {
    absl::StrAppend(&text, ": ", std::string(why));
  }
  return {CodeOf(error), WithoutCredentials(text)};
}

}  // namespace millrace::ingest
