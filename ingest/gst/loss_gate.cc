#include "ingest/gst/loss_gate.h"

#include "ingest/gst/gst_handles.h"

namespace millrace::ingest {
namespace {

// One thread passes packets in and pictures out.
struct Gate {
  bool has_packets = false;
  bool is_closed = false;
  GstClockTime damaged_until = 0;  // The time of the last damaged picture.
};

// The jitter buffer marks the first packet after a loss, and also the very first packet.
GstPadProbeReturn OnPacket(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) {
  auto& gate = *static_cast<Gate*>(data);
  GstBuffer* const packet = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gate.has_packets && GST_BUFFER_FLAG_IS_SET(packet, GST_BUFFER_FLAG_DISCONT)) {
    gate.is_closed = true;
    gate.damaged_until = GST_BUFFER_PTS(packet);
  }
  gate.has_packets = true;
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn OnPicture(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) {
  auto& gate = *static_cast<Gate*>(data);
  GstBuffer* const picture = GST_PAD_PROBE_INFO_BUFFER(info);
  if (!gate.is_closed) return GST_PAD_PROBE_OK;
  const bool is_key = !GST_BUFFER_FLAG_IS_SET(picture, GST_BUFFER_FLAG_DELTA_UNIT);
  const bool is_whole =
      !GST_CLOCK_TIME_IS_VALID(gate.damaged_until) || GST_BUFFER_PTS(picture) > gate.damaged_until;
  if (!is_key || !is_whole) return GST_PAD_PROBE_DROP;
  gate.is_closed = false;
  return GST_PAD_PROBE_OK;
}

}  // namespace

void KeepDamagedPicturesOut(GstElement* element) {
  GstElementFactory* const factory = gst_element_get_factory(element);
  if (factory == nullptr ||
      !gst_element_factory_list_is_type(factory, GST_ELEMENT_FACTORY_TYPE_DEPAYLOADER)) {
    return;
  }
  const GstOwned<GstPad> in(gst_element_get_static_pad(element, "sink"));
  const GstOwned<GstPad> out(gst_element_get_static_pad(element, "src"));
  if (!in || !out) return;
  auto* const gate = new Gate;
  g_object_set_data_full(G_OBJECT(element), "millrace-loss-gate", gate,
                         [](gpointer data) { delete static_cast<Gate*>(data); });
  gst_pad_add_probe(in.get(), GST_PAD_PROBE_TYPE_BUFFER, OnPacket, gate, nullptr);
  gst_pad_add_probe(out.get(), GST_PAD_PROBE_TYPE_BUFFER, OnPicture, gate, nullptr);
}

}  // namespace millrace::ingest
