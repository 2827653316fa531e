// Drops pictures between a fault and the next key frame, because a decoder cannot restore them.
//
// A decoder that joins a stream between two key frames makes grey pictures. A depayloader passes on
// a picture without its lost parts; the decoder fills the hole, and the damage lasts until the next
// key frame. So a gate drops pictures, and the next complete key frame opens it:
//
//   element          gate                     closed
//   depayloader      at its output            after each lost packet
//   H265 decoder     at its input             at the start
//   H264 elements    their own properties     at the start, and after damage
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Adds the gate that `element` needs, if any. The gate ends with the element.
void AddKeyFrameGate(GstElement* element);

}  // namespace millrace::ingest
