#include "ingest/gst/key_frame_gate.h"

#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {
namespace {

// One thread passes packets in and pictures out.
struct KeyFrameGate {
  bool is_closed = false;
  bool has_packets = false;
  GstClockTime damaged_until = GST_CLOCK_TIME_NONE;  // The time of the last damaged picture.
};

// The jitter buffer marks the first packet after a loss, and also the very first packet.
GstPadProbeReturn OnPacket(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) {
  auto& gate = *static_cast<KeyFrameGate*>(data);
  GstBuffer* const packet = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gate.has_packets && GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DISCONT)) {
    gate.is_closed = true;
    gate.damaged_until = GST_BUFFER_PTS(packet);
  }
  gate.has_packets = true;
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn OnPicture(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) {
  auto& gate = *static_cast<KeyFrameGate*>(data);
  GstBuffer* const picture = GST_PAD_PROBE_INFO_BUFFER(info);
  if (!gate.is_closed) return GST_PAD_PROBE_OK;
  const bool is_key = !GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT);
  const bool is_whole =
      !GST_CLOCK_TIME_IS_VALID(gate.damaged_until) || GST_BUFFER_PTS(picture) > gate.damaged_until;
  if (!is_key || !is_whole) return GST_PAD_PROBE_DROP;
  gate.is_closed = false;
  return GST_PAD_PROBE_OK;
}

void AddProbe(GstElement* element, const char* pad_name, GstPadProbeCallback probe,
              KeyFrameGate& gate) {
  const GstOwned<GstPad> pad(gst_element_get_static_pad(element, pad_name));
  if (pad) gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, probe, &gate, nullptr);
}

KeyFrameGate& NewGateOf(GstElement* element, bool is_closed) {
  auto* const gate = new KeyFrameGate{.is_closed = is_closed};
  g_object_set_data_full(G_OBJECT(element), "millrace-key-frame-gate", gate,
                         [](gpointer data) { delete static_cast<KeyFrameGate*>(data); });
  return *gate;
}

bool IsDepayloader(GstElementFactory* factory) {
  return gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DEPAYLOADER) != FALSE;
}

bool DecodesH265(GstElementFactory* factory) {
  static GstCaps* const h265 = gst_caps_new_empty_simple("video/x-h265");
  return gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DECODER) &&
         gst_element_factory_can_sink_any_caps(factory, h265);
}

/// Sets a property if this element has it, because decoders and depayloaders differ.
void SetIfPresent(GstElement* element, const char* property, gboolean value) {
  if (g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) != nullptr) {
    g_object_set(element, property, value, nullptr);
  }
}

}  // namespace

void AddKeyFrameGate(GstElement* element) {
  SetIfPresent(element, "output-corrupt", FALSE);
  SetIfPresent(element, "wait-for-keyframe", TRUE);
  GstElementFactory* const factory = gst_element_get_factory(element);
  if (factory == nullptr) return;
  if (IsDepayloader(factory)) {
    KeyFrameGate& gate = NewGateOf(element, /*is_closed=*/false);
    AddProbe(element, "sink", OnPacket, gate);
    AddProbe(element, "src", OnPicture, gate);
  } else if (DecodesH265(factory)) {
    AddProbe(element, "sink", OnPicture, NewGateOf(element, /*is_closed=*/true));
  }
}

}  // namespace millrace::ingest
