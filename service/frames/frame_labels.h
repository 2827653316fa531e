// Matches labels from clients with frames by the frames' numbers. It knows which frames can still
// be labelled and their sample numbers, and scores the predictions of labelled frames.
//
//   frame     0  1  2  3  4  5  6  7  8  9  10
//             └── too late ─┘  └─ window ┘  └ waiting: its label goes to the learner with it
//                    ▲ a frame that was dropped is unknown
//
// A label scores a prediction that was made before the model learned from the label, so the scores
// are prequential.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/learner/learner.h"
#include "service/frames/windows.h"

namespace millrace::service {

/// A label from a client: a class by its number or name, or values.
using ClientLabel = std::variant<std::int64_t, std::string, std::vector<float>>;

/// The outcome of a label.
enum class LabelOutcome {
  kAdded,     ///< The model learns from it.
  kTooLate,   ///< Its frame has left the window.
  kUnknown,   ///< The frame does not exist, or has no prediction.
  kRepeated,  ///< Its frame has a label already.
  kInvalid,   ///< It is not valid for the stream's task.
  kUnused,    ///< Its frame was waiting, and then got no prediction.
};
inline constexpr std::size_t kLabelOutcomes = 6;

/// "added", "too_late", "unknown", "repeated", "invalid", "unused".
[[nodiscard]] std::string_view Name(LabelOutcome outcome);

/// Label counts and scores of one stream.
struct LabelCounts {
  pipeline::LabelTask task = pipeline::LabelTask::kClassification;
  /// By outcome. An unused label was added before, so both counts include it.
  std::array<std::uint64_t, kLabelOutcomes> labels = {};
  /// Labels whose frames have a known prediction, and the number of those with the right class.
  std::uint64_t scored = 0;
  std::uint64_t right = 0;
  /// For values: the sum of the mean squared errors of the scored labels.
  double squared_error_sum = 0;
  /// Over at most the last 200 scored labels: the share with the right class, or the mean squared
  /// error. 0 before the first.
  double recent_score = 0;

  [[nodiscard]] std::uint64_t of(LabelOutcome outcome) const {
    return labels[static_cast<std::size_t>(outcome)];
  }
  /// As recent_score, over all scored labels.
  [[nodiscard]] double score() const {
    const double sum = task == pipeline::LabelTask::kClassification ? static_cast<double>(right)
                                                                    : squared_error_sum;
    return scored > 0 ? sum / static_cast<double>(scored) : 0;
  }
};

/// Thread-safe; only the admitting thread calls Begin() and End().
class FrameLabels {
 public:
  /// Passes a label to the learner: Learner::Label().
  using Teach =
      std::function<absl::Status(std::int64_t sample, const pipeline::SampleLabel& label)>;

  /// The first frame is `first_frame` or a later one; earlier frames are too late for a label.
  FrameLabels(pipeline::LabelledTask task, Teach teach, std::int64_t first_frame = 0);

  /// Call it before `frame` is admitted as `sample`. Returns the frame's label if it has already
  /// arrived. REQUIRES: both numbers increase from call to call; End() follows.
  [[nodiscard]] std::optional<pipeline::SampleLabel> Begin(std::int64_t frame, std::int64_t sample)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The learner has admitted or refused the frame. A label that arrived meanwhile goes to the
  /// learner.
  void End(bool admitted) ABSL_LOCKS_EXCLUDED(mu_);

  /// No more frames will come: the waiting labels are unused.
  void Finish() ABSL_LOCKS_EXCLUDED(mu_);

  /// Records the prediction of a sample. REQUIRES: in the order of the samples.
  void OnPrediction(const pipeline::ModelPrediction& model) ABSL_LOCKS_EXCLUDED(mu_);

  /// Takes a client's label after `received` frames have arrived. Fails as CameraStream::Label().
  [[nodiscard]] absl::Status Add(std::int64_t frame, const ClientLabel& label,
                                 std::int64_t received) ABSL_LOCKS_EXCLUDED(mu_);

  /// The name of a class; empty without a name, or if the class does not exist.
  [[nodiscard]] std::string NameOf(int number) const;

  [[nodiscard]] LabelCounts counts() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Entry {
    std::int64_t frame = 0;
    std::int64_t sample = 0;
    std::optional<pipeline::SampleLabel> label = {};
    /// Null before the prediction, and if the prediction is not finite.
    std::shared_ptr<const std::vector<float>> outputs = nullptr;
    int best_class = -1;
  };

  [[nodiscard]] absl::StatusOr<pipeline::SampleLabel> Read(const ClientLabel& label) const;
  [[nodiscard]] absl::Status NoSuchClass(const std::string& name) const;
  [[nodiscard]] absl::Status Place(std::int64_t frame, pipeline::SampleLabel label,
                                   std::int64_t received) ABSL_LOCKS_EXCLUDED(mu_);
  /// Keeps the label of a frame that is not yet admitted.
  [[nodiscard]] absl::Status Wait(std::int64_t frame, pipeline::SampleLabel label)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Passes the label to the learner and stores it. An error names the frame, not the sample.
  [[nodiscard]] absl::Status Give(std::int64_t frame, std::int64_t sample,
                                  pipeline::SampleLabel label) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Entry* Find(std::int64_t frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] absl::Status NoSuchFrame(std::int64_t frame) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  [[nodiscard]] absl::Status TooLate(std::int64_t frame) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Score(const Entry& entry, const pipeline::SampleLabel& label)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Count(LabelOutcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const pipeline::LabelledTask task_;
  const Teach teach_;

  mutable Mutex mu_;
  // Frames that may still be labelled, in order.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  // Labels of frames that are not yet admitted.
  std::map<std::int64_t, pipeline::SampleLabel> waiting_ ABSL_GUARDED_BY(mu_);
  std::int64_t newest_ ABSL_GUARDED_BY(mu_);  // The frame of the last Begin().
  bool admitting_ ABSL_GUARDED_BY(mu_) = false;
  bool forgot_ ABSL_GUARDED_BY(mu_);  // Frames have left the window.
  LabelCounts counts_ ABSL_GUARDED_BY(mu_);
  MeanWindow recent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
