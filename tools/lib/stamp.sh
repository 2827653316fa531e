# Remembers which parts of set-up are complete. A stamp holds a checksum of the part's inputs,
# and is written last. So a part that was interrupted, or made from other tables, does not
# count as complete. Sourced by tools/setup.

key_of() { sha256sum "$@" | sha256sum | cut -d' ' -f1; } # FILE...

# Whether NAME was completed from KEY, and its FILE still exists.
is_done() { # NAME KEY FILE
  [[ -e $3 && -e $deps/stamps/$1 && $(<"$deps/stamps/$1") == "$2" ]]
}

mark_done() { # NAME KEY
  mkdir -p "$deps/stamps"
  printf '%s\n' "$2" >"$deps/stamps/$1"
}

# Replaces FOLDER by NEW, in one step for a reader.
replace_folder() { # FOLDER NEW
  rm -rf "$1.old"
  if [[ -e $1 ]]; then mv "$1" "$1.old"; fi
  mv "$2" "$1"
  rm -rf "$1.old"
}
