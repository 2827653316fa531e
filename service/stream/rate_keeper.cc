#include "service/stream/rate_keeper.h"

#include <chrono>
#include <utility>

#include "base/log_about.h"
#include "service/stream/plan_text.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

RateKeeper::RateKeeper(std::string stream, pipeline::Learner& learner,
                       std::optional<CameraRate> camera)
    : stream_(std::move(stream)),
      learner_(learner),
      plan_(learner.description()),
      effort_(*plan_),
      camera_(camera),
      update_every_(plan_->update_every),
      logged_every_(plan_->update_every) {}

void RateKeeper::OnFrame(const ingest::Frame& frame, std::uint64_t dropped, Pace pace) {
  FollowThePlan();
  if (camera_ && pace == Pace::kOfLearner) camera_->Restart();
  if (camera_ && pace == Pace::kOfCamera) {
    if (const std::optional<double> rate = camera_->OnFrame(frame)) learner_.FollowRate(*rate);
  }
  const double arrival_s = std::chrono::duration<double>(frame.arrival).count();
  const int every = effort_.OnFrame(frame.number, arrival_s, dropped);
  if (update_every_.exchange(every) != every) learner_.LearnFromEvery(every);
  LogEffort(every);
}

void RateKeeper::LogEffort(int every) {
  if (every == logged_every_ || learner_.learning().rate_scale == 0) return;
  logged_every_ = every;
  const LogAbout about(stream_);
  if (every == 0) {
    spdlog::warn("{}: only predicts now, to keep the camera's rate", stream_);
  } else {
    spdlog::info("{}: learns from one frame in {} now", stream_, every);
  }
}

// A new plan has new costs, so the effort starts again from the plan's own value.
void RateKeeper::FollowThePlan() {
  std::shared_ptr<const pipeline::LearnerDescription> now = learner_.description();
  if (TimesReplanned(*now) == TimesReplanned(*plan_)) return;
  const LogAbout about(stream_);
  spdlog::log(ReplanIsNews(*plan_, *now) ? spdlog::level::info : spdlog::level::debug, "{}: {}",
              stream_, DescribeReplan(*plan_, *now));
  effort_ = EffortController(*now);
  update_every_ = logged_every_ = now->update_every;
  plan_ = std::move(now);
}

}  // namespace millrace::service
