#include "tests/ingest/support/rtsp_access.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

namespace millrace::ingest {
namespace {

using Places = std::vector<MountPoint>;

std::string TextOf(const gchar* text) { return text == nullptr ? "" : text; }

/// As it stands in the request: GStreamer has taken empty parts out of the context's.
GstRTSPStatusCode CheckPlace(GstRTSPClient* /*client*/, GstRTSPContext* context, gpointer data) {
  const auto& places = *static_cast<const Places*>(data);
  const gchar* text = nullptr;
  gst_rtsp_message_parse_request(context->request, nullptr, &text, nullptr);
  GstRTSPUrl* url = nullptr;
  if (gst_rtsp_url_parse(text, &url) != GST_RTSP_OK) return GST_RTSP_STS_BAD_REQUEST;
  const std::string path = TextOf(url->abspath);
  const std::string query = TextOf(url->query);
  gst_rtsp_url_free(url);
  const bool found = std::ranges::any_of(places, [&](const MountPoint& place) {
    return place.query == query && place.path == (path.empty() ? "/" : path);
  });
  return found ? GST_RTSP_STS_OK : GST_RTSP_STS_NOT_FOUND;
}

void OnClient(GstRTSPServer* /*server*/, GstRTSPClient* client, gpointer places) {
  g_signal_connect(client, "pre-describe-request", G_CALLBACK(CheckPlace), places);
}

/// The role of all users with the place's login. GStreamer's role names have no special characters.
std::string RoleOf(const MountPoint& place) {
  const std::hash<std::string> hash;
  return "viewer-" + std::to_string(hash(place.user + '\n' + place.password));
}

/// A path as GStreamer's server looks for it: without empty parts.
std::string Plain(const std::string& path) {
  std::string plain;
  for (const char c : path) {
    if (c != '/' || !plain.ends_with('/')) plain.push_back(c);
  }
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain.empty() ? "/" : plain;
}

}  // namespace

MountPoint MountPointAt(const std::string& place, const char* user, const std::string& password) {
  const std::size_t mark = std::min(place.find('?'), place.size());
  return {.path = place.substr(0, mark),
          .query = mark < place.size() ? place.substr(mark + 1) : "",
          .user = TextOf(user),
          .password = password};
}

std::vector<MountPoint> ReadMountPoints(const std::string& file) {
  Places places;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string place;
    std::string user;
    std::string password;
    std::getline(fields, place, '\t');
    std::getline(fields, user, '\t');
    std::getline(fields, password, '\t');
    places.push_back(MountPointAt(place, user.c_str(), password));
  }
  return places;
}

void AskForLogin(GstRTSPAuth& auth, GstRTSPMediaFactory& factory, const MountPoint& place) {
  const std::string role = RoleOf(place);
  GstRTSPToken* token =
      gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, role.c_str(), nullptr);
  if (place.user.empty()) {
    gst_rtsp_auth_set_default_token(&auth, token);
  } else if ((gst_rtsp_auth_get_supported_methods(&auth) & GST_RTSP_AUTH_DIGEST) != 0) {
    gst_rtsp_auth_add_digest(&auth, place.user.c_str(), place.password.c_str(), token);
  } else {
    gchar* basic = gst_rtsp_auth_make_basic(place.user.c_str(), place.password.c_str());
    gst_rtsp_auth_add_basic(&auth, basic, token);
    g_free(basic);
  }
  gst_rtsp_token_unref(token);
  gst_rtsp_media_factory_add_role(&factory, role.c_str(), GST_RTSP_PERM_MEDIA_FACTORY_ACCESS,
                                  G_TYPE_BOOLEAN, TRUE, GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT,
                                  G_TYPE_BOOLEAN, TRUE, nullptr);
}

void AddPlace(GstRTSPMountPoints& mounts, GstRTSPMediaFactory& factory, const MountPoint& place) {
  gst_rtsp_mount_points_add_factory(&mounts, Plain(place.path).c_str(), &factory);
}

void AskForExactPlaces(GstRTSPServer& server, const std::vector<MountPoint>& places) {
  g_signal_connect(&server, "client-connected", G_CALLBACK(OnClient), const_cast<Places*>(&places));
}

}  // namespace millrace::ingest
