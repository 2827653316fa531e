// Stops files and cameras from making GStreamer fetch other addresses or release memory twice.
//
// decodebin chooses decoders by the content, not by the file's name. Playlist elements (HLS, DASH,
// Smooth Streaming) fetch the playlist's addresses over this machine's network. A session
// description (SDP) names ports, and is no video either. Raw video without pixels makes
// rtpvrawdepay release a buffer twice.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// The error for a playlist, with its remedy.
inline constexpr char kPlaylist[] =
    "it is a playlist (HLS, DASH, Smooth Streaming, PLS or SDP) and no video: what it names is not "
    "fetched; name a video itself";

/// Makes `decodebin` fail, with the remedy in the message, at a playlist or at raw pictures of an
/// invalid size (raw_picture.h). Call it before `decodebin` starts.
void GuardContent(GstElement& decodebin);

}  // namespace millrace::ingest
