#include "ingest/gst/content_guard.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "ingest/frame/raw_picture.h"
#include "ingest/gst/guarded_callback.h"

namespace millrace::ingest {
namespace {

void Refuse(GstElement* decodebin, const char* why) {
  GST_ELEMENT_ERROR(decodebin, STREAM, WRONG_TYPE, ("%s", why), (nullptr));
}

std::string_view TextOf(const GstStructure* caps, const char* field) {
  const gchar* const text = gst_structure_get_string(caps, field);
  return text == nullptr ? "" : text;
}

/// Whether `caps` describes raw pictures, plain or in RTP packets.
bool AreRaw(const GstStructure* caps) {
  const std::string_view name = gst_structure_get_name(caps);
  return name == "video/x-raw" ||
         (name == "application/x-rtp" && TextOf(caps, "encoding-name") == "RAW");
}

/// A side in pixels. A camera's description has it as text.
std::optional<std::int64_t> SideOf(const GstStructure* caps, const char* field) {
  gint number = 0;
  if (gst_structure_get_int(caps, field, &number) != FALSE) return number;
  std::int64_t said = 0;
  const std::string_view text = TextOf(caps, field);
  if (text.empty()) return std::nullopt;
  return absl::SimpleAtoi({text.data(), text.size()}, &said) ? said : 0;
}

/// Whether decodebin may decode a stream that it has found.
bool MayGoOn(GstElement* decodebin, GstCaps* caps) {
  if (gst_caps_is_any(caps) != FALSE || gst_caps_is_empty(caps) != FALSE) return true;
  const GstStructure* const first = gst_caps_get_structure(caps, 0);
  if (gst_structure_has_name(first, "application/sdp") != FALSE) {
    Refuse(decodebin, kPlaylist);
    return false;
  }
  if (!AreRaw(first)) return true;
  const std::optional<std::int64_t> width = SideOf(first, "width");
  const std::optional<std::int64_t> height = SideOf(first, "height");
  if (!width || !height) return true;
  const absl::Status checked = CheckPictureSize(*width, *height);
  if (checked.ok()) return true;
  Refuse(decodebin, std::string(checked.message()).c_str());
  return false;
}

gboolean OnStream(GstElement* decodebin, GstPad* /*pad*/, GstCaps* caps, gpointer /*unused*/) {
  return GuardedCallback(decodebin, FALSE, [&] { return MayGoOn(decodebin, caps) ? TRUE : FALSE; });
}

/// Called for each element that could process the stream. No GStreamer header declares the result
/// values.
gint MayTake(GstElement* decodebin, GstPad* /*pad*/, GstCaps* /*caps*/, GstElementFactory* factory,
             gpointer /*unused*/) {
  constexpr gint kTry = 0;
  constexpr gint kSkip = 2;
  const std::string_view kind =
      gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS);
  if (kind.find("Adaptive") == std::string_view::npos) return kTry;
  Refuse(decodebin, kPlaylist);
  return kSkip;
}

}  // namespace

void GuardContent(GstElement& decodebin) {
  g_signal_connect(&decodebin, "autoplug-continue", G_CALLBACK(OnStream), nullptr);
  g_signal_connect(&decodebin, "autoplug-select", G_CALLBACK(MayTake), nullptr);
}

}  // namespace millrace::ingest
