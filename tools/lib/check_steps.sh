# The steps of `make check`, cheapest first. Each is a function step_NAME that runs in the checkout's
# root, needs a complete set-up, and returns non-zero if it finds something. A step without enough
# time may return $exit_incomplete. Sourced by tools/check.

# shellcheck disable=SC2034  # tools/check uses it.
steps=(format spelling words layers types protos scripts dockerfile kubernetes prometheus quick slow chaos hostile tsan fuzz clang asan tidy)
exit_incomplete=75

venv_bin=$root/.deps/venv/bin

# Tracked files that exist, one a line. Fails without files, because then the step checks nothing.
tracked() { # PATTERN...
  local files
  files=$(git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    if [[ -f $file ]]; then printf '%s\n' "$file"; fi
  done)
  git rev-parse --is-inside-work-tree >/dev/null || fail "git cannot list the files of this checkout"
  [[ -n $files ]] || fail "there is no file to check: $*"
  printf '%s\n' "$files"
}

need_file() { [[ -e $1 ]] || fail "$1 does not exist"; }

scripts() {
  tracked | while read -r file; do
    if head -c 64 "$file" | head -n 1 | grep -qaE '^#!.*\b(ba|da)?sh\b'; then printf '%s\n' "$file"; fi
  done
}

step_format() {
  tracked '*.h' '*.cc' | xargs -r clang-format-14 --dry-run --Werror
}

step_spelling() {
  # Not the weights, not files of numbers and checksums, and not files that are wrong on purpose.
  tracked ':!*.safetensors' ':!tests/fuzz/corpus/*' ':!*.png' ':!*.svg' ':!tools/requirements-*.txt' |
    xargs -r "$venv_bin/codespell" --ignore-words tools/codespell-words.txt
}

# The wording of documentation, of comments, and of messages and help, by the rules of tools/words.
step_words() {
  "$venv_bin/python" tools/check-words
  "$venv_bin/python" tools/check-words --messages
}

# Which folders include which, and the picture of them in docs/architecture.md.
step_layers() { tools/rooms --check; }

# The Python client, as pip builds it, and the first example of each README.
step_types() (
  local built readme mypy=("$venv_bin/mypy" --config-file "$root/clients/python/pyproject.toml")
  built=$(mktemp -d)
  trap 'rm -rf "$built"' EXIT
  (cd clients/python && "$venv_bin/python" setup.py --quiet build --build-base "$built/build" build_py --build-lib "$built/package")
  export MYPYPATH=$built/package
  "${mypy[@]}" --cache-dir "$built/cache" "$built/package/millrace"
  for readme in README.md clients/python/README.md; do
    awk '/^```python$/ {inside = 1; next} /^```$/ && inside {exit} inside' "$readme" >"$built/example.py"
    [[ -s $built/example.py ]] || fail "$readme has no example of Python"
    "${mypy[@]}" --cache-dir "$built/cache" "$built/example.py" || fail "the first example of $readme has wrong types"
  done
)

step_protos() {
  need_file proto/buf.yaml
  "$venv_bin/buf" lint proto
}

step_scripts() {
  scripts | xargs -r "$venv_bin/shellcheck" --external-sources --check-sourced
}

step_dockerfile() {
  need_file deploy/Dockerfile
  "$venv_bin/hadolint" deploy/Dockerfile
}

step_kubernetes() {
  need_file deploy/kubernetes/millrace.yaml
  "$venv_bin/kubernetes-validate" --strict deploy/kubernetes/millrace.yaml
}

step_prometheus() {
  local promtool=.deps/prometheus/usr/bin/promtool
  # Checks the rules that the configuration names, too.
  need_file deploy/prometheus/prometheus.yml
  "$promtool" check config deploy/prometheus/prometheus.yml
}

step_quick() { test_with release; }

# The tests that the gate's `make test` leaves out.
step_slow() {
  tools/build release --tests
  tools/run-tests release --all --second-try -L '^slow$'
}

step_chaos() { tools/chaos 10; }

# Longer than in `make test`: each lie several times, each time beside others.
step_hostile() {
  tools/build release --tests millrace millrace_rtsp_camera millrace_python_client
  MILLRACE_HOSTILE_MINUTES=30 tools/run-tests release --second-try -R '^e2e[.]hostile_cameras$'
}

# Within a budget the first failure ends a step, so that the failure is not lost when the time runs out.
test_with() { # PRESET
  tools/build "$1" --tests
  tools/run-tests "$1" --quick --all ${CHECK_BUDGET_S:+--stop-on-failure}
}

step_tsan() { test_with tsan; }

step_fuzz() { tools/fuzz; }

# Compiles the product with clang's warnings and its analysis of locks. It links no slow targets.
step_clang() { tools/build clang; }

step_asan() { test_with asan; }

# Reads the compile commands, and the headers that the objects depend on.
step_tidy() {
  tools/build clang --tests
  tools/tidy build/clang
}
