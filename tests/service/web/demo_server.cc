// A server with a made-up stream, for tests of the live page in a browser: real HTTP and a real
// page, no camera and no learner.
//
// Prints the page's and the metrics' addresses, then serves until its standard input ends. A line
// there changes a camera:
//
//   garage away         the camera is away
//   garage overloaded   it sends more frames than its model has time for
//   garage streaming    it is back and well
//   garage deceived     its model sees motion in a still picture
//
// The first argument is the page's port; by default it takes a free one. Further arguments:
//
//   labels         the stream learns classes from labels instead of flow
//   compared       it is compared with DIS, which sees the opposite motion
//   failed         its learner has failed
//   three          three streams: one is away, and one has square pictures
//   all-ways       a stream for each state of a stream
//   stages=8       the number of stages of the first stream's model
//   size=360x640   the size of its pictures
//   tokens=FILE    the tokens that the buttons need
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "service/web/serve_web.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {
namespace {

constexpr int kDoors = 3;

void DescribeDoors(FakeCameraStream& stream) {
  stream.Describe([](pipeline::LearnerDescription& learner) {
    learner.labels = {.outputs = kDoors, .classes = {"shut", "ajar", "open"}, .window = 64};
  });
  stream.Set([](StreamSnapshot& snapshot) { snapshot.labels.emplace(); });
}

/// Makes of a prediction of flow one of classes, a third of whose frames get a label.
void PredictDoor(std::int64_t number, Prediction& prediction, FakeCameraStream& stream) {
  const auto best = static_cast<int>(number / 20 % kDoors);
  std::vector<float> outputs(kDoors, 0.1F);
  outputs[best] = 0.8F;
  prediction.model.flow = nullptr;
  prediction.model.outputs = std::make_shared<const std::vector<float>>(std::move(outputs));
  prediction.model.best_class = best;
  prediction.model.labelled = static_cast<int>(std::min<std::int64_t>(number, 64) / 3);
  if (number % 3 != 0) return;
  stream.Set([](StreamSnapshot& snapshot) {
    ++snapshot.labels->labels[static_cast<std::size_t>(LabelOutcome::kAdded)];
    ++snapshot.labels->scored;
    snapshot.labels->recent_score = 0.9;
  });
}

/// Of a stream that is compared: the other method sees the opposite.
void CompareIt(Prediction& prediction) {
  auto opposite = std::make_shared<std::vector<float>>(*prediction.model.flow);
  for (float& value : *opposite) value = -value;
  prediction.reference_flow = std::move(opposite);
}

/// A stream that learns, and the history of its run.
struct DemoStream {
  explicit DemoStream(const std::string& name) : stream(name) {}

  FakeCameraStream stream;
  StreamRecord record{MonotonicClock(), MonotonicClock().Now()};
  // Of its pictures.
  int width = 352;
  int height = 264;
  std::jthread predicting;
};

/// Publishes ten predictions a second until asked to stop.
void Predict(std::stop_token stop, DemoStream& demo) {
  FakeCameraStream& stream = demo.stream;
  std::mutex mu;
  std::condition_variable_any pause;
  LearningWindow window;
  for (std::int64_t number = 1; !stop.stop_requested(); ++number) {
    auto prediction = std::make_shared<Prediction>(
        *MovingDisc(stream.config().name, number, demo.width, demo.height));
    const double ratio = 0.72 + 0.2 * std::exp(-static_cast<double>(number) / 120) +
                         0.04 * std::sin(static_cast<double>(number) * 0.7);
    prediction->model.loss = static_cast<float>(0.05 * ratio);
    if (stream.learner()->labels) PredictDoor(number, *prediction, stream);
    if (stream.config().scores.compare_with != "none") CompareIt(*prediction);
    demo.record.Record(*prediction);
    window.Record(*prediction);
    stream.ring().Publish(prediction);
    stream.Set([&](StreamSnapshot& snapshot) {
      ++snapshot.frames.received;
      ++snapshot.frames.predicted;
      snapshot.recent.loss = window.Recent().loss;
      if (prediction->reference_flow != nullptr) snapshot.recent.gain = 1.18;
      for (std::int64_t& updates : snapshot.updates) ++updates;
    });
    std::unique_lock lock(mu);
    pause.wait_for(lock, stop, std::chrono::milliseconds(100), [] { return false; });
  }
}

void SendAway(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.source.state = ingest::SourceState::kBackingOff;
    snapshot.source.cause = absl::UnavailableError("Connection refused; next try in 4 s");
    snapshot.frames_per_second_in = 0;
    snapshot.predictions_per_second = 0;
  });
}

/// Its camera sends more than it has time for.
void OverloadIt(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.overload = {.kind = OverloadKind::kDrops,
                         .received_per_second = 25,
                         .predicted_per_second = 4.1,
                         .dropped_per_second = 20.9,
                         .remedies = {.max_fps = 3.2, .width = 160, .height = 128, .stages = 4}};
    snapshot.promise = {
        .frames_per_second = 15.1, .delay_s = 0.13, .rate_kept = false, .delay_kept = false};
    snapshot.frames_per_second_in = 25;
    snapshot.predictions_per_second = 4.1;
  });
}

void BringBack(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.overload = {};
    snapshot.promise = {};
    snapshot.recent.spurious_share = 0;
    snapshot.source.state = ingest::SourceState::kStreaming;
    snapshot.source.cause = absl::OkStatus();
    snapshot.frames_per_second_in = 10;
    snapshot.predictions_per_second = 9.9;
  });
}

void Fail(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.learner = absl::InternalError("stage 2: no memory is left for the update");
    snapshot.learner_state = LearnerState::kFailed;
  });
}

