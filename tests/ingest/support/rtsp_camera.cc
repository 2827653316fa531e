// millrace_rtsp_camera: a real RTSP camera for tests.
//
// Serves GStreamer's test picture, or a video file in its own time, over RTSP. When it is ready, it
// prints its URL and a line break on standard output, and nothing else except with `--wrap`. It
// ends at SIGTERM, SIGINT, or at the end of its standard input, so that it never outlives a test
// that started it with a pipe. Its picture continues between clients, so that they join in the
// middle.
//
//   --address A     127.0.0.1 by default; :: listens on every address, of IPv4, too
//   --port N        0, the default, takes a free one; the printed URL says which
//   --path PATH     /live by default. A query counts: /live?channel=1 is another place than /live
//   --mounts FILE   serve at many places instead; rtsp_access.h has the file's form
//   --fps N         25 by default
//   --width N --height N      320 x 240 by default
//   --pattern NAME  of videotestsrc; smpte by default. `ball` moves
//   --speed N       the pattern moves N pixels to the left with each frame; 0 by default
//   --file PATH     serve this file instead, scaled to the size; it ends when the file ends
//   --widen-after N after N frames the picture is twice as wide, in the same stream
//   --gop N         frames from one key frame to the next; 25 by default
//   --codec NAME    h264 (default), h265 or mjpeg; pcma is sound without a picture, unknown a codec
//                   that no player has
//   --b-frames N    of H.264, between two others; 0 by default
//   --frames N      the stream ends after N frames
//   --wrap          RTP timestamps and sequence numbers start some seconds before they wrap; after
//                   both have wrapped, it prints `wrapped`
//   --loss N        N of a hundred packets get lost
//   --reorder N     N of a hundred packets come up to 20 ms late, after others
//   --user NAME --password TEXT   ask for these, by Basic
//   --digest        ask for them by Digest, as most cameras do
//   --transport NAME              tcp or udp only; both by default
//   --record        no picture of its own: serve the video that a client publishes (RECORD) at
//                   /publish, in --codec
//   --tls FILE      speak RTSPS, with the certificate and the key in this file, in PEM
//
// A camera that was killed comes back under its old URL by --port.
#include <glib-unix.h>
#include <gst/gst.h>
#include <gst/rtsp-server/rtsp-server.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/ingest/support/rtsp_access.h"
#include "tests/ingest/support/rtsp_published.h"

