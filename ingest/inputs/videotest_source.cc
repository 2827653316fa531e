// test: GStreamer's test picture, as a camera.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "ingest/gst/gst_error.h"
#include "ingest/gst/gst_handles.h"
#include "ingest/inputs/camera_source.h"
#include "ingest/inputs/source_pipelines.h"

namespace millrace::ingest {
namespace {

/// Fails unless videotestsrc knows `pattern`.
absl::Status CheckPattern(const std::string& pattern, const std::string& shown) {
  const GstOwned<GstElement> source(gst_element_factory_make("videotestsrc", nullptr));
  if (!source) {
    return absl::FailedPreconditionError(absl::StrCat(
        shown,
        ": this machine's GStreamer has no videotestsrc: install gstreamer1.0-plugins-base"));
  }
  GParamSpec* const property =
      g_object_class_find_property(G_OBJECT_GET_CLASS(source.get()), "pattern");
  GEnumClass* const patterns = G_PARAM_SPEC_ENUM(property)->enum_class;
  if (g_enum_get_value_by_nick(patterns, pattern.c_str()) != nullptr) return absl::OkStatus();
  std::vector<std::string> known;
  for (guint i = 0; i < patterns->n_values; ++i) {
    known.emplace_back(patterns->values[i].value_nick);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(shown, ": unknown test pattern; known are ", absl::StrJoin(known, ", ")));
}

}  // namespace

absl::StatusOr<PipelineOptions> TestPicturePipeline(const SourceRequest& request) {
  const std::string pattern = request.uri.rest.empty() ? "smpte" : request.uri.rest;
  InitializeGStreamer();
  MILLRACE_RETURN_IF_ERROR(CheckPattern(pattern, request.shown));
  const SourceOptions& options = request.options;
  return PipelineOptions{
      .head = absl::StrCat("videotestsrc name=source is-live=true pattern=", pattern,
                           " ! capsfilter caps=video/x-raw,width=", options.width, ",height=",
                           options.height, ",framerate=", options.test_frames_per_second, "/1"),
      .configure = nullptr,
      .width = options.width,
      .height = options.height};
}

absl::StatusOr<std::unique_ptr<Source>> OpenTestPicture(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(PipelineOptions pipeline, TestPicturePipeline(request));
  return OpenCamera(request, std::move(pipeline));
}

}  // namespace millrace::ingest
