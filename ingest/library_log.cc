#include "ingest/library_log.h"

#include <glib.h>
#include <gst/gst.h>
#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "ingest/source.h"

namespace millrace::ingest {
namespace {

using spdlog::level::level_enum;

std::string_view TextOr(const char* text, std::string_view otherwise) {
  return text == nullptr ? otherwise : std::string_view(text);
}

/// What GLib calls critical is a broken rule of a library's, which goes on.
level_enum LevelOf(GLogLevelFlags level) {
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0) return level_enum::err;
  if ((level & G_LOG_LEVEL_WARNING) != 0) return level_enum::warn;
  return (level & G_LOG_LEVEL_DEBUG) != 0 ? level_enum::debug : level_enum::info;
}

GLogWriterOutput OnGLib(GLogLevelFlags level, const GLogField* fields, gsize count,
                        gpointer /*unused*/) {
  const char* domain = nullptr;
  const char* message = nullptr;
  for (const GLogField* field = fields; field != fields + count; ++field) {
    if (std::string_view(field->key) == "MESSAGE") message = static_cast<const char*>(field->value);
    if (std::string_view(field->key) == "GLIB_DOMAIN") {
      domain = static_cast<const char*>(field->value);
    }
  }
  if (g_log_writer_default_would_drop(level, domain) != FALSE) return G_LOG_WRITER_HANDLED;
  spdlog::log(LevelOf(level), "{}: {}", TextOr(domain, "GLib"),
              WithoutCredentials(TextOr(message, "")));
  return G_LOG_WRITER_HANDLED;
}

level_enum LevelOf(GstDebugLevel level) {
  if (level <= GST_LEVEL_ERROR) return level_enum::err;
  return level <= GST_LEVEL_FIXME ? level_enum::warn : level_enum::info;
}

void OnGStreamer(GstDebugCategory* category, GstDebugLevel level, const gchar* /*file*/,
                 const gchar* /*function*/, gint /*line*/, GObject* /*object*/,
                 GstDebugMessage* message, gpointer /*unused*/) {
  if (level > gst_debug_category_get_threshold(category)) return;
  spdlog::log(LevelOf(level), "GStreamer: {}: {}", gst_debug_category_get_name(category),
              WithoutCredentials(TextOr(gst_debug_message_get(message), "")));
}

}  // namespace

void LogLibraries() {
  g_log_set_writer_func(OnGLib, nullptr, nullptr);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(OnGStreamer, nullptr, nullptr);
}

}  // namespace millrace::ingest
