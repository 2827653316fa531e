// v4l2: cameras of this machine, through Video4Linux.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ingest/gst/gst_error.h"
#include "ingest/inputs/camera_source.h"
#include "ingest/inputs/source_pipelines.h"

namespace millrace::ingest {
namespace {

/// Whether the device exists and may be opened. It runs before each session, because GStreamer's
/// message is the same for all these errors.
absl::Status CheckDevice(const std::string& device) {
  struct stat found = {};
  if (stat(device.c_str(), &found) != 0) {
    if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("there is no ", device));
    return absl::UnavailableError(
        absl::StrCat(device, " cannot be looked at: ", std::generic_category().message(errno)));
  }
  if (!S_ISCHR(found.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(device, " is no device"));
  }
  if (access(device.c_str(), R_OK | W_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        device, " may not be opened by this user; who is in the group video usually may"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PipelineOptions> V4l2Pipeline(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string device, DevicePath(request.uri));
  PipelineOptions pipeline{.head = "v4l2src name=source ! decodebin name=decoder",
                           .configure =
                               [device](GstElement& source) {
                                 g_object_set(&source, "device", device.c_str(), nullptr);
                                 return absl::OkStatus();
                               },
                           .width = request.options.width,
                           .height = request.options.height,
                           .hardware_decode = request.options.hardware_decode};
  if (absl::Status checked = GstPicturePipeline::Check(pipeline); !checked.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.shown, ": ", std::string(checked.message())));
  }
  // A missing device may be plugged in later, so opening succeeds.
  pipeline.configure = [device, set = pipeline.configure](GstElement& source) -> absl::Status {
    MILLRACE_RETURN_IF_ERROR(CheckDevice(device));
    return set(source);
  };
  return pipeline;
}

absl::StatusOr<std::unique_ptr<Source>> OpenV4l2Camera(const SourceRequest& request) {
  MILLRACE_ASSIGN_OR_RETURN(PipelineOptions pipeline, V4l2Pipeline(request));
  return std::make_unique<CameraSource>(request, std::move(pipeline));
}

}  // namespace millrace::ingest
