#include "ingest/gst/rtsp_connections.h"

#include <dlfcn.h>
#include <gio/gio.h>
#include <gst/rtsp/gstrtspconnection.h>

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/mutex.h"
#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {
namespace {

/// The newest connection of this thread, until OnSend() assigns it to its rtspsrc. rtspsrc connects
/// and sends from one thread.
thread_local GstOwned<GSocket> connected;

/// Bytes of the RTSP message that this thread is reading; nullopt: it reads no message.
thread_local std::optional<std::size_t> read_of_message;

/// The connection of one rtspsrc. Thread-safe.
class NotedConnection {
 public:
  void Note(GstOwned<GSocket> socket) ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    socket_ = std::move(socket);
  }
  void Cut() ABSL_LOCKS_EXCLUDED(mu_) {
    const MutexLock lock(mu_);
    if (socket_) g_socket_shutdown(socket_.get(), TRUE, TRUE, nullptr);
  }

 private:
  Mutex mu_;
  GstOwned<GSocket> socket_ ABSL_GUARDED_BY(mu_);
};

constexpr const char* kNoted = "millrace-noted-connection";

NotedConnection& NotedOf(GstElement& rtspsrc) {
  auto* const noted = static_cast<NotedConnection*>(g_object_get_data(G_OBJECT(&rtspsrc), kNoted));
  MILLRACE_CHECK(noted != nullptr);
  return *noted;
}

/// Called before each request, including the first one of a connection.
gboolean OnSend(GstElement* rtspsrc, GstRTSPMessage* /*request*/, gpointer /*unused*/) {
  if (connected) NotedOf(*rtspsrc).Note(std::move(connected));
  return TRUE;
}

template <typename Function>
Function* Next(const char* name) {
  auto* const next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  MILLRACE_CHECK(next != nullptr);
  return next;
}

}  // namespace

void FlushJitterBuffers(GstElement& rtspsrc) {
  GstIterator* const buffers =
      gst_bin_iterate_all_by_element_factory_name(GST_BIN(&rtspsrc), "rtpjitterbuffer");
  const auto flush = [](const GValue* item, gpointer /*unused*/) {
    auto* const buffer = static_cast<GstElement*>(g_value_get_object(item));
    const GstOwned<GstPad> entry(gst_element_get_static_pad(buffer, "sink"));
    gst_pad_send_event(entry.get(), gst_event_new_flush_start());
  };
  while (gst_iterator_foreach(buffers, flush, nullptr) == GST_ITERATOR_RESYNC) {
    gst_iterator_resync(buffers);
  }
  gst_iterator_free(buffers);
}

void NoteRtspConnections(GstElement& rtspsrc) {
  g_object_set_data_full(G_OBJECT(&rtspsrc), kNoted, new NotedConnection,
                         [](gpointer noted) { delete static_cast<NotedConnection*>(noted); });
  g_signal_connect(&rtspsrc, "before-send", G_CALLBACK(OnSend), nullptr);
}

void CutRtspConnection(GstElement& rtspsrc) { NotedOf(rtspsrc).Cut(); }

}  // namespace millrace::ingest

// rtspsrc calls these functions and not GStreamer's own functions of the same names: the linker
// resolves a program's symbols before those of its libraries.
extern "C" {

GstRTSPResult gst_rtsp_connection_create(const GstRTSPUrl* url, GstRTSPConnection** connection) {
  namespace ingest = millrace::ingest;
  static auto* const create =
      ingest::Next<decltype(gst_rtsp_connection_create)>("gst_rtsp_connection_create");
  const GstRTSPResult result = create(url, connection);
  if (result != GST_RTSP_OK) return result;
  gst_rtsp_connection_set_content_length_limit(*connection, ingest::kMaxRtspBodyBytes);
  return result;
}

GstRTSPResult gst_rtsp_connection_receive_usec(GstRTSPConnection* connection,
                                               GstRTSPMessage* message, gint64 timeout) {
  namespace ingest = millrace::ingest;
  static auto* const receive =
      ingest::Next<decltype(gst_rtsp_connection_receive_usec)>("gst_rtsp_connection_receive_usec");
  ingest::read_of_message = 0;
  const GstRTSPResult result = receive(connection, message, timeout);
  const bool too_long = *ingest::read_of_message > ingest::kMaxRtspMessageBytes;
  ingest::read_of_message.reset();
  return too_long ? GST_RTSP_ENOMEM : result;
}

// Reads all streams of the program; only RTSP messages have a limit.
gssize g_input_stream_read(GInputStream* stream, void* buffer, gsize count,
                           GCancellable* cancellable, GError** error) {
  namespace ingest = millrace::ingest;
  static auto* const read = ingest::Next<decltype(g_input_stream_read)>("g_input_stream_read");
  const gssize got = read(stream, buffer, count, cancellable, error);
  if (!ingest::read_of_message || got <= 0) return got;
  *ingest::read_of_message += static_cast<std::size_t>(got);
  if (*ingest::read_of_message <= ingest::kMaxRtspMessageBytes) return got;
  g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_MESSAGE_TOO_LARGE, "the answer is too long");
  return -1;
}

GstRTSPResult gst_rtsp_connection_connect_with_response_usec(GstRTSPConnection* connection,
                                                             gint64 timeout,
                                                             GstRTSPMessage* response) {
  namespace ingest = millrace::ingest;
  static auto* const connect =
      ingest::Next<decltype(gst_rtsp_connection_connect_with_response_usec)>(
          "gst_rtsp_connection_connect_with_response_usec");
  const GstRTSPResult result = connect(connection, timeout, response);
  if (result != GST_RTSP_OK) return result;
  GSocket* const socket = gst_rtsp_connection_get_read_socket(connection);
  ingest::connected.reset(static_cast<GSocket*>(g_object_ref(socket)));
  return result;
}

}  // extern "C"
