# Debian's packages: finds missing ones, and installs them. Sourced by tools/setup.

packages_table=$root/tools/packages.txt

packages_for() { # NEEDED_FOR...
  awk -v kinds=" $* " '!/^#/ && NF && index(kinds, " " $2 " ") { print $1 }' "$packages_table"
}

missing_packages() { # PACKAGE...
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' || true)
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

# Whether set-up may install here. Sets as_root to the prefix of a command that needs root,
# or why_not to the reason.
may_install() {
  as_root=()
  if [[ ${MILLRACE_SETUP:-} == never ]]; then
    why_not="MILLRACE_SETUP=never"
  elif ((EUID == 0)); then
    return 0
  elif ! command -v sudo >/dev/null; then
    why_not="you are not root and there is no sudo"
  elif sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; then
    as_root=(sudo)
    return 0
  else
    why_not="sudo needs a password and there is no terminal to ask for it"
  fi
  return 1
}

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@"
}

# Stops, and prints the exact command that set-up may not run.
stop_with_command() { # ARGUMENTS_OF_APT_GET...
  local sudo=
  ((EUID == 0)) || sudo="sudo "
  say "" "Set-up may not install packages here: $why_not. Run this, then try again:" >&2
  printf '\n  %sapt-get update' "$sudo" >&2
  (($# == 0)) || printf ' && %sapt-get %s' "$sudo" "$*" >&2
  printf '\n\n' >&2
  exit 1
}

print_reasons() { # PACKAGE...
  local package
  for package in "$@"; do
    awk -v name="$package" '$1 == name { $1 = $2 = ""; sub(/^ +/, ""); printf "  %-34s%s\n", name, $0 }' \
      "$packages_table"
  done
}

print_download_size() { # PACKAGE...
  apt-get install --print-uris -y -q --no-install-recommends "$@" 2>/dev/null |
    awk '/^\047/ { bytes += $3; n++ } END { if (n) printf "That is %d packages with what they need, %d MB to download.\n", n, bytes / 1e6 }'
}

setup_packages() { # NEEDED_FOR...
  command -v apt-get dpkg-query >/dev/null ||
    fail "this is not Debian: install what tools/packages.txt lists, then use CMake's presets (docs/building.md)"
  local wanted missing
  mapfile -t wanted < <(packages_for "$@")
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  ((${#missing[@]} > 0)) || return 0

  say "This machine lacks ${#missing[@]} of Debian's packages:"
  print_reasons "${missing[@]}"
  local install=(install -y --no-install-recommends "${missing[@]}")
  may_install || stop_with_command "${install[@]}"
  run_logged "read Debian's package lists" "$deps/log/apt-update.log" apt_get update ||
    fail "could not read Debian's package lists: is there a network?"
  print_download_size "${missing[@]}"
  run_logged "install packages" "$deps/log/apt-install.log" apt_get "${install[@]}" ||
    fail "could not install packages"
}

download_package() { # PACKAGE FOLDER
  apt-cache show "$1" >/dev/null 2>&1 || return
  progress_folder=$2 run_logged "fetch $1" "$deps/log/$1.log" \
    env -C "$2" apt-get -q download "$1"
}

# Downloads PACKAGE and unpacks it into FOLDER, without installing it.
unpack_package() { # PACKAGE FOLDER
  mkdir -p "$2"
  # The lists may not have the package, or may have a version that Debian has replaced.
  if ! download_package "$1" "$2"; then
    may_install || stop_with_command
    run_logged "read Debian's package lists" "$deps/log/apt-update.log" apt_get update || return
    download_package "$1" "$2" || return
  fi
  dpkg -x "$2"/"$1"_*.deb "$2" || return
  rm -f "$2"/"$1"_*.deb
}
