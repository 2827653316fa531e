#include "ingest/gst/connection_probe.h"

#include "ingest/gst/gst_handles.h"
#include "ingest/source/camera_fault.h"

namespace millrace::ingest {
namespace {

absl::Status StatusFromIo(const GError& error) {
  switch (error.code) {
    case G_IO_ERROR_HOST_NOT_FOUND:
      return StatusOf(CameraFault::kUnknownName);
    case G_IO_ERROR_CONNECTION_REFUSED:
      return StatusOf(CameraFault::kRefused);
    case G_IO_ERROR_HOST_UNREACHABLE:
    case G_IO_ERROR_NETWORK_UNREACHABLE:
      return StatusOf(CameraFault::kNoRoute);
    case G_IO_ERROR_TIMED_OUT:
      return StatusOf(CameraFault::kUnanswered);
    default:
      return StatusOf(CameraFault::kNoConnection, error.message);
  }
}

absl::Status StatusFrom(const GError& error) {
  if (error.domain == G_IO_ERROR) return StatusFromIo(error);
  if (error.domain != G_RESOLVER_ERROR) {
    return StatusOf(CameraFault::kNoConnection, error.message);
  }
  return StatusOf(error.code == G_RESOLVER_ERROR_NOT_FOUND ? CameraFault::kUnknownName
                                                           : CameraFault::kNoNameServer);
}

}  // namespace

absl::Status ProbeConnection(const std::string& host, int port, std::chrono::seconds limit,
                             GCancellable& stop) {
  const GstOwned<GSocketClient> client(g_socket_client_new());
  g_socket_client_set_timeout(client.get(), static_cast<guint>(limit.count()));
  const GstOwned<GSocketConnectable> address(
      g_network_address_new(host.c_str(), static_cast<guint16>(port)));
  GError* error = nullptr;
  const GstOwned<GSocketConnection> connection(
      g_socket_client_connect(client.get(), address.get(), &stop, &error));
  const GstOwned<GError> owned_error(error);
  return error == nullptr ? absl::OkStatus() : StatusFrom(*error);
}

}  // namespace millrace::ingest
