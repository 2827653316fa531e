// Whether this machine can do what a configuration asks of it: what `millrace check-config` and
// `millrace serve` say in the same words, all of it at once and with its place in the file.
#pragma once

#include "absl/status/status.h"
#include "service/commands/machine.h"
#include "service/config/config_file.h"

namespace millrace::service {

/// OK, or INVALID_ARGUMENT "FILE:LINE:COLUMN: KEY: what is wrong; what to do", a line for each:
/// files and folders, passwords, sources but cameras, networks and weights, devices, addresses, and
/// memory where the file says a budget. A port that is in use is none: see PortsInUse(). Takes a
/// second for each stream at most.
[[nodiscard]] absl::Status CheckMachine(const ConfigFile& file, const Machine& machine);

/// Raises this process's limit of open files as far as it may. Fails with RESOURCE_EXHAUSTED where
/// that, or the limit of addresses, is too low for the file's streams. That is no fault of the
/// file. Before CheckMachine(), which opens files.
[[nodiscard]] absl::Status RaiseLimits(const ConfigFile& file);

/// OK, or UNAVAILABLE with such a line for each port that another program has. That is no fault of
/// the file: it may be the server that runs with it.
[[nodiscard]] absl::Status PortsInUse(const ConfigFile& file, const Machine& machine);

}  // namespace millrace::service
