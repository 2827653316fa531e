#include "pipeline/classical/dis_flow.h"

#include <opencv2/core/utility.hpp>

namespace millrace::pipeline {

cv::Ptr<cv::DISOpticalFlow> MakeDisFlow(const DisSettings& settings) {
  cv::setNumThreads(1);
  cv::Ptr<cv::DISOpticalFlow> dis = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
  dis->setFinestScale(settings.finest_scale);
  dis->setPatchStride(settings.patch_stride);
  dis->setGradientDescentIterations(settings.search_steps);
  dis->setVariationalRefinementIterations(settings.refinement_steps);
  dis->setVariationalRefinementAlpha(settings.smoothness);
  return dis;
}

}  // namespace millrace::pipeline
