#include "service/commands/cli_init.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
It looks at the camera, writes a configuration of five lines, and says what this machine makes of the
camera: the size at which its motion is learned, the plan, the frame rate and the delay. All else is
as `millrace check-config --print` shows it; every key is explained in share/millrace/millrace.yaml.

A camera that cannot be seen is said, with the cause, and nothing is written. A file that holds a
password can be read by its owner alone. In a password write /, ?, # and % as %2F, %3F, %23 and %25.
Put the URI in quotes: & and ? mean something to shells.

Examples
  millrace init 'rtsp://user:password@camera.local/stream1'
  millrace init rtsp://10.0.0.8/h264 --name gate --output gate.yaml
  millrace init v4l2:/dev/video0)";

}  // namespace

void AddInit(CLI::App& app, InitArguments& arguments) {
  CLI::App* init = app.add_subcommand("init", "Write the configuration of a camera");
  init->add_option(
          "uri", arguments.uri,
          "The camera: rtsp://USER:PASSWORD@HOST/PATH, v4l2:/dev/video0, or a video's path")
      ->required();
  init->add_option("-o,--output", arguments.output, "The file to write")->capture_default_str();
  init->add_option("--name", arguments.name, "What the stream is called")->capture_default_str();
  init->add_flag("--force", arguments.force, "Replace the file if it is there");
  init->add_flag("--offline", arguments.offline, "Write it without a look at the camera");
  init->footer(kFooter);
}

}  // namespace millrace::service
