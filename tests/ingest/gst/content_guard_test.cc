// Files and cameras that would make GStreamer do things that no video needs.
#include "ingest/gst/content_guard.h"

#include <atomic>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/gst/gstreamer.h"
#include "ingest/gst/guarded_callback.h"
#include "ingest/inputs/look.h"
#include "ingest/inputs/open_source.h"
#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/loopback_port.h"
#include "tests/ingest/support/media.h"
#include "tests/ingest/support/spoken_rtsp.h"

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

// They made the server fetch what they name.
TEST(ContentGuardTest, APlaylistIsRefusedAndNothingIsFetched) {
  const LoopbackPort other;
  std::atomic<bool> fetched = false;
  std::jthread waiting([&] { fetched = other.Accept() >= 0; });
  const std::string video = absl::StrCat("http://127.0.0.1:", other.number(), "/video");
  const TemporaryFolder folder;
  const std::string playlists[] = {
      absl::StrCat("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n", video,
                   ".ts\n#EXT-X-ENDLIST\n"),
      // GStreamer does not know these three: "Could not determine type of stream".
      absl::StrCat("#EXTM3U\n", video, ".ts\n"),
      absl::StrCat("\xef\xbb\xbf#EXTM3U\n#EXTINF:10,\n", video, ".ts\n"),
      absl::StrCat("[playlist]\nNumberOfEntries=1\nFile1=", video, ".ts\n"),
      absl::StrCat("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\n", video, ".m3u8\n"),
      absl::StrCat("<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
                   "type=\"static\" mediaPresentationDuration=\"PT10S\" "
                   "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period>"
                   "<AdaptationSet mimeType=\"video/mp4\"><Representation id=\"1\" "
                   "bandwidth=\"1000000\" width=\"64\" height=\"64\" codecs=\"avc1.42E01E\">"
                   "<BaseURL>",
                   video, "</BaseURL></Representation></AdaptationSet></Period></MPD>\n"),
      absl::StrCat("v=0\no=- 1 1 IN IP4 127.0.0.1\ns=s\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ",
                   other.number(), " RTP/AVP 96\na=rtpmap:96 H264/90000\n")};
  for (const std::string& playlist : playlists) {
    const std::string path = folder.Write("video.mp4", playlist);
    for (const absl::Status& refused :
         {OpenSource({.uri = path}).status(), Look({.uri = path}).status()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("it is a playlist (HLS, DASH"));
    }
  }
  other.Close();
  waiting.join();
  EXPECT_FALSE(fetched);
}

/// What becomes of this camera.
std::string CauseOf(const SpokenCamera& camera) {
  const auto source = Open(camera.url(), Patient());
  while (TimesIn(*source, SourceState::kBackingOff) == 0) std::this_thread::yield();
  const std::string cause = Cause(*source);
  source->Stop();
  return cause;
}

/// A few packets of four bytes: a source counts when its packets have come in order.
std::string CauseOf(const std::string& description) {
  const SpokenCamera camera(Playing(description, [](std::int64_t number) {
    return number < 10 ? RtpPacket(static_cast<std::uint16_t>(number), "abcd") : "";
  }));
  return CauseOf(camera);
}

// Of 0 x 0, GStreamer gave a picture back twice. Of the others it said what was wrong in itself.
TEST(ContentGuardTest, RawVideoOfASizeThatNoPictureHasIsRefused) {
  for (const std::string side : {"0", "-1", "99999999", "many"}) {
    const std::string cause = CauseOf(
        Described(absl::StrCat("m=video 0 RTP/AVP 96\r\na=rtpmap:96 RAW/90000\r\n"
                               "a=control:video\r\na=fmtp:96 sampling=YCbCr-4:2:0; depth=8; "
                               "colorimetry=BT601-5; width=",
                               side, "; height=", side, "\r\n")));
    EXPECT_THAT(cause,
                HasSubstr(absl::StrCat("the picture is ", side == "many" ? "0" : side, " x ")));
  }
}

// They were told as faults of this machine, in words that only GStreamer's authors understand.
TEST(ContentGuardTest, ACauseThatIsTheCamerasIsSaidToBe) {
  EXPECT_THAT(CauseOf(Described("m=video 0 RTP/AVP 96\r\na=rtpmap:96 SNAKEOIL/90000\r\n"
                                "a=control:video\r\n")),
              HasSubstr("set H.264 or H.265 where the video comes from, or install"));
  EXPECT_THAT(CauseOf(Described("")), HasSubstr("it sends no video"));
  // Encrypted, without a key.
  EXPECT_THAT(CauseOf(Described("m=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n"
                                "a=control:video\r\n")),
              HasSubstr("its video is of a kind or size that cannot be decoded here"));
}

// A depayloader keeps the fragments of a unit until the last one comes (FU-A, RFC 6184, 5.8).
TEST(ContentGuardTest, AUnitWithoutEndIsNotKept) {
  const std::string fragment = "\x7c\x05" + std::string(60000, 'a');
  const std::string begin = "\x7c\x85" + std::string(60000, 'a');
  const SpokenCamera camera(Playing(
      Described("m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
                "a=fmtp:96 packetization-mode=1\r\na=control:video\r\n"),
      [&](std::int64_t number) {
        return RtpPacket(static_cast<std::uint16_t>(number), number == 0 ? begin : fragment);
      }));
  EXPECT_THAT(CauseOf(camera), HasSubstr("it has sent 64 MiB without a picture"));
}

TEST(GuardedCallbackTest, WhatIsThrownIsWhyTheElementFails) {
  InitializeGStreamer();
  const GstOwned<GstElement> element(gst_bin_new("a"));
  const GstOwned<GstBus> bus(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  EXPECT_EQ(GuardedCallback(element.get(), 1, [] { return 2; }), 2);
  EXPECT_EQ(gst_bus_pop(bus.get()), nullptr);
  EXPECT_EQ(GuardedCallback(element.get(), 1, []() -> int { throw std::bad_alloc(); }), 1);
  const GstOwned<GstMessage> message(gst_bus_pop(bus.get()));
  ASSERT_NE(message, nullptr);
  EXPECT_THAT(std::string(StatusFromMessage(message.get()).message()), HasSubstr("bad_alloc"));
}

}  // namespace
}  // namespace millrace::ingest
