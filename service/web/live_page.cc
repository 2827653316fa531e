#include "service/web/live_page.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "nlohmann/json.hpp"
#include "service/frames/flow_colors.h"
#include "service/frames/jpeg.h"
#include "service/web/live_page_assets.h"
#include "service/web/live_page_json.h"

namespace millrace::service {
namespace {

HttpResponse Full() {
  return {.status = 503,
          .body = "As many people watch as listen.max_viewers allows. Ask again in five seconds.\n",
          .headers = {{"Retry-After", "5"}}};
}

HttpResponse Json(const nlohmann::json& json) {
  // Names and messages may contain any bytes: invalid UTF-8 is replaced instead of throwing.
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  return {.content_type = "application/json", .body = json.dump(-1, ' ', false, kReplace)};
}

HttpResponse Asset(const LivePageAsset& asset) {
  return {
      .content_type = std::string(asset.content_type),
      .body = std::string(asset.content),
      .headers = {{"Content-Security-Policy",
                   "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
                   "connect-src 'self'; base-uri 'none'; frame-ancestors 'self'"}}};
}

// Every client gets this page, also at the viewer limit: the page itself reports the limit.
HttpResponse Index() {
  for (const LivePageAsset& asset : LivePageAssets()) {
    if (asset.name == "index.html") return Asset(asset);
  }
  return {.status = 500, .body = "The page is missing from this build.\n"};
}

HttpResponse Wheel() {
  constexpr int kSize = 128;
  static const absl::StatusOr<std::string> wheel =
      EncodeJpeg(FlowWheel(kSize), kSize, kSize, {.quality = 95, .fine_colors = true});
  if (!wheel.ok()) return {.status = 500, .body = std::string(wheel.status().message())};
  return {.content_type = "image/jpeg", .body = *wheel};
}

std::optional<std::int64_t> Number(const HttpRequest& request, std::string_view name) {
  std::int64_t number = 0;
  const std::optional<std::string> text = request.Parameter(name);
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

/// The part of a stream's history that the requesting page lacks.
std::vector<LossPoint> HistoryFor(const HttpRequest& request, const ServedStream& served) {
  return served.record->HistoryAfter(Number(request, "after").value_or(-1));
}

/// Whether this client may use the controls; if not, why, and whether sending a token, or another
/// one, would help.
nlohmann::json ControlJson(const PageControl* control, const HttpRequest& request) {
  const absl::Status may = control == nullptr
                               ? absl::PermissionDeniedError("no client may control here")
                               : control->Admit(request);
  return {{"may", may.ok()},
          {"needs_token", absl::IsUnauthenticated(may)},
          {"takes_token", control != nullptr && control->TakesToken(request)},
          {"why", std::string(may.message())}};
}

nlohmann::json StreamJson(ServedStream& served, const std::vector<LossPoint>& history,
                          const PageControl* control) {
  nlohmann::json stream = LivePageStreamJson(served, served.pictures.Newest().get(), history);
  stream["checkpoint"] = control == nullptr ? nlohmann::json() : control->CheckpointOf(served);
  return stream;
}

constexpr std::pair<const char*, PictureKind> kPictures[] = {
    {"/streams/*/picture.jpg", PictureKind::kCamera},
    {"/streams/*/flow.jpg", PictureKind::kFlow},
    {"/streams/*/next.jpg", PictureKind::kNext},
    {"/streams/*/reference.jpg", PictureKind::kReference},
    {"/streams/*/uncertainty.jpg", PictureKind::kUncertainty},
};

HttpResponse NoSuchStream() {
  return {.status = 404, .body = "There is no such stream. /api/streams lists them.\n"};
}

}  // namespace

LivePage::LivePage(Options options)
    : options_(options),
      instance_(absl::StrCat(WallTime().count())),
      viewers_(options_.max_viewers, *options_.clock) {
  MILLRACE_CHECK(options_.streams != nullptr);
}

std::vector<HttpRoute> LivePage::Routes() {
  std::vector<HttpRoute> routes = {
      {"/", [](const HttpRequest&) { return Index(); }},
      {"/api/streams", [this](const HttpRequest& request) { return AllStreams(request); }},
      {"/api/streams/*", [this](const HttpRequest& request) { return OneStream(request); }},
      {"/flow_wheel.jpg", [](const HttpRequest&) { return Wheel(); }},
  };
  for (const auto& [pattern, kind] : kPictures) {
    routes.push_back({pattern, [this, kind = kind](const HttpRequest& request) {
                        return Picture(request, kind);
                      }});
  }
  for (const LivePageAsset& asset : LivePageAssets()) {
    routes.push_back({.pattern = absl::StrCat("/", std::string(asset.name)),
                      .handler = [&asset](const HttpRequest&) { return Asset(asset); },
                      .listed = false});
  }
  return routes;
}

HttpResponse LivePage::AllStreams(const HttpRequest& request) {
  if (!Admit(request)) return Full();
  // The page draws the history of at most one stream: all histories would be megabytes.
  const std::optional<std::string> drawn = request.Parameter("history");
  nlohmann::json streams = nlohmann::json::array();
  for (const SharedStream& served : options_.streams->All()) {
    const bool draws = drawn == served->stream->config().name;
    streams.push_back(StreamJson(*served,
                                 draws ? HistoryFor(request, *served) : std::vector<LossPoint>(),
                                 options_.control));
  }
  const bool stopping = options_.stopping != nullptr && *options_.stopping;
  return Json({{"server",
                {{"version", MILLRACE_VERSION},
                 {"instance", instance_},
                 {"stopping", stopping},
                 {"viewers", viewers_.count()},
                 {"max_viewers", viewers_.limit()},
                 {"control", ControlJson(options_.control, request)}}},
               {"streams", std::move(streams)}});
}

HttpResponse LivePage::OneStream(const HttpRequest& request) {
  if (!Admit(request)) return Full();
  const absl::StatusOr<SharedStream> found = options_.streams->Find(request.captures[0]);
  if (!found.ok()) return NoSuchStream();
  return Json(StreamJson(**found, HistoryFor(request, **found), options_.control));
}

HttpResponse LivePage::Picture(const HttpRequest& request, PictureKind kind) {
  if (!Admit(request)) return Full();
  const absl::StatusOr<SharedStream> found = options_.streams->Find(request.captures[0]);
  if (!found.ok()) return NoSuchStream();
  absl::StatusOr<EncodedPicture> picture =
      (*found)->pictures.Encoded(kind, Number(request, "frame"));
  if (absl::IsNotFound(picture.status())) {
    return {.status = 404, .body = absl::StrCat(picture.status().message(), "\n")};
  }
  if (!picture.ok()) return {.status = 500, .body = std::string(picture.status().message())};
  HttpResponse response = {.content_type = "image/jpeg", .body = std::move(picture->jpeg)};
  response.headers = {{"X-Frame-Number", absl::StrCat(picture->frame_number)}};
  if (picture->scale > 0) {
    response.headers.emplace_back("X-Flow-Scale", absl::StrCat(picture->scale));
  }
  return response;
}

bool LivePage::Admit(const HttpRequest& request) {
  // Clients without an id, such as curl, count as one viewer per address.
  const std::string id =
      request.Parameter("viewer").value_or(absl::StrCat("at ", request.remote_address));
  return viewers_.Admit(id);
}

}  // namespace millrace::service
