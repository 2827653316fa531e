#include "ingest/inputs/new_pipeline.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"
#include "base/status.h"
#include "ingest/inputs/camera_process.h"
#include "ingest/isolation/camera_task.h"
#include "ingest/isolation/isolated_pipeline.h"
#include "spdlog/spdlog.h"

namespace millrace::ingest {

absl::StatusOr<std::unique_ptr<PicturePipeline>> NewPipeline(const PipelineOptions& options,
                                                             PipelineListener& listener) {
  const Spawner* const spawner = CameraProcesses();
  if (!options.task || spawner == nullptr) return GstPicturePipeline::Create(options, listener);
  CameraTask task = *options.task;
  MILLRACE_RETURN_IF_ERROR(ResolvePassword(task));
  task.log_level = spdlog::get_level();
  std::string encoded = Encode(task);
  if (encoded.size() > kMaxTaskBytes) {
    return absl::InvalidArgumentError(absl::StrCat("its URI, user and password are longer than ",
                                                   kMaxTaskBytes >> 10, " KiB; shorten them"));
  }
  const auto log = [owner = options.owner.name](int level, std::string_view text) {
    const LogAbout about(owner);
    spdlog::log(static_cast<spdlog::level::level_enum>(level), "stream '{}': {}", owner, text);
  };
  return IsolatedPipeline::Create({.task = std::move(encoded),
                                   .grid = {.width = options.width, .height = options.height},
                                   .log = log},
                                  *spawner, listener);
}

}  // namespace millrace::ingest
