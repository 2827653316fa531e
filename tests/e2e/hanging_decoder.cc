// A GStreamer plugin for tests: a decoder of H.264 that GStreamer prefers to all others. It never
// ends while the file that MILLRACE_TEST_HANGS names exists.
#include <gst/gst.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

namespace {

constexpr char kName[] = "millracehangingdecoder";
constexpr useconds_t kPauseUs = 10'000;

GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                            GST_STATIC_CAPS("video/x-h264, alignment=(string)au, "
                                            "stream-format=(string){ avc, byte-stream }"));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw"));

bool MayEnd() {
  const char* const file = std::getenv("MILLRACE_TEST_HANGS");
  return file == nullptr || access(file, F_OK) != 0;
}

GstStateChangeReturn ChangeState(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_READY_TO_NULL) {
    while (!MayEnd()) usleep(kPauseUs);
  }
  auto* const parent = GST_ELEMENT_CLASS(g_type_class_peek(GST_TYPE_BIN));
  return parent->change_state(element, change);
}

void DefineClass(gpointer its_class, gpointer /*data*/) {
  auto* const element = GST_ELEMENT_CLASS(its_class);
  element->change_state = ChangeState;
  gst_element_class_add_static_pad_template(element, &sink_template);
  gst_element_class_add_static_pad_template(element, &src_template);
  gst_element_class_set_static_metadata(element, "a decoder that hangs", "Codec/Decoder/Video",
                                        "decodes H.264, and may never end", "a test");
}

// The decoder inside does the work.
void Define(GTypeInstance* instance, gpointer its_class) {
  GstElement* const decoder = gst_element_factory_make("avdec_h264", nullptr);
  gst_bin_add(GST_BIN(instance), decoder);
  for (const char* const name : {"sink", "src"}) {
    GstPad* const pad = gst_element_get_static_pad(decoder, name);
    GstPadTemplate* const shape =
        gst_element_class_get_pad_template(GST_ELEMENT_CLASS(its_class), name);
    gst_element_add_pad(GST_ELEMENT(instance), gst_ghost_pad_new_from_template(name, pad, shape));
    gst_object_unref(pad);
  }
}

gboolean Register(GstPlugin* plugin) {
  const GType type =
      g_type_register_static_simple(GST_TYPE_BIN, "MillraceHangingDecoder", sizeof(GstBinClass),
                                    DefineClass, sizeof(GstBin), Define, GTypeFlags(0));
  return gst_element_register(plugin, kName, GST_RANK_PRIMARY + 1000, type);
}

}  // namespace

#define PACKAGE "millrace"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, millrace_hanging_decoder,
                  "a decoder that hangs", Register, "1.0", "unknown", "millrace", "millrace")
