// Drops pictures that lost packets have damaged.
//
// A depayloader passes on a picture without its lost parts. Decoders then fill the hole, and after
// a damaged key picture the damage lasts until the next key picture. So after a loss, the gate
// drops everything before the next complete key picture.
#pragma once

#include <gst/gst.h>

namespace millrace::ingest {

/// Watches `element` if it is a depayloader. The watch ends with the element.
void KeepDamagedPicturesOut(GstElement* element);

}  // namespace millrace::ingest
