#!/usr/bin/env bash
# tools/try_system.sh SUITE FOLDER [COMMAND...]: tries horizon on another release of Debian. Makes a
# minimal system of SUITE (trixie) in FOLDER with debootstrap, from the mirror that apt uses here, copies
# the sources as they are into it, and runs COMMAND there; without one `./horizon demo` and then
# `./test`. Their own set-up installs what they need. A FOLDER that has a system is used again.
# Needs root and the package debootstrap. Exit code: COMMAND's.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
source "$root/tools/setup.sh"

usage='usage: tools/try_system.sh SUITE FOLDER [COMMAND...]'
stop() { say "$1"; exit "${2:-1}"; }
(($# >= 2)) || stop "$usage" 2
suite=$1 folder=$2
shift 2
[[ $suite =~ ^[a-z]+$ ]] || stop "'$suite' is no name of a release; $usage" 2
(($(id -u) == 0)) || stop 'this needs root: it makes a system and starts programs in it'
command -v debootstrap >/dev/null || stop 'debootstrap is missing; ask for: apt-get install debootstrap'

if [[ ! -e $folder/etc/debian_version ]]; then
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | sort -u |
    head -n 1)
  [[ -n $mirror ]] || stop 'apt has no mirror here: is there a list of sources, and was apt-get update run?'
  say "making a system of $suite in $folder"
  debootstrap --variant=minbase "$suite" "$folder" "$mirror" >&2 ||
    stop "debootstrap failed; $folder/debootstrap/debootstrap.log says why"
fi

say "copying the sources"
rm -rf "$folder/root/horizon"
mkdir -p "$folder/root/horizon"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
  tar -c --null -T - -f -) | tar -x -C "$folder/root/horizon" -f -

commands=("$@")
(($#)) || commands=(bash -c './horizon demo && ./test')
# What is mounted for the new system is seen by its own programs only and ends with them.
unshare --mount --pid --fork -- bash -c '
  folder=$1; shift
  mount -t proc proc "$folder/proc"
  mount -t tmpfs tmpfs "$folder/dev/shm" 2>/dev/null || { mkdir -p "$folder/dev/shm" && mount -t tmpfs tmpfs "$folder/dev/shm"; }
  mount --rbind /sys "$folder/sys"
  exec chroot "$folder" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    TERM="${TERM:-dumb}" LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
    bash -c "cd /root/horizon && exec \"\$@\"" run "$@"
' run "$folder" "${commands[@]}"
