// A path and a query, a line each, as the web server passes them on. The first line is also a
// request's target.
#include <string>
#include <vector>

#include "service/net/http_message.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = TextOf(data, size);
  const std::size_t line = text.find('\n');
  HttpRequest request{.path = std::string(text.substr(0, line))};
  if (line != std::string_view::npos) request.query = text.substr(line + 1);
  for (const char* name : {"since", "width", ""}) {
    const auto value = request.Parameter(name);
    Require(!value || value->size() <= 255, "a value has 255 bytes at most");
  }
  HttpRequest read{.path = "/"};
  if (ReadTarget(text.substr(0, line), read)) {
    Require(read.path.starts_with('/'), "a path begins with a slash");
  }
  const auto captured = [](const HttpRequest& matched) {
    Require(matched.captures.size() == 1, "a star captures one segment");
    Require(matched.captures[0].find('/') == std::string::npos, "a segment has no slash");
    return HttpResponse{.body = matched.captures[0]};
  };
  const std::vector<HttpRoute> routes = {
      {.pattern = "/metrics", .handler = [](const HttpRequest&) { return HttpResponse{}; }},
      {.pattern = "/streams/*/picture.jpg", .handler = captured}};
  const int status = Dispatch(routes, request).status;
  Require(status == 200 || status == 404, "a route fits or does not");
  return 0;
}
