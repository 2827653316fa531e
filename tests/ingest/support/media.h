// Support of the tests of ingest: movies, pictures to compare with, a way to wait.
#pragma once

#include <poll.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ingest/frame/frame.h"
#include "tests/base/temporary_folder.h"

namespace millrace::ingest {

/// The sample video: 768 x 576, 10 frames a second, 795 frames.
[[nodiscard]] std::string SampleVideo();

/// Runs a pipeline, in gst-launch's words, to its end. Fails the test if it cannot.
void RunPipeline(const std::string& launch);

/// Writes an H264 movie of `frames` frames, 160 x 120.
void WriteMovie(const std::string& path, int frames, int frames_per_second);

/// Writes the sample video's street, 640x480, each of its pictures once, 25 a second: 31 seconds.
void WriteStreet(const std::string& path);

/// Frame `number` of a file by the slow and obvious path: convert first, crop then, scale last.
[[nodiscard]] Picture SlowlyDecoded(const std::string& path, int number, int width, int height);

/// The first `count` pictures of videotestsrc, with these properties.
[[nodiscard]] std::vector<Picture> TestPictures(const std::string& properties, int count, int width,
                                                int height);

/// The mean absolute difference of two pictures of one size, in levels of 255.
[[nodiscard]] double Difference(const Picture& a, const Picture& b);

/// File descriptors that this process has open.
[[nodiscard]] std::ptrdiff_t OpenFiles();

/// Checks every two milliseconds until `done`, without a limit but the test's own timeout.
inline void WaitUntil(const std::function<bool()>& done) {
  while (!done()) poll(nullptr, 0, 2);
}

}  // namespace millrace::ingest
