# A table of the steps of a run, with the seconds that each took. A table is a file with a line for each step. Sourced.

note_step() { # TABLE NAME SECONDS RESULT
  printf '%s\t%s\t%s\n' "$2" "$3" "$4" >>"$1"
}

# Runs COMMAND as a step of the table. Returns its exit status.
timed_step() { # TABLE NAME COMMAND...
  local table=$1 name=$2 start=$SECONDS status=0 result=passed
  shift 2
  "$@" || status=$?
  ((status == 0)) || result=FAILED
  note_step "$table" "$name" $((SECONDS - start)) "$result"
  return "$status"
}

print_steps() { # TABLE
  awk -F '\t' 'BEGIN { printf "  %-16s %7s\n", "step", "seconds" }
    { printf "  %-16s %7d  %s\n", $1, $2, $3; all += $2 }
    END { printf "  %-16s %7d\n", "all", all }' "$1"
}
