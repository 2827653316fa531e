#include "ingest/gst/redirect_guard.h"

#include <gst/rtsp/gstrtspmessage.h>
#include <gst/rtsp/gstrtspurl.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ingest/gst/guarded_callback.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

/// "rtsp://host:554"; nullopt if `uri` cannot be parsed.
std::optional<std::string> PlaceOf(const std::string& uri) {
  GstRTSPUrl* url = nullptr;
  if (gst_rtsp_url_parse(uri.c_str(), &url) != GST_RTSP_OK) return std::nullopt;
  const std::unique_ptr<GstRTSPUrl, void (*)(GstRTSPUrl*)> owned(url, &gst_rtsp_url_free);
  guint16 port = 0;
  gst_rtsp_url_get_port(url, &port);
  return absl::AsciiStrToLower(
      absl::StrCat(uri.substr(0, uri.find(':')), "://", url->host, ":", port));
}

/// rtspsrc itself follows redirects without limit, a hundred times a second.
constexpr int kMaxRedirects = 4;

/// State of one rtspsrc.
struct RedirectGuard {
  const std::optional<std::string> place;
  /// Between SETUP and TEARDOWN, `location` may be a control URL, and OPTIONS is a keep-alive.
  std::atomic<bool> in_session = false;
  std::atomic<GstRTSPMethod> last = GST_RTSP_INVALID;  ///< The last request.
  std::atomic<int> redirects = 0;
};

void Refuse(GstElement* rtspsrc, const std::string& why) {
  GST_ELEMENT_ERROR(rtspsrc, RESOURCE, OPEN_READ, ("%s", why.c_str()), (nullptr));
}

/// Whether the conversation starts again: OPTIONS after any other request. A camera that requires a
/// login causes a second OPTIONS, which is no redirect.
bool IsRedirect(GstRTSPMethod method, GstRTSPMethod last) {
  return method == GST_RTSP_OPTIONS && last != GST_RTSP_INVALID && last != GST_RTSP_OPTIONS;
}

bool MaySend(GstElement* rtspsrc, GstRTSPMethod method, RedirectGuard& guard) {
  const bool begins = method == GST_RTSP_OPTIONS || method == GST_RTSP_DESCRIBE;
  const GstRTSPMethod last = guard.last.exchange(method);
  if (!begins) guard.in_session = method != GST_RTSP_TEARDOWN;
  if (!begins || guard.in_session) return true;
  if (IsRedirect(method, last) && ++guard.redirects > kMaxRedirects) {
    Refuse(rtspsrc, "the camera sends its viewers on again and again; check its path");
    return false;
  }
  gchar* text = nullptr;
  g_object_get(rtspsrc, "location", &text, nullptr);
  const std::unique_ptr<gchar, void (*)(gpointer)> owned(text, &g_free);
  const std::string location = text != nullptr ? text : "";
  if (PlaceOf(location) == guard.place) return true;
  Refuse(rtspsrc, absl::StrCat("the camera sends its viewers on to ", WithoutCredentials(location),
                               ", which is not followed; if it is right, configure it as "
                               "source.uri"));
  return false;
}

/// Called before each request. FALSE stops the request.
gboolean OnSend(GstElement* rtspsrc, GstRTSPMessage* request, gpointer data) {
  return GuardedCallback(rtspsrc, FALSE, [&] {
    GstRTSPMethod method = GST_RTSP_INVALID;
    gst_rtsp_message_parse_request(request, &method, nullptr, nullptr);
    return MaySend(rtspsrc, method, *static_cast<RedirectGuard*>(data)) ? TRUE : FALSE;
  });
}

void Forget(gpointer data, GClosure* /*closure*/) { delete static_cast<RedirectGuard*>(data); }

}  // namespace

void RefuseRedirects(const std::string& uri, GstElement& rtspsrc) {
  auto* const guard = new RedirectGuard{.place = PlaceOf(uri)};  // The closure owns it: Forget().
  g_signal_connect_data(&rtspsrc, "before-send", G_CALLBACK(OnSend), guard, Forget,
                        GConnectFlags(0));
}

}  // namespace millrace::ingest
