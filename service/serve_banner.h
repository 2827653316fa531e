// What `millrace serve` says when it stands: what it learns, from what, how, what to expect of it,
// and where to look.
#pragma once

#include <span>
#include <string>

#include "pipeline/learner.h"
#include "service/camera_stream.h"
#include "service/config.h"

namespace millrace::service {

/// One stream as the banner shows it.
struct BannerStream {
  StreamConfig config;
  StreamSnapshot snapshot;
  pipeline::LearnerDescription learner;
};

/// Where the server really listens.
struct BannerAddresses {
  std::string page;     ///< "http://127.0.0.1:8080"
  std::string grpc;     ///< "127.0.0.1:50051"
  std::string metrics;  ///< "http://127.0.0.1:9464/metrics"
};

/// "vtest.avi, 768x576 at 10 frames a second, looped as a camera".
[[nodiscard]] std::string DescribeSource(const BannerStream& stream);

/// "one_f_one_b_star, 2 stages on 2 threads (cpu:0 cpu:1), cut at layer 8: 66 + 64 ms".
[[nodiscard]] std::string DescribePlan(const pipeline::LearnerDescription& learner);

/// "features 1/2 to decode 1/8 | match 1/4, decode 1/4"; a line for each stage where one is too
/// narrow.
[[nodiscard]] std::string DescribeStages(const pipeline::LearnerDescription& learner);

/// "10.0 frames a second (7.7 without the pipeline), delay 130 ms, staleness 1 0".
/// `camera_frames_per_second` is 0 where the camera has not said.
[[nodiscard]] std::string DescribeExpectation(const pipeline::LearnerDescription& learner,
                                              double camera_frames_per_second);

[[nodiscard]] std::string Banner(std::span<const BannerStream> streams,
                                 const BannerAddresses& addresses);

}  // namespace millrace::service
