// The list of all schedules: MILLRACE_SCHEDULE(name, function, summary). The including file defines
// the macro.
//
// To add a schedule: write a file with its function beside this one, add a line here, and a test.
// The page docs/schedules.md says how its picture is made.

// NOLINTBEGIN(llvm-header-guard)
MILLRACE_SCHEDULE(sequential, Sequential, "one sample at a time: plain online learning")
MILLRACE_SCHEDULE(one_f_one_b_star, OneFOneBStar,
                  "as few samples in flight as a period allows (Beaumont et al., Algorithm 1)")
MILLRACE_SCHEDULE(one_f_one_b_one_w, OneFOneBOneW,
                  "1F1B*, each backward split: less staleness where a period has room")
MILLRACE_SCHEDULE(partime, Partime,
                  "every stage works on its neighbours' newest products (PARTIME)")
MILLRACE_SCHEDULE(recompute, Recomputing,
                  "partime's order, the matching inputs kept and run again: no mismatch")
MILLRACE_SCHEDULE(stale, Stale,
                  "partime's order, the matching activations kept (Zhang and Abdelrahman)")
MILLRACE_SCHEDULE(hybrid, Hybrid, "stale, then sequential (Zhang and Abdelrahman)")
MILLRACE_SCHEDULE(local, Local, "every stage learns from its own loss, forward only between them")
MILLRACE_SCHEDULE(pipedream, Pipedream,
                  "1F1B, each backward on the weights of its forward (PipeDream)")
MILLRACE_SCHEDULE(pipedream_2bw, Pipedream2bw,
                  "1F1B, an update for m samples, two versions of the weights (PipeDream-2BW)")
MILLRACE_SCHEDULE(gpipe, Gpipe, "m forwards, m backwards, one update, then again (GPipe)")
MILLRACE_SCHEDULE(timeprest, Timeprest, "n forwards to one backward of n samples (TiMePReSt)")
MILLRACE_SCHEDULE(k_periodic, KPeriodic,
                  "1F1B without every (k+1)-th sample: fewer slots, a lower rate (Beaumont et al.)")
MILLRACE_SCHEDULE(interleaved, Interleaved,
                  "a device may own several stages that are not neighbours (Beaumont et al.)")
MILLRACE_SCHEDULE(delayed, Delayed,
                  "one device, every gradient D - 1 updates late: what lateness alone costs")
// NOLINTEND(llvm-header-guard)
