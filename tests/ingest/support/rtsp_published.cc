#include "tests/ingest/support/rtsp_published.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>

#include <atomic>
#include <mutex>

namespace {

/// The element that gets the pictures: that of the last served pipeline, or null.
class Outlet {
 public:
  /// Takes the reference.
  void Become(GstElement* source) {
    const std::scoped_lock lock(mu_);
    if (source_ != nullptr) gst_object_unref(source_);
    source_ = source;
  }

  /// Stamps the buffer with the time of the served pipeline.
  void Push(GstBuffer* published) {
    const std::scoped_lock lock(mu_);
    if (source_ == nullptr) return;
    GstBuffer* buffer = gst_buffer_copy(published);
    GST_BUFFER_PTS(buffer) = GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
    gst_app_src_push_buffer(GST_APP_SRC(source_), buffer);
  }

 private:
  std::mutex mu_;
  GstElement* source_ = nullptr;
};

// One a program: it outlives both servers' threads.
Outlet& TheOutlet() {
  static auto* const outlet = new Outlet;
  return *outlet;
}

GstElement* ElementOf(GstRTSPMedia* media, const char* name) {
  GstElement* bin = gst_rtsp_media_get_element(media);
  GstElement* element = gst_bin_get_by_name_recurse_up(GST_BIN(bin), name);
  gst_object_unref(bin);
  return element;
}

/// A publisher, its served pipeline and path. Lives until the program ends.
struct Published {
  GstRTSPServer* server;
  std::string path;
  std::string out;
  std::atomic<bool> served = false;
};

void OnViewer(GstRTSPMediaFactory* /*factory*/, GstRTSPMedia* media, gpointer /*unused*/) {
  TheOutlet().Become(ElementOf(media, "source"));
}

/// Clients get the published video from now on.
void Serve(Published& published) {
  GstRTSPMediaFactory* factory = gst_rtsp_media_factory_new();
  gst_rtsp_media_factory_set_launch(factory, published.out.c_str());
  gst_rtsp_media_factory_set_shared(factory, TRUE);
  g_signal_connect(factory, "media-configure", G_CALLBACK(OnViewer), nullptr);
  GstRTSPMountPoints* mounts = gst_rtsp_server_get_mount_points(published.server);
  gst_rtsp_mount_points_add_factory(mounts, published.path.c_str(), factory);  // Takes it.
  g_object_unref(mounts);
}

GstFlowReturn OnPublished(GstAppSink* sink, gpointer data) {
  auto& published = *static_cast<Published*>(data);
  GstSample* sample = gst_app_sink_pull_sample(sink);
  if (sample == nullptr) return GST_FLOW_EOS;
  if (!published.served.exchange(true)) Serve(published);
  TheOutlet().Push(gst_sample_get_buffer(sample));
  gst_sample_unref(sample);
  return GST_FLOW_OK;
}

/// Removes the path: clients get 404.
void OnGone(GstRTSPMedia* /*media*/, gpointer data) {
  auto& published = *static_cast<Published*>(data);
  GstRTSPMountPoints* mounts = gst_rtsp_server_get_mount_points(published.server);
  gst_rtsp_mount_points_remove_factory(mounts, published.path.c_str());
  g_object_unref(mounts);
  TheOutlet().Become(nullptr);
  published.served = false;
}

void OnPublisher(GstRTSPMediaFactory* /*factory*/, GstRTSPMedia* media, gpointer data) {
  GstElement* sink = ElementOf(media, "published");
  GstAppSinkCallbacks callbacks{};
  callbacks.new_sample = OnPublished;
  gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, data, nullptr);
  gst_object_unref(sink);
  g_signal_connect(media, "unprepared", G_CALLBACK(OnGone), data);
}

}  // namespace

void MountPublished(GstRTSPServer* server, const std::string& codec, const char* path) {
  // A viewer's thread waits for pictures, which the publisher's brings.
  GstRTSPThreadPool* threads = gst_rtsp_server_get_thread_pool(server);
  gst_rtsp_thread_pool_set_max_threads(threads, -1);
  g_object_unref(threads);

  const std::string caps = "video/x-" + codec + ",stream-format=byte-stream,alignment=au";
  const std::string parse = codec + "parse config-interval=-1 ! " + caps;
  const std::string in = "( rtp" + codec + "depay name=depay0 ! " + parse +
                         " ! appsink name=published sync=false max-buffers=25 drop=true )";
  const std::string out =
      "( appsrc name=source is-live=true do-timestamp=true format=time caps=" + caps +
      " max-buffers=25 leaky-type=downstream ! " + parse + " ! rtp" + codec +
      "pay name=pay0 pt=96 config-interval=-1 )";
  auto* const published = new Published{.server = server, .path = path, .out = out};
  GstRTSPMediaFactory* factory = gst_rtsp_media_factory_new();
  gst_rtsp_media_factory_set_launch(factory, in.c_str());
  gst_rtsp_media_factory_set_transport_mode(factory, GST_RTSP_TRANSPORT_MODE_RECORD);
  g_signal_connect(factory, "media-configure", G_CALLBACK(OnPublisher), published);
  GstRTSPMountPoints* mounts = gst_rtsp_server_get_mount_points(server);
  gst_rtsp_mount_points_add_factory(mounts, "/publish", factory);  // Takes it.
  g_object_unref(mounts);
}
