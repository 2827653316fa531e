// Checks whether this machine can run a configuration. `millrace check-config` and `millrace serve`
// report all problems at once, in the same words, with their places in the file.
#pragma once

#include "absl/status/status.h"
#include "service/commands/machine.h"
#include "service/config/config_file.h"

namespace millrace::service {

/// OK, or INVALID_ARGUMENT with a line "FILE:LINE:COLUMN: KEY: problem; remedy" for each problem.
/// Checks files and folders, passwords, sources except cameras, networks and weights, devices,
/// addresses, and the memory budget if the file has one. A port in use is no problem here: see
/// PortsInUse(). Takes at most a second per stream.
[[nodiscard]] absl::Status CheckMachine(const ConfigFile& file, const Machine& machine);

/// Raises this process's limit of open files as far as possible. Fails with RESOURCE_EXHAUSTED if
/// that limit, or the address space, is too low for the file's streams; the file itself is then
/// valid. Call it before CheckMachine(), which opens files.
[[nodiscard]] absl::Status RaiseLimits(const ConfigFile& file);

/// OK, or UNAVAILABLE with such a line for each port that another program uses. The file itself is
/// then valid: the other program may be the server that already runs it.
[[nodiscard]] absl::Status PortsInUse(const ConfigFile& file, const Machine& machine);

}  // namespace millrace::service
