// Prints the frames of a video, for a test that pushes them: red, green, blue bytes to standard
// output, as in a stream of that size.
//
//   millrace_video_frames FILE WIDTH HEIGHT
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  if (arguments.size() != 4) {
    std::cerr << "usage: millrace_video_frames FILE WIDTH HEIGHT\n";
    return EXIT_FAILURE;
  }
  const auto source = millrace::ingest::OpenSource(
      {.uri = arguments[1], .width = std::stoi(arguments[2]), .height = std::stoi(arguments[3])});
  if (!source.ok()) {
    std::cerr << source.status().message() << "\n";
    return EXIT_FAILURE;
  }
  while (const std::optional<millrace::ingest::Frame> frame = (*source)->queue().Pop()) {
    const std::vector<std::uint8_t>& rgb = frame->picture->rgb;
    std::cout.write(reinterpret_cast<const char*>(rgb.data()),
                    static_cast<std::streamsize>(rgb.size()));
  }
  return std::cout.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}