namespace {

using millrace::ingest::MountPoint;

struct Free {
  void operator()(gpointer object) const { g_object_unref(object); }
  void operator()(GMainLoop* loop) const { g_main_loop_unref(loop); }
  void operator()(GOptionContext* context) const { g_option_context_free(context); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// Filled by GLib's parser, whose strings live until the program ends.
struct Options {
  gint port = 0;
  gint fps = 25;
  gint width = 320;
  gint height = 240;
  gint gop = 25;
  gint b_frames = 0;
  gint frames = -1;
  gint loss = 0;
  gint reorder = 0;
  gint widen_after = 0;
  gint speed = 0;
  gboolean wrap = FALSE;
  gboolean record = FALSE;
  gboolean digest = FALSE;
  const gchar* address = "127.0.0.1";
  const gchar* path = "/live";
  const gchar* mounts = nullptr;
  const gchar* pattern = "smpte";
  const gchar* file = nullptr;
  const gchar* codec = "h264";
  const gchar* user = nullptr;
  const gchar* password = "";
  const gchar* transport = nullptr;
  const gchar* tls = nullptr;
};

bool Parse(int* argc, char*** argv, Options* options) {
  const GOptionEntry entries[] = {
      {"address", 0, 0, G_OPTION_ARG_STRING, &options->address, "Where to listen", "A"},
      {"port", 0, 0, G_OPTION_ARG_INT, &options->port, "Port; 0 takes a free one", "N"},
      {"fps", 0, 0, G_OPTION_ARG_INT, &options->fps, "Frames a second", "N"},
      {"width", 0, 0, G_OPTION_ARG_INT, &options->width, "Pixels", "N"},
      {"height", 0, 0, G_OPTION_ARG_INT, &options->height, "Pixels", "N"},
      {"gop", 0, 0, G_OPTION_ARG_INT, &options->gop, "Frames between key frames", "N"},
      {"path", 0, 0, G_OPTION_ARG_STRING, &options->path, "Path of the URL", "PATH"},
      {"mounts", 0, 0, G_OPTION_ARG_STRING, &options->mounts, "Places to serve at", "FILE"},
      {"digest", 0, 0, G_OPTION_ARG_NONE, &options->digest, "Ask by Digest", nullptr},
      {"pattern", 0, 0, G_OPTION_ARG_STRING, &options->pattern, "Of videotestsrc", "NAME"},
      {"speed", 0, 0, G_OPTION_ARG_INT, &options->speed, "Pixels a frame", "N"},
      {"file", 0, 0, G_OPTION_ARG_STRING, &options->file, "Serve this video", "PATH"},
      {"b-frames", 0, 0, G_OPTION_ARG_INT, &options->b_frames, "Between two others", "N"},
      {"frames", 0, 0, G_OPTION_ARG_INT, &options->frames, "The stream's end", "N"},
      {"widen-after", 0, 0, G_OPTION_ARG_INT, &options->widen_after, "Frames", "N"},
      {"loss", 0, 0, G_OPTION_ARG_INT, &options->loss, "Of a hundred packets", "N"},
      {"reorder", 0, 0, G_OPTION_ARG_INT, &options->reorder, "Of a hundred packets", "N"},
      {"wrap", 0, 0, G_OPTION_ARG_NONE, &options->wrap, "RTP's numbers wrap soon", nullptr},
      {"record", 0, 0, G_OPTION_ARG_NONE, &options->record, "Serve what is published", nullptr},
      {"codec", 0, 0, G_OPTION_ARG_STRING, &options->codec, "What encodes", "NAME"},
      {"user", 0, 0, G_OPTION_ARG_STRING, &options->user, "Ask for this user", "NAME"},
      {"password", 0, 0, G_OPTION_ARG_STRING, &options->password, "and password", "TEXT"},
      {"transport", 0, 0, G_OPTION_ARG_STRING, &options->transport, "tcp or udp only", "NAME"},
      {"tls", 0, 0, G_OPTION_ARG_STRING, &options->tls, "Certificate and key, in PEM", "FILE"},
      {nullptr, 0, 0, G_OPTION_ARG_NONE, nullptr, nullptr, nullptr}};
  const Owned<GOptionContext> context(g_option_context_new("- an RTSP camera for tests"));
  g_option_context_add_main_entries(context.get(), entries, nullptr);
  GError* error = nullptr;
  if (g_option_context_parse(context.get(), argc, argv, &error) != 0) return true;
  std::fprintf(stderr, "%s\n", error->message);
  g_error_free(error);
  return false;
}

/// Of the raw pictures.
std::string CapsOf(const Options& options, int width) {
  std::ostringstream text;
  text << "video/x-raw,format=I420,pixel-aspect-ratio=1/1,width=" << width
       << ",height=" << options.height << ",framerate=" << options.fps << "/1";
  return text.str();
}

/// What the camera sees, as raw pictures in their own time.
std::string Picture(const Options& options) {
  std::ostringstream text;
  if (std::string(options.codec) == "pcma") return "audiotestsrc is-live=true ! audioconvert";
  if (options.file != nullptr) {
    text << "filesrc location=\"" << options.file << "\" ! decodebin ! identity sync=true"
         << " ! videorate ! videoscale add-borders=false ! videoconvert";
  } else {
    text << "videotestsrc is-live=true num-buffers=" << options.frames
         << " pattern=" << options.pattern << " horizontal-speed=" << options.speed;
  }
  text << " ! capsfilter name=size caps=" << CapsOf(options, options.width);
  return text.str();
}

std::string H264Encoder(const Options& options) {
  const std::string b_frames = std::to_string(options.b_frames);
  return " ! x264enc speed-preset=veryfast bitrate=2000 option-string=scenecut=0 key-int-max=" +
         std::to_string(options.gop) +
         (options.b_frames > 0 ? " b-adapt=false bframes=" + b_frames : " tune=zerolatency");
}

/// The encoder and its RTP payloader, or nothing for a codec it does not know.
std::string Encoder(const Options& options) {
  const std::string codec = options.codec;
  const std::string payloader = options.loss + options.reorder > 0 ? "payloader" : "pay0";
  if (codec == "h264") {
    return H264Encoder(options) + " ! rtph264pay name=" + payloader + " pt=96 config-interval=-1";
  }
  if (codec == "h265") {
    return " ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=" +
           std::to_string(options.gop) + " ! rtph265pay name=" + payloader +
           " pt=96 config-interval=-1";
  }
  if (codec == "pcma") return " ! alawenc ! rtppcmapay name=pay0 pt=8";
  if (codec == "unknown") {
    return H264Encoder(options) + " ! rtph264pay pt=96 ! capssetter name=pay0" +
           " caps=application/x-rtp,encoding-name=NO-SUCH-CODEC";
  }
  if (codec == "mjpeg") return " ! jpegenc ! rtpjpegpay name=" + payloader + " pt=26";
  return {};
}

/// What is wrong with RTP's packets.
std::string Packets(const Options& options) {
  std::string text;
  if (options.wrap != FALSE) {
    constexpr guint32 kTicksBefore = 3 * 90'000;
    constexpr guint kPacketsBefore = 150;
    text += " timestamp-offset=" + std::to_string(0U - kTicksBefore) +
            " seqnum-offset=" + std::to_string(65536 - kPacketsBefore);
  }
  if (options.loss + options.reorder == 0) return text;
  return text + " ! netsim name=pay0 allow-reordering=true max-delay=20 min-delay=5" +
         " drop-probability=" + std::to_string(options.loss / 100.0) +
         " delay-probability=" + std::to_string(options.reorder / 100.0);
}

/// The last sent numbers, and which of them have wrapped.
struct Numbers {
  guint timestamp = 0;
  guint number = 0;
  bool timestamp_wrapped = false;
  bool number_wrapped = false;
};

GstPadProbeReturn TellWhenBothWrapped(GstPad* pad, GstPadProbeInfo* /*info*/, gpointer data) {
  auto& sent = *static_cast<Numbers*>(data);
  guint timestamp = 0;
  guint number = 0;
  const Owned<GstElement> payloader(gst_pad_get_parent_element(pad));
  g_object_get(payloader.get(), "timestamp", &timestamp, "seqnum", &number, nullptr);
  sent.timestamp_wrapped |= sent.timestamp > G_MAXUINT32 / 2 && timestamp < G_MAXUINT32 / 2;
  sent.number_wrapped |= sent.number > G_MAXUINT16 / 2 && number < G_MAXUINT16 / 2;
  sent.timestamp = timestamp;
  sent.number = number;
  if (!sent.timestamp_wrapped || !sent.number_wrapped) return GST_PAD_PROBE_OK;
  std::puts("wrapped");
  std::fflush(stdout);
  return GST_PAD_PROBE_REMOVE;
}

void WatchNumbers(GstRTSPMediaFactory* /*factory*/, GstRTSPMedia* media, gpointer /*unused*/) {
  const Owned<GstElement> pipeline(gst_rtsp_media_get_element(media));
  const Owned<GstElement> payloader(
      gst_bin_get_by_name_recurse_up(GST_BIN(pipeline.get()), "pay0"));
  const Owned<GstPad> pad(gst_element_get_static_pad(payloader.get(), "src"));
  const auto packets =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  gst_pad_add_probe(pad.get(), packets, TellWhenBothWrapped, new Numbers,
                    [](gpointer data) { delete static_cast<Numbers*>(data); });
}

/// The remaining pictures of the first size.
struct Narrow {
  int frames;
  std::string wide;
};

GstPadProbeReturn Widen(GstPad* pad, GstPadProbeInfo* /*info*/, gpointer data) {
  auto& narrow = *static_cast<Narrow*>(data);
  if (--narrow.frames > 0) return GST_PAD_PROBE_OK;
  const Owned<GstElement> size(gst_pad_get_parent_element(pad));
  GstCaps* caps = gst_caps_from_string(narrow.wide.c_str());
  g_object_set(size.get(), "caps", caps, nullptr);
  gst_caps_unref(caps);
  return GST_PAD_PROBE_REMOVE;
}

void WidenLater(GstRTSPMediaFactory* /*factory*/, GstRTSPMedia* media, gpointer data) {
  const auto& options = *static_cast<const Options*>(data);
  const Owned<GstElement> pipeline(gst_rtsp_media_get_element(media));
  const Owned<GstElement> size(gst_bin_get_by_name_recurse_up(GST_BIN(pipeline.get()), "size"));
  const Owned<GstPad> pad(gst_element_get_static_pad(size.get(), "src"));
  gst_pad_add_probe(
      pad.get(), GST_PAD_PROBE_TYPE_BUFFER, Widen,
      new Narrow{.frames = options.widen_after, .wide = CapsOf(options, 2 * options.width)},
      [](gpointer narrow) { delete static_cast<Narrow*>(narrow); });
}

/// Whether the certificate could be read.
bool SpeakTls(GstRTSPAuth* auth, const char* file) {
  GError* error = nullptr;
  GTlsCertificate* certificate = g_tls_certificate_new_from_file(file, &error);
  if (certificate == nullptr) {
    std::fprintf(stderr, "%s\n", error->message);
    g_error_free(error);
    return false;
  }
  gst_rtsp_auth_set_tls_certificate(auth, certificate);
  g_object_unref(certificate);
  return true;
}

GstRTSPLowerTrans Protocols(const Options& options) {
  if (options.transport == nullptr) {
    return static_cast<GstRTSPLowerTrans>(GST_RTSP_LOWER_TRANS_TCP | GST_RTSP_LOWER_TRANS_UDP);
  }
  return std::string(options.transport) == "udp" ? GST_RTSP_LOWER_TRANS_UDP
                                                 : GST_RTSP_LOWER_TRANS_TCP;
}

/// What plays at one place.
GstRTSPMediaFactory* NewFactory(const Options& options) {
  GstRTSPMediaFactory* factory = gst_rtsp_media_factory_new();
  const std::string launch = "( " + Picture(options) + Encoder(options) + Packets(options) + " )";
  gst_rtsp_media_factory_set_launch(factory, launch.c_str());
  gst_rtsp_media_factory_set_shared(factory, TRUE);
  gst_rtsp_media_factory_set_protocols(factory, Protocols(options));
  if (options.wrap != FALSE) {
    g_signal_connect(factory, "media-configure", G_CALLBACK(WatchNumbers), nullptr);
  }
  if (options.widen_after > 0) {
    g_signal_connect(factory, "media-configure", G_CALLBACK(WidenLater),
                     const_cast<Options*>(&options));
  }
  return factory;
}

std::vector<MountPoint> MountPoints(const Options& options) {
  if (options.mounts != nullptr) return millrace::ingest::ReadMountPoints(options.mounts);
  return {millrace::ingest::MountPointAt(options.path, options.user, options.password)};
}

/// Whether the certificate could be read. `places` must outlive the server.
bool Mount(GstRTSPServer* server, const std::vector<MountPoint>& places, const Options& options) {
  const Owned<GstRTSPAuth> auth(gst_rtsp_auth_new());
  if (options.digest != FALSE) {
    gst_rtsp_auth_set_supported_methods(auth.get(), GST_RTSP_AUTH_DIGEST);
  }
  const Owned<GstRTSPMountPoints> mounts(gst_rtsp_server_get_mount_points(server));
  bool asks = options.tls != nullptr;
  for (const MountPoint& place : places) {
    GstRTSPMediaFactory* factory = NewFactory(options);
    millrace::ingest::AskForLogin(*auth, *factory, place);
    asks |= !place.user.empty();
    millrace::ingest::AddPlace(*mounts, *factory, place);
  }
  millrace::ingest::AskForExactPlaces(*server, places);
  if (options.tls != nullptr && !SpeakTls(auth.get(), options.tls)) return false;
  if (asks) gst_rtsp_server_set_auth(server, auth.get());
  return true;
}

/// As it is printed.
std::string Url(GstRTSPServer* server, const MountPoint& place, const Options& options) {
  const std::string address = options.address;
  const bool bracketed = address.find(':') != std::string::npos;
  return std::string(options.tls != nullptr ? "rtsps" : "rtsp") + "://" +
         (bracketed ? "[" + address + "]" : address) + ":" +
         std::to_string(gst_rtsp_server_get_bound_port(server)) + place.path +
         (place.query.empty() ? "" : "?" + place.query);
}

gboolean Quit(gpointer loop) {
  g_main_loop_quit(static_cast<GMainLoop*>(loop));
  return G_SOURCE_REMOVE;
}

gboolean QuitAtEnd(GIOChannel* input, GIOCondition /*condition*/, gpointer loop) {
  gchar discarded[256];
  gsize size = 0;
  const GIOStatus status =
      g_io_channel_read_chars(input, discarded, sizeof(discarded), &size, nullptr);
  if (status == G_IO_STATUS_NORMAL || status == G_IO_STATUS_AGAIN) return G_SOURCE_CONTINUE;
  return Quit(loop);
}

void QuitWhenTold(GMainLoop* loop) {
  g_unix_signal_add(SIGTERM, Quit, loop);
  g_unix_signal_add(SIGINT, Quit, loop);
  GIOChannel* input = g_io_channel_unix_new(0);
  g_io_channel_set_encoding(input, nullptr, nullptr);
  const auto events = static_cast<GIOCondition>(G_IO_IN | G_IO_HUP | G_IO_ERR | G_IO_NVAL);
  g_io_add_watch(input, events, QuitAtEnd, loop);
  g_io_channel_unref(input);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(&argc, &argv, &options)) return 2;
  if (Encoder(options).empty()) {
    std::fprintf(stderr, "unknown codec %s: h264, h265, mjpeg, pcma or unknown\n", options.codec);
    return 2;
  }
  gst_init(nullptr, nullptr);
  const Owned<GMainLoop> loop(g_main_loop_new(nullptr, FALSE));
  const Owned<GstRTSPServer> server(gst_rtsp_server_new());
  gst_rtsp_server_set_address(server.get(), options.address);
  gst_rtsp_server_set_service(server.get(), std::to_string(options.port).c_str());
  const std::vector<MountPoint> places = MountPoints(options);
  if (places.empty()) {
    std::fprintf(stderr, "%s: cannot be read, or names no place\n", options.mounts);
    return 2;
  }
  if (options.record != FALSE) {
    MountPublished(server.get(), options.codec, options.path);
  } else if (!Mount(server.get(), places, options)) {
    return 2;
  }
  if (gst_rtsp_server_attach(server.get(), nullptr) == 0) {
    std::fprintf(stderr, "cannot listen on %s, port %d\n", options.address, options.port);
    return 1;
  }
  QuitWhenTold(loop.get());
  std::puts(Url(server.get(), places.front(), options).c_str());
  std::fflush(stdout);
  g_main_loop_run(loop.get());
  return 0;
}
