#include "ingest/gst/pipeline_elements.h"

#include <gst/app/gstappsink.h>
#include <gst/pbutils/descriptions.h>
#include <gst/pbutils/missing-plugins.h>
#include <gst/video/video.h>

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/status.h"
#include "ingest/gst/content_guard.h"
#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_sample.h"
#include "ingest/gst/key_frame_gate.h"
#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

/// The tail of all pipelines. Its size is set at each format of the camera's pictures.
constexpr std::string_view kTail =
    " ! capsfilter name=video caps=video/x-raw ! queue name=entry max-size-buffers=4 "
    "max-size-bytes=0 max-size-time=0"
    " ! videoscale add-borders=false ! videoconvert"
    " ! capsfilter name=size caps=video/x-raw,format=RGB,pixel-aspect-ratio=1/1"
    " ! appsink name=pictures sync=false max-buffers=1 drop=false enable-last-sample=false";

GstOwned<GstElement> Find(GstElement* pipeline, const char* name) {
  return GstOwned<GstElement>(gst_bin_get_by_name(GST_BIN(pipeline), name));
}

/// Excludes decoders of sound, which this pipeline does not use.
bool DecodesPictures(GstElementFactory* factory) {
  constexpr GstElementFactoryListType kPictureDecoder = GST_ELEMENT_FACTORY_TYPE_DECODER |
                                                        GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO |
                                                        GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE;
  return gst_element_factory_list_is_type(factory, kPictureDecoder) != FALSE;
}

/// Whether the missing plugin is for sound or subtitles, so pictures do not need it.
bool IsOfSoundOrText(GstMessage* missing_plugin) {
  const GstStructure* const message = gst_message_get_structure(missing_plugin);
  GstCaps* caps = nullptr;
  if (!gst_structure_get(message, "detail", GST_TYPE_CAPS, &caps, nullptr)) return false;
  const GstOwned<GstCaps> owned(caps);
  if (gst_caps_is_empty(caps) || gst_caps_is_any(caps)) return false;
  const std::string_view name = gst_structure_get_name(gst_caps_get_structure(caps, 0));
  return name.starts_with("audio/") || name.starts_with("text/") || name.starts_with("subpicture/");
}

/// Runs the work of a callback, because GStreamer's C code cannot propagate exceptions. Returns
/// whether `work` succeeded. If not, the pipeline has ended and the listener has the cause.
template <typename Work>
bool Guarded(PipelineListener& listener, Work work) noexcept {
  const absl::Status done = ExceptionToStatus(work);
  if (!done.ok()) listener.OnOutcome(done);
  return done.ok();
}

GstFlowReturn OnNewSample(GstAppSink* sink, gpointer receiver) {
  auto& to = *static_cast<PictureReceiver*>(receiver);
  to.unshown_bytes = 0;
  const GstOwned<GstSample> sample(gst_app_sink_pull_sample(sink));
  if (!sample) return GST_FLOW_EOS;
  bool understood = false;
  const bool taken = Guarded(to.listener, [&] {
    std::optional<DecodedPicture> picture = PictureFromSample(*sample, to.grid);
    understood = picture.has_value();
    if (understood) to.listener.OnPicture(*std::move(picture));
  });
  return taken && understood ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/// The format of the camera's pictures in a caps event; nullopt for other events.
std::optional<CameraFormat> FormatFrom(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return std::nullopt;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  GstVideoInfo video;
  if (!gst_video_info_from_caps(&video, caps)) return std::nullopt;
  CameraFormat format = {.width = video.width, .height = video.height};
  if (video.par_n > 0 && video.par_d > 0) {
    format.pixel_aspect = static_cast<double>(video.par_n) / video.par_d;
  }
  if (video.fps_d > 0) {
    format.frames_per_second = static_cast<double>(video.fps_n) / video.fps_d;
  }
  return format;
}

std::int64_t SizeOf(const GstPadProbeInfo& info) {
  if ((info.type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0) {
    return static_cast<std::int64_t>(
        gst_buffer_list_calculate_size(static_cast<GstBufferList*>(info.data)));
  }
  return static_cast<std::int64_t>(gst_buffer_get_size(static_cast<GstBuffer*>(info.data)));
}

GstOwned<GstCaps> CapsOfSize(const Extent& size) {
  return GstOwned<GstCaps>(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, "RGB", "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1,
      "width", G_TYPE_INT, size.width, "height", G_TYPE_INT, size.height, nullptr));
}

absl::StatusOr<GstOwned<GstElement>> Build(const PipelineOptions& options) {
  InitializeGStreamer();
  const std::string text = absl::StrCat(options.head, std::string(kTail));
  GError* error = nullptr;
  GstOwned<GstElement> pipeline(
      gst_parse_launch_full(text.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error));
  const GstOwned<GError> owned_error(error);
  if (!pipeline) return StatusFromError(*error, nullptr);
  const GstOwned<GstElement> source = Find(pipeline.get(), "source");
  if (options.configure) MILLRACE_RETURN_IF_ERROR(options.configure(*source));
  return pipeline;
}

}  // namespace

