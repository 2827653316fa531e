# A bare Debian 12 as one file. The tests of deploy/ make machines from it, which share only the kernel with this
# machine. Sourced by tools/setup.

# Raise it after a change of the code below.
bare_debian_layout=1

# This machine's sources of Debian, as lines of sources.list.
debian_sources() {
  local sources
  # shellcheck disable=SC2016  # apt-get fills them in.
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' 'Component: main' | grep ' bookworm' || true)
  printf '%s\n' "${sources:-deb http://deb.debian.org/debian bookworm main}"
}

# Docker's debian:12-slim leaves out the same files.
not_in_slim=(usr/share/doc usr/share/info usr/share/locale usr/share/man)

# Debian's minimal system, with this machine's way to download packages.
make_bare_debian() { # FOLDER
  local sources proxy
  sources=$(debian_sources)
  proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
  "${as_root[@]}" env PATH="$PATH:/usr/sbin:/sbin" ${proxy:+http_proxy="$proxy"} \
    debootstrap --variant=minbase bookworm "$1" "$(awk '{ print $2; exit }' <<<"$sources")" || return
  # Its own process, because only root may write there.
  # shellcheck disable=SC2016
  "${as_root[@]}" bash -euc 'cd "$1"; echo "$2" >etc/apt/sources.list; echo "$3" >etc/apt/apt.conf.d/00machine
    { echo force-unsafe-io; printf "path-exclude=/%s/*\n" "${@:4}"; } >etc/dpkg/dpkg.cfg.d/slim
    rm -rf var/cache/apt/archives/*.deb var/lib/apt/lists/* "${@:4}"' \
    bash "$1" "$sources" "$(apt-config dump Acquire)" "${not_in_slim[@]}"
}

pack_bare_debian() { # FOLDER FILE
  make_bare_debian "$1" && "${as_root[@]}" tar -C "$1" --numeric-owner -cf "$2" . && "${as_root[@]}" rm -rf "$1"
}

# If it cannot be made, the tests that need it are skipped with the reason.
setup_bare_debian() {
  local file=$deps/debian/bookworm.tar key
  key=$(key_of <(echo "$bare_debian_layout"))
  if is_done debian "$key" "$file"; then return; fi
  may_install || {
    say "Without a bare Debian 12 for the tests of deploy/: $why_not"
    return
  }
  say "A bare Debian 12, for the tests of deploy/: 40 MB to download, 80 MB on disk, into .deps/debian"
  mkdir -p "$partial/debian/packed"
  if run_logged "make it" "$deps/log/debian.log" \
    pack_bare_debian "$partial/debian/root" "$partial/debian/packed/bookworm.tar"; then
    replace_folder "$deps/debian" "$partial/debian/packed"
    mark_done debian "$key"
  else
    say "Without it those tests are skipped."
  fi
  "${as_root[@]}" rm -rf "$partial/debian"
}
