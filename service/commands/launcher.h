// The place of this process among the processes of a launcher: torchrun, Slurm, Open MPI, MPICH or
// Kubernetes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::service {

struct LaunchedRank {
  /// "Slurm".
  std::string launcher;
  /// 0 leads.
  int rank = 0;
  /// The number of processes. nullopt: the launcher does not say.
  std::optional<int> size;
  /// The leader's host, or empty if the launcher does not say.
  std::string leader;
};

/// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

/// Reads the variables of launchers. The first of these that are set decide:
///
///   MILLRACE_RANK, MILLRACE_RANKS, MILLRACE_LEADER          anything, such as a StatefulSet
///   RANK, WORLD_SIZE                                        torchrun, PyTorchJob
///   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE              mpirun of Open MPI
///   PMI_RANK, PMI_SIZE                                      mpiexec of MPICH and Intel MPI
///   SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST srun; rank 0 runs on the first node
///   LWS_WORKER_INDEX, LWS_GROUP_SIZE, LWS_LEADER_ADDRESS    a LeaderWorkerSet of Kubernetes
///   JOB_COMPLETION_INDEX                                    an indexed Job of Kubernetes
///
/// MASTER_ADDR is the leader's host, for each of them but the first. nullopt: there is no launcher.
/// Fails with INVALID_ARGUMENT, naming the variable, if one is no number or a rank is too large.
[[nodiscard]] absl::StatusOr<std::optional<LaunchedRank>> ReadLauncher(
    const Environment& environment);

/// The first host of a list as Slurm writes it: "gpu03" of "gpu[03-05,9],login".
[[nodiscard]] std::string FirstHost(std::string_view list);

}  // namespace millrace::service
