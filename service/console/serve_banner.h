// The banner of `millrace serve` after its start: the sources, the models, the expected rates and
// delays, and the server's addresses.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "service/stream/camera_stream.h"

namespace millrace::service {

/// The banner's data of one stream.
struct BannerStream {
  StreamConfig config;
  StreamSnapshot snapshot;
  pipeline::LearnerDescription learner;
  pipeline::Resumption resumption = {};
};

/// The server's actual addresses.
struct BannerAddresses {
  std::string page;     ///< "http://127.0.0.1:8080"
  std::string grpc;     ///< "127.0.0.1:50051"
  std::string metrics;  ///< "http://127.0.0.1:9464/metrics"
};

/// "vtest.avi, 768x576 at 10 frames a second, looped as a camera".
[[nodiscard]] std::string DescribeSource(const BannerStream& stream);

/// "optical flow at 352x256", "the next frame at 352x256". REQUIRES: the stream learns without
/// labels.
[[nodiscard]] std::string DescribeFlow(const StreamConfig& config);

/// "3 classes from labels at 32x32 in grey, mlp of 4 layers, window 64". REQUIRES: the stream
/// learns from labels.
[[nodiscard]] std::string DescribeLabels(const StreamConfig& config);

/// "features 1/2 to decode 1/8 | match 1/4, decode 1/4"; one line per stage if one line for all is
/// too narrow.
[[nodiscard]] std::string DescribeStages(const pipeline::LearnerDescription& learner);

/// "10.0 frames a second, delay 130 ms". Adds the shares of frames that are learned from and
/// dropped, unless these are all and none.
/// `camera_frames_per_second`: 0 if unknown. `max_frames_per_second`: 0 if unlimited.
[[nodiscard]] std::string DescribeExpectation(const pipeline::LearnerDescription& learner,
                                              double camera_frames_per_second,
                                              double max_frames_per_second = 0);

struct BannerOptions {
  /// Breaks lines at this column, between words; 0: no line breaks.
  std::size_t columns = 0;
  /// Adds each stream's plan, its stages, the rate without the pipeline, and the staleness.
  bool verbose = false;
};

[[nodiscard]] std::string Banner(std::span<const BannerStream> streams,
                                 const BannerAddresses& addresses,
                                 const BannerOptions& options = {});

}  // namespace millrace::service
