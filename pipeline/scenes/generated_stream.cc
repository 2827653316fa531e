#include "pipeline/scenes/generated_stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using Kind = GeneratedPair::Kind;

GeneratedScene::Options SceneOptions(const GeneratedStream::Options& options) {
  GeneratedScene::Options scene{
      .width = options.width, .height = options.height, .speed = options.speed};
  if (options.scenes == GeneratedStream::Scenes::kVaried) {
    scene.min_pace = 0.1;
    scene.still_share = 0.5;
    scene.max_things = 8;
    scene.min_thing = 0.025;
    scene.wall = 1.5;
  }
  return scene;
}

}  // namespace

GeneratedStream::GeneratedStream(const Options& options)
    : options_(options), random_(options.seed) {
  MILLRACE_CHECK(options.width >= 16 && options.height >= 16 && options.frames_per_scene >= 2);
  MILLRACE_CHECK(options.speed >= 0 && options.pause_every >= 0 && options.pause_pairs >= 0);
}

void GeneratedStream::StartScene() {
  scene_ = std::make_unique<GeneratedScene>(SceneOptions(options_), random_);
  frames_of_scene_ = 1;
  pairs_of_motion_ = 0;
  pairs_of_pause_ = 0;
}

Kind GeneratedStream::NextKind() const {
  if (frames_of_scene_ == options_.frames_per_scene) return Kind::kCut;
  const bool pause = options_.pause_every > 0 && pairs_of_motion_ == options_.pause_every &&
                     pairs_of_pause_ < options_.pause_pairs;
  return pause ? Kind::kPause : Kind::kMotion;
}

GeneratedPair GeneratedStream::Next() {
  if (scene_ == nullptr || (!options_.cuts && NextKind() == Kind::kCut)) {
    StartScene();
    last_picture_ = scene_->Draw();
  }
  const Kind kind = NextKind();
  if (kind == Kind::kPause) {
    ++pairs_of_pause_;
    return PairOf(kind, last_picture_, last_picture_, options_.width);
  }
  if (kind == Kind::kCut) {
    StartScene();
  } else {
    if (pairs_of_motion_ == options_.pause_every) pairs_of_motion_ = pairs_of_pause_ = 0;
    scene_->Advance();
    ++frames_of_scene_;
    ++pairs_of_motion_;
  }
  Picture picture = scene_->Draw();
  GeneratedPair pair = PairOf(kind, last_picture_, picture, options_.width);
  if (kind == Kind::kMotion) {
    const GeneratedScene::Motion motion = scene_->MotionToHere();
    std::copy(motion.flow.begin(), motion.flow.end(), pair.flow.mutable_data_ptr<float>());
    std::copy(motion.visible.begin(), motion.visible.end(),
              pair.visible.mutable_data_ptr<std::uint8_t>());
  }
  last_picture_ = std::move(picture);
  return pair;
}

}  // namespace millrace::pipeline
