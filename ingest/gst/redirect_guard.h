// Stops a camera from redirecting its viewer to another host.
//
// rtspsrc follows "302 Moved" to any address and sends the camera's password there.
#pragma once

#include <gst/gst.h>

#include <string>

namespace millrace::ingest {

/// Makes `rtspsrc` fail at a redirect from `uri` to another scheme, host or port. It also fails at
/// the fifth redirect within the same place. The message has the remedy. Call it before `rtspsrc`
/// starts.
///
/// rtspsrc connects to the new place before it emits its signal. So a connection is made, but
/// closed before any request. Addresses inside a camera's description (control URLs) are harmless:
/// rtspsrc sends them to the camera over the existing connection.
void RefuseRedirects(const std::string& uri, GstElement& rtspsrc);

}  // namespace millrace::ingest
