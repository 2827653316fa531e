# A Python environment inside the checkout, for pip and for what tests and checks import. Sourced by
# tools/setup.

venv_python=$deps/venv/bin/python3

setup_venv() {
  local key
  key="$(/usr/bin/python3 --version) in $root" # Its scripts name their interpreter by its whole path.
  if is_done venv "$key" "$venv_python"; then return; fi
  run_logged "make .deps/venv" "$deps/log/venv.log" /usr/bin/python3 -m venv --clear "$deps/venv" ||
    fail "could not make a Python environment"
  rm -f "$deps"/stamps/python-*
  mark_done venv "$key"
}

pip() { env TMPDIR="$partial" "$venv_python" -m pip --disable-pip-version-check "$@"; }

setup_python_packages() { # test|check
  local table=$root/tools/requirements-$1.txt key
  setup_venv
  key=$(key_of "$table")
  if is_done "python-$1" "$key" "$venv_python"; then return; fi
  run_logged "install Python packages for make $1" "$deps/log/python-$1.log" \
    pip install -q --no-deps --require-hashes -r "$table" ||
    fail "could not install what tools/requirements-$1.txt lists"
  mark_done "python-$1" "$key"
}
