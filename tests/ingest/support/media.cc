#include "tests/ingest/support/media.h"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gst_sample.h"

namespace millrace::ingest {
namespace {

GstOwned<GstElement> Launch(const std::string& launch) {
  InitializeGStreamer();
  GError* error = nullptr;
  GstOwned<GstElement> pipeline(gst_parse_launch(launch.c_str(), &error));
  const GstOwned<GError> owned(error);
  EXPECT_EQ(error, nullptr) << error->message;
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  return pipeline;
}

Picture WholePicture(GstSample& sample) {
  GstVideoInfo info;
  gst_video_info_from_caps(&info, gst_sample_get_caps(&sample));
  return *PictureFromSample(sample, {.width = info.width, .height = info.height})->picture;
}

}  // namespace

std::string SampleVideo() { return MILLRACE_SAMPLE_VIDEO; }

void RunPipeline(const std::string& launch) {
  const GstOwned<GstElement> pipeline = Launch(launch);
  const GstOwned<GstBus> bus(gst_element_get_bus(pipeline.get()));
  const auto ends = static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  const GstOwned<GstMessage> end(gst_bus_timed_pop_filtered(bus.get(), GST_CLOCK_TIME_NONE, ends));
  EXPECT_EQ(GST_MESSAGE_TYPE(end.get()), GST_MESSAGE_EOS) << launch;
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}

void WriteMovie(const std::string& path, int frames, int frames_per_second) {
  RunPipeline("videotestsrc pattern=ball num-buffers=" + std::to_string(frames) +
              " ! video/x-raw,width=160,height=120,framerate=" + std::to_string(frames_per_second) +
              "/1 ! x264enc speed-preset=ultrafast ! mp4mux ! filesink location=" + path);
}

void WriteStreet(const std::string& path) {
  RunPipeline("filesrc location=" + SampleVideo() +
              " ! decodebin ! videoconvert ! videoscale add-borders=false"
              " ! videorate rate=2.5 ! video/x-raw,width=640,height=480,"
              "pixel-aspect-ratio=1/1,framerate=25/1"
              " ! x264enc speed-preset=ultrafast bitrate=8000 ! mp4mux"
              " ! filesink location=" +
              path);
}

Picture SlowlyDecoded(const std::string& path, int number, int width, int height) {
  const GstOwned<GstElement> pipeline = Launch(
      "filesrc location=" + path +
      " ! decodebin ! videoconvert ! video/x-raw,format=RGB ! aspectratiocrop aspect-ratio=" +
      std::to_string(width) + "/" + std::to_string(height) +
      " ! videoscale add-borders=false ! video/x-raw,pixel-aspect-ratio=1/1,width=" +
      std::to_string(width) + ",height=" + std::to_string(height) +
      " ! appsink name=pictures sync=false max-buffers=1");
  const GstOwned<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "pictures"));
  GstOwned<GstSample> sample;
  for (int i = 0; i <= number; ++i) {
    sample.reset(gst_app_sink_pull_sample(GST_APP_SINK(sink.get())));
  }
  Picture picture = WholePicture(*sample);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return picture;
}

std::vector<Picture> TestPictures(const std::string& properties, int count, int width, int height) {
  const GstOwned<GstElement> pipeline = Launch(
      "videotestsrc " + properties + " num-buffers=" + std::to_string(count) +
      " ! video/x-raw,format=I420,width=" + std::to_string(width) +
      ",height=" + std::to_string(height) +
      " ! videoconvert ! video/x-raw,format=RGB ! appsink name=pictures sync=false max-buffers=1");
  const GstOwned<GstElement> sink(gst_bin_get_by_name(GST_BIN(pipeline.get()), "pictures"));
  std::vector<Picture> pictures;
  while (const GstOwned<GstSample> sample{gst_app_sink_pull_sample(GST_APP_SINK(sink.get()))}) {
    pictures.push_back(WholePicture(*sample));
  }
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return pictures;
}

double Difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  if (a.rgb.size() != b.rgb.size()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) sum += std::abs(a.rgb[i] - b.rgb[i]);
  return sum / static_cast<double>(a.rgb.size());
}

std::ptrdiff_t OpenFiles() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

}  // namespace millrace::ingest
