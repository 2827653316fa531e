#include "ingest/gst/gst_pipeline.h"

#include <utility>

#include "base/status.h"
#include "ingest/gst/pipeline_elements.h"

namespace millrace::ingest {

absl::StatusOr<std::unique_ptr<GstPicturePipeline>> GstPicturePipeline::Create(
    const PipelineOptions& options, PipelineListener& listener) {
  MILLRACE_ASSIGN_OR_RETURN(PipelineSlot slot, PipelineSlot::Take(options.owner));
  MILLRACE_ASSIGN_OR_RETURN(std::shared_ptr<PipelineElements> elements,
                            PipelineElements::Create(options, listener));
  return std::unique_ptr<GstPicturePipeline>(
      new GstPicturePipeline(std::move(elements), std::move(slot), options.end));
}

absl::Status GstPicturePipeline::Check(const PipelineOptions& options) {
  return PipelineElements::Check(options);
}

GstPicturePipeline::GstPicturePipeline(std::shared_ptr<PipelineElements> elements,
                                       PipelineSlot slot, const EndLimits& end)
    : elements_(std::move(elements)), thread_(elements_, std::move(slot), end) {}

GstPicturePipeline::~GstPicturePipeline() = default;

std::string GstPicturePipeline::Codec() const { return elements_->Codec(); }

}  // namespace millrace::ingest
