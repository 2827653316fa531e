#include "ingest/gst/library_log.h"

#include <glib.h>
#include <gst/gst.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/source/source.h"

namespace millrace::ingest {
namespace {

using spdlog::level::level_enum;

/// A field with a negative length ends in NUL; other fields may not.
std::string TextOf(const GLogField& field) {
  const auto* const text = static_cast<const char*>(field.value);
  return field.length < 0 ? std::string(text)
                          : std::string(text, static_cast<std::size_t>(field.length));
}

/// A line that cannot be written is lost, because C code cannot propagate exceptions.
template <typename Work>
void Guarded(Work work) noexcept {
  try {
    work();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

/// GLib's "critical" is a violated precondition of a library, which continues.
level_enum LevelOf(GLogLevelFlags level) {
  if ((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0) return level_enum::err;
  if ((level & G_LOG_LEVEL_WARNING) != 0) return level_enum::warn;
  return (level & G_LOG_LEVEL_DEBUG) != 0 ? level_enum::debug : level_enum::info;
}

void Log(GLogLevelFlags level, const GLogField* fields, gsize count) {
  std::string domain = "GLib";
  std::string message;
  for (const GLogField* field = fields; field != fields + count; ++field) {
    if (std::string_view(field->key) == "MESSAGE") message = TextOf(*field);
    if (std::string_view(field->key) == "GLIB_DOMAIN") domain = TextOf(*field);
  }
  if (g_log_writer_default_would_drop(level, domain.c_str()) != FALSE) return;
  spdlog::log(LevelOf(level), "{}: {}", domain, WithoutCredentials(message));
}

GLogWriterOutput OnGLib(GLogLevelFlags level, const GLogField* fields, gsize count,
                        gpointer /*unused*/) {
  Guarded([&] { Log(level, fields, count); });
  return G_LOG_WRITER_HANDLED;
}

level_enum LevelOf(GstDebugLevel level) {
  if (level <= GST_LEVEL_ERROR) return level_enum::err;
  return level <= GST_LEVEL_FIXME ? level_enum::warn : level_enum::info;
}

// NOLINTNEXTLINE(readability-function-size): GStreamer gives a log function eight arguments.
void OnGStreamer(GstDebugCategory* category, GstDebugLevel level, const gchar* /*file*/,
                 const gchar* /*function*/, gint /*line*/, GObject* /*object*/,
                 GstDebugMessage* message, gpointer /*unused*/) {
  if (level > gst_debug_category_get_threshold(category)) return;
  Guarded([&] {
    const gchar* const text = gst_debug_message_get(message);
    spdlog::log(LevelOf(level), "GStreamer: {}: {}", gst_debug_category_get_name(category),
                WithoutCredentials(text == nullptr ? "" : text));
  });
}

}  // namespace

void LogLibraries() {
  g_log_set_writer_func(OnGLib, nullptr, nullptr);
  gst_debug_remove_log_function(gst_debug_log_default);
  gst_debug_add_log_function(OnGStreamer, nullptr, nullptr);
}

}  // namespace millrace::ingest
