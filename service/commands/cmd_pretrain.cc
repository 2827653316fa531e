#include "service/commands/cmd_pretrain.h"

#include <iostream>
#include <stop_token>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/plural.h"
#include "service/frames/explained.h"
#include "service/terminal/cli_exit_codes.h"
#include "service/terminal/progress_bar.h"
#include "service/terminal/serve_signals.h"

namespace millrace::service {

int RunPretrain(pipeline::PretrainOptions options) {
  StopSignals signals;
  std::stop_source stop;
  signals.Watch([&] { stop.request_stop(); });

  std::cout << absl::StrFormat(
                   "learning flow from %d generated pairs of %dx%d; %s is written at the end\n",
                   options.frames, options.width, options.height, options.output)
            << std::flush;
  ProgressBar bar(std::cerr, ProgressBar::OnStandardError("frames"));
  options.on_frame = [&](std::int64_t frames) { bar.Show(frames, options.frames); };
  const auto show = [&](const pipeline::PretrainProgress& progress) {
    bar.Clear();
    std::cout << absl::StrFormat("  %d of %d   %s   end-point error %.2f px (%.2f for no motion)\n",
                                 progress.frames, options.frames,
                                 ExplainedText(progress.loss_ratio, 1), progress.end_point_error,
                                 progress.end_point_error_no_motion)
              << std::flush;
  };
  const absl::StatusOr<pipeline::PretrainSummary> summary =
      pipeline::Pretrain(options, show, stop.get_token());
  signals.Forget();  // Watch()'s callback uses local variables.
  bar.Finish();
  if (!summary.ok()) {
    std::cerr << "millrace pretrain: " << summary.status().message() << "\n";
    return absl::IsInvalidArgument(summary.status()) ? kExitUsage : kExitFailure;
  }
  std::cout << absl::StrFormat("wrote %s: end-point error from %.2f to %.2f px", options.output,
                               summary->first.end_point_error, summary->last.end_point_error);
  if (summary->skipped_updates > 0) {
    std::cout << absl::StrCat(", ", Plural(summary->skipped_updates, "update"),
                              " skipped (not finite)");
  }
  std::cout << "\n";
  return kExitOk;
}

}  // namespace millrace::service
