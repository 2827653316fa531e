// Keeps pictures out that lost packets have damaged.
//
// A depayloader passes a picture on without the parts that got lost, and decoders paint over the
// hole: a key picture's, until the next one. So after a loss nothing passes but the first whole key
// picture.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Watches `element` if it is a depayloader, for as long as that lives.
void KeepDamagedPicturesOut(GstElement* element);

}  // namespace millrace::ingest
