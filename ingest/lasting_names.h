// Keeps a camera's description from growing this process.
//
// GStreamer makes fields of its attributes, and keeps the name of each field for ever. Those of
// a=ssrc have a number in their name that is another with each session.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Has `rtspsrc` leave out of what a camera says of itself what is named anew with each session;
/// nothing here asks for it. To be called before it starts.
void LeaveOutPassingNames(GstElement& rtspsrc);

}  // namespace millrace::ingest
