// Pseudo-truth: the motion of a real video at those pixels where two independent methods find the
// same.
//
// No real camera tells the true motion. DIS down to the single pixel smooths over a neighbourhood.
// Pyramidal Lucas-Kanade (Bouguet, 2000) fits each window alone. Their mean counts where they agree
// within 0.3 px, and each finds its way back by the reversed pair. It is mostly closer to the truth
// than DIS with usual settings. On films with known motion, it errs by 0.12 to 0.22 px against 0.16
// to 0.26, at 63 to 87 % of the pixels. It knows little of small, fast or hidden things.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

/// The pseudo-truth of a pair of pictures: red, green, blue bytes, rows first. Takes about half a
/// second at 352x256 on one core. REQUIRES: 16 pixels or more on each side.
[[nodiscard]] TrueFlow PseudoTruthOf(std::span<const std::uint8_t> previous,
                                     std::span<const std::uint8_t> current, int width, int height);

/// Fails with INVALID_ARGUMENT if the pseudo-truth of `pairs` pairs takes more than four gigabytes.
[[nodiscard]] absl::Status CheckPseudoTruthFits(const ClipSource& source, std::int64_t pairs);

/// `source` with pseudo-truth, which replaces its own truth. Reads it once, and keeps five bytes
/// for each pixel of each pair. Stores vectors in 256ths of a pixel, and vectors longer than 127
/// pixels as unknown. Calls `on_pair` after each pair. Fails as the clip does, and with CANCELLED
/// after a request to stop.
[[nodiscard]] absl::StatusOr<ClipSource> WithPseudoTruth(ClipSource source,
                                                         const std::function<void()>& on_pair,
                                                         const std::stop_token& stop);

}  // namespace millrace::pipeline
