# LibTorch: the user's own, or the C++ part of pinned wheels, unpacked into .deps/libtorch. Sourced by
# tools/setup.

# The code below selects the parts of the wheels: raise this after a change.
libtorch_layout=1

# Half of the wheel is for CUDA and Python only.
not_for_cpu=('torch/lib/libtorch_cuda*' torch/lib/libc10_cuda.so torch/lib/libtorch_python.so
  torch/lib/libtorch_nvshmem.so torch/lib/libcaffe2_nvrtc.so torch/lib/libtorch.so
  torch/lib/libtorch_global_deps.so)

# With an NVIDIA driver the parts for CUDA are downloaded, unless MILLRACE_WITH_CUDA is set.
wanted_libtorch() {
  case ${MILLRACE_WITH_CUDA:-} in
  '') ;;
  1) echo cuda && return ;;
  0) echo cpu && return ;;
  *) fail "MILLRACE_WITH_CUDA=$MILLRACE_WITH_CUDA: set it to 1 or 0, or leave it out" ;;
  esac
  if PATH=$PATH:/sbin ldconfig -p | grep 'libcuda\.so\.1 ' >/dev/null; then
    echo cuda
  else
    echo cpu
  fi
}

libtorch_key() { # cpu|cuda
  local tables=("$root/tools/wheels-cpu.txt")
  [[ $1 == cpu ]] || tables+=("$root/tools/wheels-cuda.txt")
  printf '%s %s %s\n' "$1" "$libtorch_layout" "$(cat "${tables[@]}" | sha256sum | cut -d' ' -f1)"
}

have_libtorch() { # cpu|cuda
  is_done libtorch "$(libtorch_key "$1")" "$deps/libtorch/torch/lib/libtorch_cpu.so"
}

check_own_libtorch() {
  local file
  for file in lib/libtorch_cpu.so lib/libc10.so include/ATen/ATen.h; do
    [[ -e $MILLRACE_LIBTORCH/$file ]] ||
      fail "MILLRACE_LIBTORCH=$MILLRACE_LIBTORCH has no $file: name the folder that holds LibTorch's lib/ and include/"
  done
}

download_libtorch() { # cpu|cuda FOLDER
  local tables=("$root/tools/wheels-cpu.txt")
  [[ $1 == cpu ]] || tables+=("$root/tools/wheels-cuda.txt")
  download_wheels "$2" "${tables[@]}"
}

# Unpacks with the present time (-DD), so that a build notices headers of another version.
unpack_wheels() { # cpu|cuda WHEELS FOLDER
  local leave_out=(torch/lib/libshm torch/lib/libshm/ 'torch/lib/libshm*/*') wheel
  [[ $1 == cuda ]] || leave_out+=("${not_for_cpu[@]}")
  unzip -q -DD "$2"/torch-*.whl 'torch/lib/*' 'torch/include/*' 'torch/share/*' \
    -x "${leave_out[@]}" -d "$3" || return
  for wheel in "$2"/nvidia_*.whl; do
    unzip -q -DD "$wheel" 'nvidia/*' -d "$3" || return
  done
}

setup_libtorch() {
  if [[ -n ${MILLRACE_LIBTORCH:-} ]]; then
    check_own_libtorch
    return
  fi
  local variant size="544 MB to download, 0.6 GB on disk"
  variant=$(wanted_libtorch)
  if [[ $variant == cuda ]]; then size="2.6 GB to download, 3.9 GB on disk; MILLRACE_WITH_CUDA=0 leaves CUDA out"; fi
  # The parts for CUDA also work on the CPU.
  if have_libtorch cuda || have_libtorch "$variant"; then return; fi
  [[ $(uname -m) == x86_64 ]] ||
    fail "the pinned LibTorch is for x86_64: set MILLRACE_LIBTORCH to your own (docs/building.md)"

  say "LibTorch, the neural network library ($variant): $size, into .deps/libtorch"
  setup_venv
  progress_folder=$partial run_logged "download LibTorch" "$deps/log/libtorch-download.log" \
    download_libtorch "$variant" "$partial/wheels" || fail "could not download LibTorch"
  run_logged "unpack LibTorch" "$deps/log/libtorch-unpack.log" \
    unpack_wheels "$variant" "$partial/wheels" "$partial/libtorch" || fail "could not unpack LibTorch"
  replace_folder "$deps/libtorch" "$partial/libtorch"
  rm -rf "$partial/wheels"
  mark_done libtorch "$(libtorch_key "$variant")"
}
