// The paths of the camera for tests, and the users that may watch each.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>
#include <vector>

namespace millrace::ingest {

/// A path at which the camera plays.
struct MountPoint {
  std::string path;
  std::string query;     ///< Without its question mark. Empty: the URL must have no query.
  std::string user;      ///< Empty: anybody may watch.
  std::string password;  ///< Not encoded, as a person types it.
};

/// `place` is a path, and its query behind a question mark. `user` may be null.
[[nodiscard]] MountPoint MountPointAt(const std::string& place, const char* user,
                                      const std::string& password);

/// One place a line: `PLACE`, or `PLACE USER PASSWORD` with tabs between. Empty if the file cannot
/// be read.
[[nodiscard]] std::vector<MountPoint> ReadMountPoints(const std::string& file);

/// Has `factory` play only to viewers that know the place's user and password. GStreamer's servers
/// cannot ask at one place and let anybody in at another.
void AskForLogin(GstRTSPAuth& auth, GstRTSPMediaFactory& factory, const MountPoint& place);

/// Has `factory` play at `place`. Takes the factory. GStreamer's servers know no path that ends in
/// a slash or has two in a row; this one does.
void AddPlace(GstRTSPMountPoints& mounts, GstRTSPMediaFactory& factory, const MountPoint& place);

/// Answers "404 Not Found" to a URL that is not exactly the URL of a place, with its query.
/// GStreamer's servers ignore a query, and a slash at the end of a path. Cameras choose the channel
/// by a query. `places` must outlive the server.
void AskForExactPlaces(GstRTSPServer& server, const std::vector<MountPoint>& places);

}  // namespace millrace::ingest
