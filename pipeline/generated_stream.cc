#include "pipeline/generated_stream.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>

#include "base/check.h"

namespace millrace::pipeline {

GeneratedStream::GeneratedStream(const Options& options)
    : options_(options), random_(options.seed) {
  MILLRACE_CHECK(options.width >= 16 && options.height >= 16 && options.frames_per_scene >= 2);
}

void GeneratedStream::StartScene() {
  scene_ = std::make_unique<GeneratedScene>(
      GeneratedScene::Options{.width = options_.width, .height = options_.height}, random_);
  last_picture_ = scene_->Draw();
  frames_of_scene_ = 1;
}

GeneratedPair GeneratedStream::Next() {
  if (scene_ == nullptr || frames_of_scene_ == options_.frames_per_scene) StartScene();
  scene_->Advance();
  ++frames_of_scene_;
  std::vector<float> picture = scene_->Draw();
  const std::vector<float> flow = scene_->FlowToHere();

  GeneratedPair pair{at::empty({2, 1, options_.height, options_.width}, at::kFloat),
                     at::empty({1, 2, options_.height, options_.width}, at::kFloat)};
  float* pictures = pair.pictures.mutable_data_ptr<float>();
  std::copy(picture.begin(), picture.end(),
            std::copy(last_picture_.begin(), last_picture_.end(), pictures));
  std::copy(flow.begin(), flow.end(), pair.flow.mutable_data_ptr<float>());
  last_picture_ = std::move(picture);
  return pair;
}

}  // namespace millrace::pipeline
