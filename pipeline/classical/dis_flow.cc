#include "pipeline/classical/dis_flow.h"

namespace millrace::pipeline {

cv::Ptr<cv::DISOpticalFlow> MakeDisFlow(const DisSettings& settings) {
  cv::Ptr<cv::DISOpticalFlow> dis = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
  dis->setFinestScale(settings.finest_scale);
  dis->setPatchStride(settings.patch_stride);
  dis->setGradientDescentIterations(settings.search_steps);
  dis->setVariationalRefinementIterations(settings.refinement_steps);
  dis->setVariationalRefinementAlpha(settings.smoothness);
  return dis;
}

}  // namespace millrace::pipeline
