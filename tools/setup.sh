# Set-up shared by ./horizon, ./test and .ci/run: packages, Bazel's environment, the build.
# Sourced by bash with `root` set to the repository; everything it prints goes to standard error.

say() { printf 'horizon: %s\n' "$*" >&2; }

# The packages of tools/packages.txt for "$1" (run, test or fuzz), one a line; where the name depends on
# the release, all names it may have. Tests and fuzzing need what running needs.
wanted_packages() {
  awk -v purpose="$1" '
    /^#/ || !NF || ($2 != "run" && $2 != purpose) { next }
    match($1, /\(.*\)/) {
      count = split(substr($1, RSTART + 1, RLENGTH - 2), choices, "|")
      line = ""
      for (i = 1; i <= count; ++i)
        line = line (i > 1 ? " " : "") substr($1, 1, RSTART - 1) choices[i] substr($1, RSTART + RLENGTH)
      print line
      next
    }
    { print $1 }' "$root/tools/packages.txt"
}

# The names among "$@" that are installed, one a line.
installed_packages() {
  # dpkg-query names unknown packages on standard error only: they stay out of the list.
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    awk '$1 == "installed" { print $2 }'
}

# The lines of wanted_packages of which no name is installed.
missing_packages() {
  local wanted
  wanted=$(wanted_packages "$1")
  {
    installed_packages $wanted | sed 's/^/have /'
    sed 's/^/want /' <<<"$wanted"
  } | awk '
    $1 == "have" { have[$2] = 1; next }
    { for (i = 2; i <= NF; ++i) if ($i in have) next; sub(/^want /, ""); print }'
}

# Of each line of names on standard input the first that apt could install, else the first.
names_here() {
  local names name chosen
  while read -r -a names; do
    chosen=${names[0]:-}
    if ((${#names[@]} > 1)); then
      for name in "${names[@]}"; do
        # `show` also knows names that other packages only mention.
        if [[ $(apt-cache policy "$name" 2>/dev/null) =~ Candidate:\ [^\(] ]]; then
          chosen=$name
          break
        fi
      done
    fi
    [[ -z $chosen ]] || echo "$chosen"
  done
}

# Installs what "$1" (run, test or fuzz) lacks, or names it and stops the script with 1.
ensure_packages() {
  local missing as_root=()
  missing=$(missing_packages "$1")
  [[ -z $missing ]] && return 0
  if ! command -v apt-get >/dev/null; then
    missing=$(sed 's/ /|/g' <<<"$missing")
    say "these Debian packages are needed and apt-get is not here to install them: ${missing//$'\n'/ }"
    exit 1
  fi
  if [[ $(id -u) != 0 ]]; then
    # Without a terminal nobody can type a password.
    if command -v sudo >/dev/null && { [[ -t 0 && -t 2 ]] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      missing=$(names_here <<<"$missing")
      say "these packages are missing and installing them needs root: ${missing//$'\n'/ }"
      say "ask for: apt-get install ${missing//$'\n'/ }"
      exit 1
    fi
  fi
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends)
  local names
  names=$(names_here <<<"$missing")
  say "installing ${names//$'\n'/ }"
  # The second try is for a machine whose package lists are old or were never fetched.
  if ! "${install[@]}" $names >&2; then
    "${as_root[@]}" apt-get update -q >&2 || true
    names=$(names_here <<<"$missing")
    "${install[@]}" $names >&2 || true
  fi
  missing=$(missing_packages "$1" | names_here)
  if [[ -n $missing ]]; then
    say "these packages could not be installed (no network?): ${missing//$'\n'/ }"
    exit 1
  fi
}

# The nvcc that the build uses, with links followed; nothing where there is none. It looks where
# tools/cuda/find_cuda.bzl does.
find_nvcc() {
  local place
  [[ ${HORIZON_NO_CUDA:-0} == 1 ]] && return 0
  for place in "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" /usr/local/cuda/bin/nvcc \
    "$(command -v nvcc || true)"; do
    [[ -n $place && -e $place ]] || continue
    readlink -f "$place"
    return 0
  done
}

# Runs Bazel in the repository. Its server outlives this call, so it gets no variable that may point
# to a folder that will be gone (TMPDIR), and no option of the caller's shell changes the build.
# What Bazel has built lies below the home folder: without HOME the one of the user's account is
# taken, where it was built before.
run_bazel() {
  local keep=(PATH="$PATH" LANG=C.UTF-8 TERM="${TERM:-dumb}" USER="${USER:-$(id -un)}")
  local startup=() home=${HOME:-}
  [[ -n $home && -w $home ]] || home=$(unset HOME; echo ~)
  if [[ -n $home && -w $home ]]; then
    keep+=(HOME="$home")
  else
    keep+=(HOME=/tmp)
    startup+=(--output_user_root="/tmp/horizon-bazel-$(id -u)")
  fi
  [[ -n ${JAVA_HOME:-} ]] && keep+=(JAVA_HOME="$JAVA_HOME")
  # The toolkit that was found, not the caller's word for it: two names of one folder are one build.
  local nvcc
  nvcc=$(find_nvcc)
  [[ $nvcc == */bin/nvcc ]] && keep+=(CUDA_HOME="${nvcc%/bin/nvcc}")
  # A name the caller did not set must not stay behind from an earlier run.
  local options=(--repo_env=HORIZON_NO_CUDA="${HORIZON_NO_CUDA:-0}")
  [[ -t 2 && -z ${NO_COLOR:-} ]] || options+=(--color=no --curses=no --noshow_progress)
  local verb=$1
  shift
  [[ $verb == query ]] && options=(--color=no --noshow_progress)
  (cd "$root" && env -i "${keep[@]}" bazel "${startup[@]}" "$verb" "${options[@]}" "$@")
}

# One line that changes whenever anything the program is built from changes: a file's content (by
# its change time and size), a file more or less, the toolkit that is found.
source_fingerprint() {
  {
    cd "$root"
    printf '%s|' "${HORIZON_NO_CUDA:-0}" "$(find_nvcc)"
    find . \( -name .git -o -name '.c*' -o -path ./tests -o -path ./docs -o -name 'bazel-*' \) \
      -prune -o -type f ! -name '*.md' ! -name '*.swp' -printf '%p %C@ %s\n' | LC_ALL=C sort
  } | cksum
}

# Leaves the program at .cache/horizon, built if any source changed since the last build. A copy,
# because Bazel's own output is replaced by whatever is built next (a sanitizer build, say).
build_program() {
  local built="$root/.cache/horizon" stamp="$root/.cache/horizon.stamp" now
  now=$(source_fingerprint)
  if [[ -x $built && -f $stamp && $(<"$stamp") == "$now" ]]; then return 0; fi
  ensure_packages run
  mkdir -p "$root/.cache"
  [[ -x $built ]] || say "building; the first time takes some minutes"
  # Bazel redraws a line of progress on a terminal. In a log, a line every now and then says that it
  # goes on.
  local progress=()
  [[ -t 2 && -z ${NO_COLOR:-} ]] || progress=(--show_progress --show_progress_rate_limit=20)
  if ! run_bazel build --compilation_mode=opt --ui_event_filters=-info,-debug --show_result=0 \
    "${progress[@]}" //app:horizon >&2; then
    say "the build failed; see above"
    exit 1
  fi
  local binary
  binary=$(run_bazel info --compilation_mode=opt bazel-bin 2>/dev/null)/app/horizon
  install -m 755 "$binary" "$built.$$"
  mv -f "$built.$$" "$built"
  printf '%s\n' "$now" >"$stamp.$$"
  mv -f "$stamp.$$" "$stamp"
}
