// Keeps a camera from sending its viewer on to another host.
//
// rtspsrc follows "302 Moved" wherever it leads, and tells whoever is there the camera's password.
#pragma once

#include <gst/gst.h>

#include <string>

namespace millrace::ingest {

/// Has `rtspsrc`, which asks the camera at `uri`, fail with what to do where the camera sends it on
/// to another scheme, host or port, or within the same place more than four times. To be called
/// before it starts.
///
/// rtspsrc connects to the other place before its signal is emitted, so a connection is made, and
/// ended without a word. Addresses inside a camera's description (control URLs) are not followed:
/// rtspsrc names them to the camera, over the connection that it has.
void RefuseRedirects(const std::string& uri, GstElement& rtspsrc);

}  // namespace millrace::ingest
