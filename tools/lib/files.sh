# Files from packages of Debian and Python, without an installation of the package. Sourced by
# tools/setup.

# The checksums of the videos: samples, tests and docs/learning.md have measured with them.
video_sums='45cddc9490be69345cbdab64ca583be65987e864ca408038e648db99e10516cf  vtest.avi
62b744b99403f899707c43398a3822441add6160379ab6dd6c12bde9e3075f8d  box.mp4'

# The sample video, vtest.avi: ten frames a second of a street, filmed by a fixed camera. A second
# one to measure on, box.mp4: hands that turn a box on a table. aloe: a pair of pictures and its true
# motion. photographs: what the weights of samples/weights were trained on, without any measured pair.
setup_media() {
  local from=$partial/opencv-doc/usr/share/doc/opencv-doc key
  key=$(key_of <(echo "media-1 $video_sums"))
  if is_done media "$key" "$deps/photographs/graf1.png"; then return; fi
  say "The sample videos and photographs, from Debian's opencv-doc: 96 MB to download, 18 MB kept, into .deps"
  unpack_package opencv-doc "$partial/opencv-doc" || fail "could not fetch the sample videos"
  mkdir -p "$partial/video" "$partial/aloe" "$partial/photographs"
  mv "$from/examples/data/vtest.avi" "$partial/video"
  gunzip --stdout "$from/opencv4/html/box.mp4.gz" >"$partial/video/box.mp4"
  (cd "$partial/video" && sha256sum --status --check <<<"$video_sums") ||
    fail "vtest.avi or box.mp4 of opencv-doc is not the video that the samples and tests were measured on"
  mv "$from"/examples/data/aloe* "$partial/aloe"
  rm -f "$from"/examples/data/{left,right,rubberwhale,mask}*
  mv "$from"/examples/data/*.{jpg,png} "$partial/photographs"
  local folder
  for folder in video aloe photographs; do replace_folder "$deps/$folder" "$partial/$folder"; done
  mark_done media "$key"
}

# scikit-learn's digits: 1,797 pictures of 8x8 with their classes.
setup_digits() {
  local digits=$deps/digits/digits.csv.gz table=$root/tools/wheel-digits.txt key
  key=$(key_of "$table")
  if is_done digits "$key" "$digits"; then return; fi
  say "scikit-learn's digits, for the tests: 9 MB to download, 60 kB kept, into .deps/digits"
  setup_venv
  progress_folder=$partial run_logged "fetch the digits" "$deps/log/digits.log" \
    download_wheels "$partial/digits" "$table" || fail "could not fetch scikit-learn's digits"
  unzip -q -j -DD "$partial"/digits/scikit_learn-*.whl sklearn/datasets/data/digits.csv.gz \
    -d "$partial/digits/kept" || fail "could not unpack scikit-learn's digits"
  replace_folder "$deps/digits" "$partial/digits/kept"
  rm -rf "$partial/digits"
  mark_done digits "$key"
}

# Slurm for the tests, which start a cluster of their own. It is only unpacked, as Prometheus is.
setup_slurm() {
  local packages=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2) package key
  key=$(key_of <(echo slurm-1 "${packages[@]}"))
  if is_done slurm "$key" "$deps/slurm/usr/bin/srun"; then return; fi
  say "Slurm, for the tests: unpacked into .deps/slurm, not installed"
  for package in "${packages[@]}"; do
    unpack_package "$package" "$partial/slurm" || fail "could not fetch $package"
  done
  replace_folder "$deps/slurm" "$partial/slurm"
  mark_done slurm "$key"
}

# Prometheus for the tests. It is only unpacked: an installation would start a daemon.
setup_prometheus() {
  local program=$deps/prometheus/usr/bin/prometheus key
  key=$(key_of <(echo prometheus-1))
  if is_done prometheus "$key" "$program"; then return; fi
  say "Prometheus, for the tests: unpacked into .deps/prometheus, not installed"
  unpack_package prometheus "$partial/prometheus" || fail "could not fetch Prometheus"
  replace_folder "$deps/prometheus" "$partial/prometheus"
  mark_done prometheus "$key"
}
