# A bare Debian 12 as one file, from which the tests of deploy/ make machines that have nothing of this one's but its
# kernel. Sourced by tools/setup.

# Raise when what is done below changes.
bare_debian_layout=1

# Where this machine gets Debian from, as lines of sources.list.
debian_sources() {
  local sources
  # shellcheck disable=SC2016  # apt-get fills them in.
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' 'Component: main' | grep ' bookworm' || true)
  printf '%s\n' "${sources:-deb http://deb.debian.org/debian bookworm main}"
}

# What Docker's debian:12-slim leaves out, too.
not_in_slim=(usr/share/doc usr/share/info usr/share/locale usr/share/man)

# What Debian's own documents call minimal, made to be installed into: how this machine asks for packages, and no more.
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

# Where it cannot be made, the tests that need it say so and are skipped.
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
