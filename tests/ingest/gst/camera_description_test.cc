#include "ingest/gst/camera_description.h"

#include <gst/sdp/gstsdpmessage.h>
#include <gtest/gtest.h>

#include <string>

#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {
namespace {

/// How many media of `described` a source that is told so keeps, as its camera describes them.
guint MediaOf(int described) {
  InitializeGStreamer();
  const GstOwned<GstElement> source(
      GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("rtspsrc", nullptr))));
  TrimDescription(*source);
  std::string text = "v=0\r\ns=door\r\n";
  for (int i = 0; i < described; ++i) text += "m=video 0 RTP/AVP 96\r\na=control:track\r\n";
  GstSDPMessage* description = nullptr;
  gst_sdp_message_new_from_text(text.c_str(), &description);
  g_signal_emit_by_name(source.get(), "on-sdp", description);
  const guint left = gst_sdp_message_medias_len(description);
  gst_sdp_message_free(description);
  return left;
}

TEST(CameraDescriptionTest, ADescriptionKeepsItsFirstMedia) {
  EXPECT_EQ(MediaOf(0), 0U);
  EXPECT_EQ(MediaOf(3), 3U);
  EXPECT_EQ(MediaOf(16), kMaxMedia);
  EXPECT_EQ(MediaOf(17), kMaxMedia);
  EXPECT_EQ(MediaOf(1000), kMaxMedia);
}

}  // namespace
}  // namespace millrace::ingest
