# Sourced by the tests of the launchers: a copy of the scripts in a repository of its own, on a
# machine whose bazel, dpkg-query, apt-get, apt-cache, sudo and id are stand-ins that write down how they were
# called. What they answer is set by files in $machine.

failures=0
machine=$TEST_TMPDIR/machine
repository="$TEST_TMPDIR/a repository"
rm -rf "$machine" "$repository"
mkdir -p "$machine/bin" "$repository/tools" "$repository/app" "$repository/tests" "$repository/docs"
cp -L horizon test "$repository/"
cp -L tools/setup.sh tools/packages.txt tools/count_tests.sh tools/count_cases.awk \
  "$repository/tools/"
echo 'int main() {}' >"$repository/app/main.cc"
echo 'cc_binary()' >"$repository/app/BUILD"
echo 'text' >"$repository/README.md"
echo 'test' >"$repository/tests/a_test.cc"

# expect WHAT WANTED GOT
expect() {
  [[ $2 == "$3" ]] && return
  printf 'FAILED %s:\n  wanted "%s"\n  got    "%s"\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# expect_part WHAT PART TEXT: PART occurs in TEXT.
expect_part() {
  [[ $3 == *"$2"* ]] && return
  printf 'FAILED %s:\n  wanted "...%s..."\n  got    "%s"\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# stand_in NAME: a program of that name whose body is read from standard input.
stand_in() {
  { printf '#!/bin/bash\nmachine=%q\necho "%s $*" >>"$machine/calls"\n' "$machine" "$1"; cat; } \
    >"$machine/bin/$1"
  chmod +x "$machine/bin/$1"
}

stand_in id <<'END'
[[ $1 == -u ]] && cat "$machine/uid" || echo somebody
END
stand_in dpkg-query <<'END'
for package in "${@:4}"; do
  grep -qx -- "$package" "$machine/not_installed" || echo "installed $package"
done
END
stand_in apt-cache <<'END'
[[ $1 == policy ]] || exit 1
candidate='(none)'
! grep -qx -- "$2" "$machine/known" 2>/dev/null || candidate=1.0-1
printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "$2" "$candidate"
END
stand_in apt-get <<'END'
[[ -e $machine/apt_fails ]] && exit 100
[[ $1 == install ]] && : >"$machine/not_installed"
exit 0
END
stand_in sudo <<'END'
[[ -e $machine/sudo_refuses ]] && exit 1
[[ $1 == -n ]] && shift
"$@"
END
# The program it "builds" prints where and with what it was started.
stand_in bazel <<'END'
env >"$machine/bazel_environment"
while [[ $1 == --* ]]; do shift; done
case $1 in
  build)
    [[ -e $machine/build_fails ]] && exit 1
    mkdir -p "$machine/bazel-bin/app"
    printf '#!/bin/bash\necho "in $PWD:"\nprintf "<%%s>" "$@"\nexit 42\n' \
      >"$machine/bazel-bin/app/horizon"
    chmod 555 "$machine/bazel-bin/app/horizon" ;;
  info) echo "$machine/bazel-bin" ;;
  query) cat "$machine/labels"; [[ ! -e $machine/query_fails ]] ;;
  test)
    for word in "$@"; do
      [[ $word == --build_event_json_file=* ]] && cp "$machine/events" "${word#*=}"
    done
    exit "$(cat "$machine/test_status")" ;;
esac
END

# A machine that has everything, a user who is root.
reset_machine() {
  rm -f "$machine"/{calls,known,apt_fails,sudo_refuses,build_fails,query_fails}
  : >"$machine/not_installed"
  : >"$machine/calls"
  echo 0 >"$machine/uid"
  echo 0 >"$machine/test_status"
  export PATH="$machine/bin:/usr/bin:/bin" HOME=$TEST_TMPDIR
}

# How often a stand-in was called with these words in front.
calls() { grep -c -- "^$1" "$machine/calls" || true; }

finish() {
  ((failures == 0)) && echo 'all as expected'
  exit "$failures"
}
