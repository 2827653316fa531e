// The labels that clients send for frames, by the frames' numbers: which frames can still be
// labelled, which samples of the learner they are, and how well those were predicted whose labels
// came.
//
//   frame     0  1  2  3  4  5  6  7  8  9  10
//             └── too late ─┘  └─ window ┘  └ waiting: its label goes to the learner with it
//                    ▲ a frame that was dropped is unknown
//
// A label is right or wrong about a prediction that was made before the model learned from it, so
// the scores here are prequential.
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

/// A label as a client sends it: a class by its number or its name, or values.
using ClientLabel = std::variant<std::int64_t, std::string, std::vector<float>>;

/// What became of a label.
enum class LabelOutcome {
  kAdded,     ///< The model learns from it.
  kTooLate,   ///< Its frame has left the window.
  kUnknown,   ///< There is no such frame, or it got no prediction.
  kRepeated,  ///< Its frame has a label already.
  kInvalid,   ///< It is no label of the stream's task.
  kUnused,    ///< It came while its frame waited, which got no prediction after all.
};
inline constexpr std::size_t kLabelOutcomes = 6;

/// "added", "too_late", "unknown", "repeated", "invalid", "unused".
[[nodiscard]] std::string_view Name(LabelOutcome outcome);

/// What the labels of one stream came to.
struct LabelCounts {
  pipeline::LabelTask task = pipeline::LabelTask::kClassification;
  /// By outcome. One that is unused was added before, and is counted in both.
  std::array<std::uint64_t, kLabelOutcomes> labels = {};
  /// Labels whose frames' predictions are known, and how many of those named the right class.
  std::uint64_t scored = 0;
  std::uint64_t right = 0;
  /// Values: the sum over the scored of the mean squared error.
  double squared_error_sum = 0;
  /// Over the last 200 scored or fewer: the share that was right, or the mean squared error. 0
  /// before the first.
  double recent_score = 0;

  [[nodiscard]] std::uint64_t of(LabelOutcome outcome) const {
    return labels[static_cast<std::size_t>(outcome)];
  }
  /// The same over all scored.
  [[nodiscard]] double score() const {
    const double sum = task == pipeline::LabelTask::kClassification ? static_cast<double>(right)
                                                                    : squared_error_sum;
    return scored > 0 ? sum / static_cast<double>(scored) : 0;
  }
};

/// Thread-safe; Begin() and End() are for the one thread that admits.
class FrameLabels {
 public:
  /// Hands a label to the learner: Learner::Label().
  using Teach =
      std::function<absl::Status(std::int64_t sample, const pipeline::SampleLabel& label)>;

  /// The first frame is `first_frame` or a later one; what was before is too late for a label.
  FrameLabels(pipeline::LabelledTask task, Teach teach, std::int64_t first_frame = 0);

  /// `frame` is about to be admitted as `sample`. Returns its label, if that has come. REQUIRES:
  /// both rise from call to call; End() follows.
  [[nodiscard]] std::optional<pipeline::SampleLabel> Begin(std::int64_t frame, std::int64_t sample)
      ABSL_LOCKS_EXCLUDED(mu_);
  /// The frame has been `admitted` or refused. A label that came meanwhile goes to the learner.
  void End(bool admitted) ABSL_LOCKS_EXCLUDED(mu_);

  /// No frame comes any more: what waits teaches nothing.
  void Finish() ABSL_LOCKS_EXCLUDED(mu_);

  /// A sample was predicted. REQUIRES: in the order of the samples.
  void OnPrediction(const pipeline::ModelPrediction& model) ABSL_LOCKS_EXCLUDED(mu_);

  /// Takes a client's label, when `received` frames have come. Fails as CameraStream::Label().
  [[nodiscard]] absl::Status Add(std::int64_t frame, const ClientLabel& label,
                                 std::int64_t received) ABSL_LOCKS_EXCLUDED(mu_);

  /// The name of a class; empty where it has none or there is no such class.
  [[nodiscard]] std::string NameOf(int number) const;

  [[nodiscard]] LabelCounts counts() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Entry {
    std::int64_t frame = 0;
    std::int64_t sample = 0;
    std::optional<pipeline::SampleLabel> label = {};
    /// Null until it is predicted, and where that is not finite.
    std::shared_ptr<const std::vector<float>> outputs = nullptr;
    int best_class = -1;
  };

  [[nodiscard]] absl::StatusOr<pipeline::SampleLabel> Read(const ClientLabel& label) const;
  [[nodiscard]] absl::Status NoSuchClass(const std::string& name) const;
  [[nodiscard]] absl::Status Place(std::int64_t frame, pipeline::SampleLabel label,
                                   std::int64_t received) ABSL_LOCKS_EXCLUDED(mu_);
  /// Keeps the label of a frame that has not been admitted.
  [[nodiscard]] absl::Status Wait(std::int64_t frame, pipeline::SampleLabel label)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// Hands it to the learner and keeps it, in the words of frames if that fails.
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
  // Those that may still be labelled, by frame.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mu_);
  // Of frames that have not been admitted.
  std::map<std::int64_t, pipeline::SampleLabel> waiting_ ABSL_GUARDED_BY(mu_);
  std::int64_t newest_ ABSL_GUARDED_BY(mu_);  // The frame that was begun last.
  bool admitting_ ABSL_GUARDED_BY(mu_) = false;
  bool forgot_ ABSL_GUARDED_BY(mu_);  // Some frames have left the window.
  LabelCounts counts_ ABSL_GUARDED_BY(mu_);
  MeanWindow recent_ ABSL_GUARDED_BY(mu_);
};

}  // namespace millrace::service
