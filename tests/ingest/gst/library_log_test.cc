#include "ingest/gst/library_log.h"

#include <gmock/gmock.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include "ingest/gst/gstreamer.h"
#include "tests/ingest/support/logged.h"

namespace millrace::ingest {
namespace {

TEST(LibraryLogTest, PutsWhatGStreamerAndGLibSayIntoTheLog) {
  InitializeGStreamer();
  GstDebugCategory* const category = GST_CAT_DEFAULT;
  const GstDebugLevel usual = gst_debug_category_get_threshold(category);
  const Logged logged;
  testing::internal::CaptureStderr();
  g_log("GStreamer", G_LOG_LEVEL_CRITICAL, "assertion 'count > 0' failed");
  g_log("GLib", G_LOG_LEVEL_WARNING, "cannot read rtsp://me:secret@camera/1");
  g_log("GLib", G_LOG_LEVEL_DEBUG, "nobody wants to know");
  GST_CAT_ERROR(category, "nor this");
  gst_debug_category_set_threshold(category, GST_LEVEL_ERROR);
  GST_CAT_ERROR(category, "no %d of rtsp://me:secret@camera/1", 1);
  gst_debug_category_set_threshold(category, usual);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(logged.text(),
            "error GStreamer: assertion 'count > 0' failed\n"
            "warning GLib: cannot read rtsp://***@camera/1\n"
            "error GStreamer: default: no 1 of rtsp://***@camera/1\n");
}

// Such a field need not end in NUL.
TEST(LibraryLogTest, ReadsNoFurtherThanAFieldIsLong) {
  InitializeGStreamer();
  const Logged logged;
  const GLogField fields[] = {{.key = "GLIB_DOMAIN", .value = "GLib-GIOs", .length = 8},
                              {.key = "MESSAGE", .value = "brief, and more", .length = 5}};
  g_log_structured_array(G_LOG_LEVEL_WARNING, fields, std::size(fields));
  EXPECT_EQ(logged.text(), "warning GLib-GIO: brief\n");
}

}  // namespace
}  // namespace millrace::ingest