/// A stream of pushed frames, without a client that pushes.
void Leave(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.source.state = ingest::SourceState::kWaiting;
    snapshot.source.cause = absl::UnavailableError("push: no client pushes frames now");
  });
}

void End(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.source.state = ingest::SourceState::kEnded;
    snapshot.learner_state = LearnerState::kEnded;
  });
}

void NotLearnFromAll(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.skipped[static_cast<int>(pipeline::SkipReason::kRepeated)] = 60;
    snapshot.skipped[static_cast<int>(pipeline::SkipReason::kTooFast)] = 31;
    snapshot.learning.roll_backs = 1;
  });
}

/// A model that never learns: its loss is above the loss of no motion.
void MakeWorse(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) {
    snapshot.recent.loss_no_motion = 0.03;
    snapshot.frames.predicted = 5000;
  });
}

/// As over an empty road: its flow averages the noise away.
void SeeSpuriousMotion(FakeCameraStream& stream) {
  stream.Set([](StreamSnapshot& snapshot) { snapshot.recent.spurious_share = 0.8; });
}

/// Of a stage each "stage 1, with a name" on.
void Cut(FakeCameraStream& stream, int stages) {
  stream.Describe([stages](pipeline::LearnerDescription& learner) {
    learner.stages.resize(stages, learner.stages.front());
    for (int i = 0; i < stages; ++i) {
      learner.stages[i].layers = {"features", "level 1 warp and correlation"};
      learner.stages[i].device = "cpu:" + std::to_string(i);
    }
  });
  stream.Set([stages](StreamSnapshot& snapshot) {
    snapshot.updates.assign(stages, 123'456);
    snapshot.loads.assign(stages, {.predicting = 0.21, .learning = 0.44});
  });
}

/// "stages=8", "size=360x640".
void Shape(DemoStream& demo, const std::string& kind) {
  const std::string value = kind.substr(kind.find('=') + 1);
  if (kind.starts_with("stages=")) Cut(demo.stream, std::stoi(value));
  if (!kind.starts_with("size=")) return;
  demo.width = std::stoi(value);
  demo.height = std::stoi(value.substr(value.find('x') + 1));
  demo.stream.Describe([&demo](pipeline::LearnerDescription& learner) {
    learner.width = demo.width;
    learner.height = demo.height;
  });
}

std::vector<std::unique_ptr<DemoStream>> MakeStreams(const std::set<std::string>& kinds) {
  std::vector<std::unique_ptr<DemoStream>> demos;
  const auto add = [&](const char* name) -> FakeCameraStream& {
    DemoStream& demo = *demos.emplace_back(std::make_unique<DemoStream>(name));
    NotLearnFromAll(demo.stream);
    return demo.stream;
  };
  FakeCameraStream& first = add(kinds.contains("labels") ? "door" : "street");
  if (kinds.contains("labels")) DescribeDoors(first);
  if (kinds.contains("compared")) first.CompareWith("dis");
  if (kinds.contains("failed")) Fail(first);
  for (const std::string& kind : kinds) Shape(*demos.front(), kind);
  const bool all_ways = kinds.contains("all-ways");
  if (!all_ways && !kinds.contains("three")) return demos;
  add("yard");
  Shape(*demos.back(), "size=64x64");
  SendAway(add("garage"));
  if (!all_ways) return demos;
  static_cast<void>(add("hall").SetMode(LearnerState::kPaused));
  static_cast<void>(add("roof").SetMode(LearnerState::kFrozen));
  add("shop").Set([](StreamSnapshot& snapshot) { snapshot.update_every = 0; });
  Leave(add("desk"));
  End(add("clip"));
  Fail(add("cellar"));
  MakeWorse(add("new"));
  SeeSpuriousMotion(add("lane"));
  return demos;
}

/// "garage away", "garage streaming", "garage deceived".
void Obey(const std::string& line, const std::vector<std::unique_ptr<DemoStream>>& demos) {
  for (const auto& demo : demos) {
    const std::string& name = demo->stream.config().name;
    if (line == name + " away") SendAway(demo->stream);
    if (line == name + " overloaded") OverloadIt(demo->stream);
    if (line == name + " streaming") BringBack(demo->stream);
    if (line == name + " deceived") SeeSpuriousMotion(demo->stream);
  }
}

int Run(int port, const std::set<std::string>& kinds) {
  const std::vector<std::unique_ptr<DemoStream>> demos = MakeStreams(kinds);
  StreamRegistry streams;
  for (const auto& demo : demos) {
    MILLRACE_CHECK(streams.Add(Borrowed(demo->stream, demo->record)).ok());
  }
  Listen listen = {.http_port = port, .metrics_port = 0};
  for (const std::string& kind : kinds) {
    if (kind.starts_with("tokens=")) listen.security.tokens_file = kind.substr(7);
  }
  Liveness liveness(streams);
  auto web = ServeWeb::Start({.listen = listen, .streams = &streams, .liveness = &liveness});
  if (!web.ok()) {
    std::cerr << web.status() << "\n";
    return 1;
  }
  std::cout << (*web)->page_url() << " " << (*web)->metrics_url() << std::endl;
  for (const auto& demo : demos) {
    const StreamSnapshot snapshot = demo->stream.Snapshot();
    if (snapshot.source.state != ingest::SourceState::kStreaming) continue;
    if (snapshot.learner_state == LearnerState::kPaused || !snapshot.learner.ok()) continue;
    demo->predicting =
        std::jthread([&demo](std::stop_token stop) { Predict(std::move(stop), *demo); });
  }
  for (std::string line; std::getline(std::cin, line);) Obey(line, demos);
  return 0;
}

}  // namespace
}  // namespace millrace::service

int main(int argc, char** argv) {
  return millrace::service::Run(argc > 1 ? std::atoi(argv[1]) : 0,
                                {argv + std::min(argc, 2), argv + argc});
}
