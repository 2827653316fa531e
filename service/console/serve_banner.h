// What `millrace serve` says when it stands: what it learns, from what, how, what to expect of it,
// and where to look.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// One stream as the banner shows it.
struct BannerStream {
  StreamConfig config;
  StreamSnapshot snapshot;
  pipeline::LearnerDescription learner;
  pipeline::Resumption resumption = {};
};

/// Where the server really listens.
struct BannerAddresses {
  std::string page;     ///< "http://127.0.0.1:8080"
  std::string grpc;     ///< "127.0.0.1:50051"
  std::string metrics;  ///< "http://127.0.0.1:9464/metrics"
};

/// "vtest.avi, 768x576 at 10 frames a second, looped as a camera".
[[nodiscard]] std::string DescribeSource(const BannerStream& stream);

/// "optical flow at 352x256", "the next frame at 352x256". REQUIRES: no task of labels.
[[nodiscard]] std::string DescribeFlow(const StreamConfig& config);

/// "3 classes from labels at 32x32 in grey, mlp of 4 layers, window 64". REQUIRES: a task of
/// labels.
[[nodiscard]] std::string DescribeLabels(const StreamConfig& config);

/// "features 1/2 to decode 1/8 | match 1/4, decode 1/4"; a line for each stage where one is too
/// narrow.
[[nodiscard]] std::string DescribeStages(const pipeline::LearnerDescription& learner);

/// "10.0 frames a second (7.7 without the pipeline), delay 130 ms, staleness 1 0", and how much is
/// learned and dropped where that is not every frame and none.
/// `camera_frames_per_second` is 0 where the camera has not said, `max_frames_per_second` where all
/// that come are let through.
[[nodiscard]] std::string DescribeExpectation(const pipeline::LearnerDescription& learner,
                                              double camera_frames_per_second,
                                              double max_frames_per_second = 0);

/// In lines of `columns`, as far as words allow. 0: as long as they are.
[[nodiscard]] std::string Banner(std::span<const BannerStream> streams,
                                 const BannerAddresses& addresses, std::size_t columns = 0);

}  // namespace millrace::service
