// Keeps files and cameras from making GStreamer fetch other things, or count below zero.
//
// decodebin takes any element that decodes, whatever a file is called. Elements for playlists
// (HLS, DASH, Smooth Streaming) fetch what the playlist names, over the network of this machine.
// Raw video without pixels has rtpvrawdepay give a buffer back twice.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Why a playlist is refused, and what to do.
inline constexpr char kPlaylist[] =
    "it is a playlist (HLS, DASH, Smooth Streaming or PLS) and no video: what it names is not "
    "fetched; "
    "name a video itself";

/// Has `decodebin` fail, with what to do, where it meets a playlist or raw pictures of a size that
/// no picture may have (raw_picture.h). To be called before it starts.
void GuardContent(GstElement& decodebin);

}  // namespace millrace::ingest
