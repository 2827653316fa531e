# Shows a person the work of a script, and its duration. Sourced.

say() { printf '%s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Rewrites one line of the terminal until killed: "  LABEL ... 120 MB, 14 s". The size is that of
# FOLDER, if given. Ends with the script, because Ctrl-C does not reach it.
tick() { # LABEL [FOLDER]
  local start=$SECONDS size=
  while kill -0 $$ 2>/dev/null; do
    if [[ -n ${2:-} ]]; then size="$(du -sm "$2" 2>/dev/null | cut -f1) MB, "; fi
    printf '\r  %s ... %s%d s ' "$1" "$size" $((SECONDS - start))
    sleep 1
  done
}

# Runs COMMAND with its output in LOG, and prints one line with its label and duration. Returns
# COMMAND's exit status. If COMMAND failed, first shows the end of the log. Set progress_folder to
# show the downloaded size.
run_logged() { # LABEL LOG COMMAND...
  local label=$1 log=$2 start=$SECONDS status=0 ticker=
  shift 2
  mkdir -p "$(dirname "$log")"
  if [[ -t 1 ]]; then
    tick "$label" "${progress_folder:-}" &
    ticker=$!
  else
    say "  $label ..."
  fi
  "$@" >"$log" 2>&1 9>&- || status=$?  # 9 is the lock of set-up: no daemon may keep it
  if [[ -n $ticker ]]; then
    kill "$ticker" && wait "$ticker" 2>/dev/null || true
    printf '\r\033[K'
  fi
  if ((status == 0)); then
    say "  $label: done in $((SECONDS - start)) s"
  else
    say "  $label: failed (exit code $status). The end of $log:" >&2
    tail -n 30 "$log" | sed 's/^/    /' >&2
  fi
  return "$status"
}