absl::StatusOr<std::shared_ptr<PipelineElements>> PipelineElements::Create(
    const PipelineOptions& options, PipelineListener& listener) {
  MILLRACE_ASSIGN_OR_RETURN(GstOwned<GstElement> pipeline, Build(options));
  return std::make_shared<PipelineElements>(std::move(pipeline), options, listener);
}

absl::Status PipelineElements::Check(const PipelineOptions& options) {
  return Build(options).status();
}

PipelineElements::PipelineElements(GstOwned<GstElement> pipeline, const PipelineOptions& options,
                                   PipelineListener& listener)
    : listener_(listener),
      receiver_{.listener = listener_, .grid = {.width = options.width, .height = options.height}},
      hardware_decode_(options.hardware_decode),
      pipeline_(std::move(pipeline)),
      source_(Find(pipeline_.get(), "source")),
      explain_(options.explain),
      unblock_(options.unblock),
      cut_(options.cut),
      max_unshown_bytes_(options.max_unshown_bytes),
      stop_(g_cancellable_new()) {
  WatchBus();
  WatchPictures();
  WatchFormat();
  WatchDecoder();
  WatchSource();
  g_signal_connect(pipeline_.get(), "deep-element-added", G_CALLBACK(OnElementAdded), this);
}

void PipelineElements::SetState(GstState state) {
  if (gst_element_set_state(pipeline_.get(), state) != GST_STATE_CHANGE_FAILURE) return;
  Guarded(listener_, [this] {
    listener_.OnOutcome(absl::UnavailableError("GStreamer could not start the pipeline"));
  });
}

void PipelineElements::Cancel() { g_cancellable_cancel(stop_.get()); }

void PipelineElements::Cut() {
  if (cut_) cut_(*source_);
}

void PipelineElements::End() {
  Guarded(listener_, [this] {
    if (unblock_) unblock_(*source_);
  });
  gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  const GstOwned<GstBus> bus(gst_element_get_bus(pipeline_.get()));
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}

std::string PipelineElements::Codec() const {
  std::string codec;
  const auto take = [](const GValue* item, gpointer out) {
    auto* const element = static_cast<GstElement*>(g_value_get_object(item));
    GstElementFactory* const factory = gst_element_get_factory(element);
    if (factory == nullptr || !DecodesPictures(factory)) return;
    const GstOwned<GstPad> pad(gst_element_get_static_pad(element, "sink"));
    const GstOwned<GstCaps> caps(pad ? gst_pad_get_current_caps(pad.get()) : nullptr);
    if (!caps) return;
    const GstOwned<gchar> words(gst_pb_utils_get_codec_description(caps.get()));
    if (words) *static_cast<std::string*>(out) = words.get();
  };
  GstIterator* const elements = gst_bin_iterate_recurse(GST_BIN(pipeline_.get()));
  // If an element is added or removed meanwhile, the iteration ends early and the codec is unknown.
  gst_iterator_foreach(elements, take, &codec);
  gst_iterator_free(elements);
  return codec;
}

