# A Python environment inside the checkout, for pip and for the packages of tests and checks. Sourced by
# tools/setup.

venv_python=$deps/venv/bin/python3

setup_venv() {
  local key
  key="$(/usr/bin/python3 --version) in $root" # Its scripts contain the whole path of their interpreter.
  if is_done venv "$key" "$venv_python"; then return; fi
  run_logged "make .deps/venv" "$deps/log/venv.log" /usr/bin/python3 -m venv --clear "$deps/venv" ||
    fail "could not make a Python environment"
  rm -f "$deps"/stamps/python-*
  mark_done venv "$key"
}

pip() { env TMPDIR="$partial" "$venv_python" -m pip --disable-pip-version-check "$@"; }

# Downloads the wheels of the tables into FOLDER. pip refuses a wheel without the pinned
# checksum. The platform is fixed because set-up only unpacks files of these wheels, whatever Python
# this machine has.
download_wheels() { # FOLDER TABLE...
  local folder=$1 table tables=()
  shift
  for table in "$@"; do tables+=(-r "$table"); done
  pip download -q --no-deps --require-hashes --no-cache-dir --only-binary :all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_25_x86_64 --platform manylinux_2_18_x86_64 \
    --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
    --platform manylinux2010_x86_64 --platform manylinux1_x86_64 \
    --dest "$folder" "${tables[@]}"
}

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
