// Owners for GStreamer and GLib handles, one overload per release function.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include <memory>

namespace millrace::ingest {

struct GstRelease {
  void operator()(GCancellable* cancellable) const { g_object_unref(cancellable); }
  void operator()(GSocket* socket) const { g_object_unref(socket); }
  void operator()(GSocketClient* client) const { g_object_unref(client); }
  void operator()(GSocketConnectable* address) const { g_object_unref(address); }
  void operator()(GSocketConnection* connection) const { g_object_unref(connection); }
  void operator()(GstElement* element) const { gst_object_unref(element); }
  void operator()(GstBus* bus) const { gst_object_unref(bus); }
  void operator()(GstPad* pad) const { gst_object_unref(pad); }
  void operator()(GstSample* sample) const { gst_sample_unref(sample); }
  void operator()(GstCaps* caps) const { gst_caps_unref(caps); }
  void operator()(GstMessage* message) const { gst_message_unref(message); }
  void operator()(GError* error) const { g_error_free(error); }
  void operator()(gchar* text) const { g_free(text); }
};

template <typename T>
using GstOwned = std::unique_ptr<T, GstRelease>;

}  // namespace millrace::ingest
