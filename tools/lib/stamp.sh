# Remembers which parts of set-up are complete. A stamp holds a checksum of what the part was made from,
# and is written last: what was cut short, or made from another version of the tables, does not
# count. Sourced by tools/setup.

key_of() { sha256sum "$@" | sha256sum | cut -d' ' -f1; } # FILE...

# Whether NAME was completed from KEY and FILE, which it made, is still there.
is_done() { # NAME KEY FILE
  [[ -e $3 && -e $deps/stamps/$1 && $(<"$deps/stamps/$1") == "$2" ]]
}

mark_done() { # NAME KEY
  mkdir -p "$deps/stamps"
  printf '%s\n' "$2" >"$deps/stamps/$1"
}

# Makes FOLDER what NEW is, in one step as far as a reader can tell.
replace_folder() { # FOLDER NEW
  rm -rf "$1.old"
  if [[ -e $1 ]]; then mv "$1" "$1.old"; fi
  mv "$2" "$1"
  rm -rf "$1.old"
}