void PipelineElements::WatchBus() {
  const GstOwned<GstBus> bus(gst_element_get_bus(pipeline_.get()));
  gst_bus_set_sync_handler(bus.get(), OnMessage, this, nullptr);
}

void PipelineElements::WatchPictures() {
  const GstOwned<GstElement> sink = Find(pipeline_.get(), "pictures");
  GstAppSinkCallbacks callbacks = {};
  callbacks.new_sample = OnNewSample;
  gst_app_sink_set_callbacks(GST_APP_SINK(sink.get()), &callbacks, &receiver_, nullptr);
}

// The probe is behind the queue and before the scaler. So all pictures of the previous format are
// delivered, and the scaler does not know the new format yet.
void PipelineElements::WatchFormat() {
  const GstOwned<GstElement> entry = Find(pipeline_.get(), "entry");
  const GstOwned<GstPad> pad(gst_element_get_static_pad(entry.get(), "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, OnEvent, this, nullptr);
}

// GStreamer reports an unlinked stream only after it has pushed much data.
void PipelineElements::WatchDecoder() {
  const GstOwned<GstElement> decoder = Find(pipeline_.get(), "decoder");
  if (!decoder) return;
  GuardContent(*decoder);
  g_signal_connect(decoder.get(), "no-more-pads", G_CALLBACK(OnNoMorePads), this);
  if (hardware_decode_ == HardwareDecode::kAuto) return;  // GStreamer's ranking decides.
  g_signal_connect(decoder.get(), "autoplug-select", G_CALLBACK(OnAutoplugSelect), this);
}

void PipelineElements::WatchSource() {
  if (max_unshown_bytes_ == 0) return;
  g_signal_connect(source_.get(), "pad-added", G_CALLBACK(OnSourcePad), this);
}

void PipelineElements::OnSourcePad(GstElement* /*source*/, GstPad* pad, gpointer self) {
  constexpr auto kData =
      GstPadProbeType(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  gst_pad_add_probe(pad, kData, OnData, self, nullptr);
}

// A depayloader that assembles a picture keeps its packets until the picture is complete.
GstPadProbeReturn PipelineElements::OnData(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer self) {
  auto& elements = *static_cast<PipelineElements*>(self);
  const std::int64_t max_bytes = elements.max_unshown_bytes_;
  const std::int64_t unshown = elements.receiver_.unshown_bytes += SizeOf(*info);
  if (unshown <= max_bytes) return GST_PAD_PROBE_OK;
  Guarded(elements.listener_, [&] {
    elements.listener_.OnOutcome(absl::UnavailableError(absl::StrCat(
        "it has sent ", max_bytes >> 20, " MiB without a picture; update or restart the camera")));
  });
  return GST_PAD_PROBE_DROP;
}

// decodebin calls it for each element that could process the stream. No header declares the result
// values.
gint PipelineElements::OnAutoplugSelect(GstElement* /*decoder*/, GstPad* /*pad*/, GstCaps* /*caps*/,
                                        GstElementFactory* factory, gpointer self) {
  constexpr gint kTry = 0;
  constexpr gint kSkip = 2;
  if (!DecodesPictures(factory)) return kTry;
  const bool hardware =
      gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_HARDWARE) != FALSE;
  const bool wanted =
      static_cast<PipelineElements*>(self)->hardware_decode_ == HardwareDecode::kRequire;
  return hardware == wanted ? kTry : kSkip;
}

void PipelineElements::OnNoMorePads(GstElement* /*decoder*/, gpointer self) {
  auto& pipeline = *static_cast<PipelineElements*>(self);
  Guarded(pipeline.listener_, [&] {
    const GstOwned<GstElement> video = Find(pipeline.pipeline_.get(), "video");
    const GstOwned<GstPad> pad(gst_element_get_static_pad(video.get(), "sink"));
    if (!gst_pad_is_linked(pad.get())) pipeline.listener_.OnOutcome(pipeline.Explained(NoVideo()));
  });
}

// The message is handled where it is posted and dropped there: a bus without a reader would grow
// without limit.
GstBusSyncReply PipelineElements::OnMessage(GstBus* /*bus*/, GstMessage* message, gpointer self) {
  const GstOwned<GstMessage> owned(message);
  auto& pipeline = *static_cast<PipelineElements*>(self);
  Guarded(pipeline.listener_, [&] { pipeline.HandleMessage(message); });
  return GST_BUS_DROP;
}

void PipelineElements::HandleMessage(GstMessage* message) {
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_EOS:
      listener_.OnOutcome(absl::OkStatus());
      break;
    case GST_MESSAGE_ERROR:
      HandleError(message);
      break;
    case GST_MESSAGE_WARNING:
      listener_.OnWarning(StatusFromMessage(message));
      break;
    case GST_MESSAGE_ELEMENT:
      if (gst_is_missing_plugin_message(message) && !IsOfSoundOrText(message)) {
        const GstOwned<gchar> what(gst_missing_plugin_message_get_description(message));
        MutexLock lock(mu_);
        missing_plugin_ = what.get();
      }
      break;
    default:
      break;
  }
}

// Consequences of the first error are posted as errors too, and each explanation would take as
// long.
void PipelineElements::HandleError(GstMessage* message) {
  if (has_failed_.exchange(true)) return;
  const GstFailure failure = FailureIn(message);
  absl::Status status = explain_ ? explain_(*source_, *failure.error, failure.detail.get(), *stop_)
                                 : StatusFromError(*failure.error, failure.detail.get());
  listener_.OnOutcome(Explained(std::move(status)));
}

// Returns `error`, or the missing plugin that caused it.
absl::Status PipelineElements::Explained(absl::Status error) {
  MutexLock lock(mu_);
  if (missing_plugin_.empty() || error.code() != absl::StatusCode::kFailedPrecondition) {
    return error;
  }
  if (hardware_decode_ == HardwareDecode::kRequire) {
    return absl::FailedPreconditionError(
        absl::StrCat("this machine's GStreamer has no ", missing_plugin_,
                     " in hardware: set source.hw_decode to auto, or install its plugin"));
  }
  // For a common codec, only the plugin is missing. For a rare codec, the sender may use another
  // one.
  const bool usual = missing_plugin_.find("H.264") != std::string::npos ||
                     missing_plugin_.find("H.265") != std::string::npos;
  return absl::FailedPreconditionError(
      absl::StrCat("this machine's GStreamer has no ", missing_plugin_, "; ",
                   usual ? "" : "set H.264 or H.265 where the video comes from, or ",
                   "install the plugin that has it (most are in gstreamer1.0-libav)"));
}

void PipelineElements::OnElementAdded(GstBin* /*bin*/, GstBin* /*parent*/, GstElement* element,
                                      gpointer /*self*/) {
  AddKeyFrameGate(element);
}

GstPadProbeReturn PipelineElements::OnEvent(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer self) {
  auto& pipeline = *static_cast<PipelineElements*>(self);
  Guarded(pipeline.listener_, [&] {
    const std::optional<CameraFormat> format = FormatFrom(GST_PAD_PROBE_INFO_EVENT(info));
    if (!format) return;
    pipeline.ScaleTo(CoveringSize(format->shown(), pipeline.receiver_.grid));
    pipeline.listener_.OnFormat(*format);
  });
  return GST_PAD_PROBE_OK;
}

void PipelineElements::ScaleTo(const Extent& size) {
  const GstOwned<GstElement> filter = Find(pipeline_.get(), "size");
  g_object_set(filter.get(), "caps", CapsOfSize(size).get(), nullptr);
}

}  // namespace millrace::ingest
