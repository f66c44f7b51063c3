#!/usr/bin/env bash
# ./horizon installs what is missing, builds when and only when a source changed, and starts the
# program in the caller's folder.
set -uo pipefail
source tests/tools/fake_machine.sh
reset_machine

# run COMMAND...: sets out, err and code.
run() {
  "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err" </dev/null
  code=$?
  out=$(<"$TEST_TMPDIR/out") err=$(<"$TEST_TMPDIR/err")
}
# builds_after WHAT WANTED: how many builds the next start makes.
builds_after() {
  : >"$machine/calls"
  run "$repository/horizon" x
  expect "$1: exit code" 42 "$code"
  expect "$1: builds" "$2" "$(calls 'bazel build')"
}

cd "$TEST_TMPDIR"
run "$repository/horizon" model 'two words' '' --json
expect 'exit code is the program'"'"'s' 42 "$code"
expect 'folder and arguments' "in $TEST_TMPDIR:
<model><two words><><--json>" "$out"
expect 'first start builds' 1 "$(calls 'bazel build')"
expect_part 'first start says so' 'building' "$err"
expect_part 'builds the program' '//app:horizon' "$(cat "$machine/calls")"

builds_after 'nothing changed' 0
expect 'nothing changed: silent' '' "$err"
expect 'nothing changed: packages not looked at' 0 "$(calls dpkg-query)"
echo '// more' >>"$repository/app/main.cc"
builds_after 'source changed' 1
builds_after 'and then not' 0
echo '# more' >>"$repository/app/BUILD"
builds_after 'BUILD file changed' 1
touch -d '2001-01-01' "$repository/app/main.cc"
builds_after 'older source put in place' 1
mkdir "$repository/model" && echo x >"$repository/model/new.cc"
builds_after 'source added' 1
mv "$repository/model/new.cc" "$repository/model/newer.cc"
builds_after 'source renamed' 1
rm "$repository/model/newer.cc"
builds_after 'source deleted' 1
sed 's/main/niam/' -i "$repository/app/main.cc"
builds_after 'same size, other content' 1
echo 'build --x' >"$repository/.bazelrc"
builds_after 'build settings changed' 1
HORIZON_NO_CUDA=1 builds_after 'without CUDA' 1
builds_after 'with CUDA again' 1
echo more >>"$repository/README.md"; echo more >>"$repository/tests/a_test.cc"
echo more >"$repository/docs/x.md"; mkdir -p "$repository/.git"; echo x >"$repository/.git/index"
builds_after 'texts and tests do not matter' 0
rm "$repository/.cache/horizon"
builds_after 'program removed' 1

echo '// broken' >>"$repository/app/main.cc"
touch "$machine/build_fails"
run "$repository/horizon" x
expect 'failed build: exit code' 1 "$code"
expect 'failed build: nothing started' '' "$out"
expect_part 'failed build: says so' 'the build failed' "$err"
rm "$machine/build_fails"
builds_after 'a failed build is tried again' 1

ln -sf "$repository/horizon" "$TEST_TMPDIR/link"
ln -sf link "$TEST_TMPDIR/second-link"
run ./second-link a
expect 'through links' "in $TEST_TMPDIR:
<a>" "$out"
cd "$repository/app"
run ../horizon a
expect 'from a folder inside' "in $repository/app:
<a>" "$out"

# Bazel's server keeps the environment it was started with.
echo '// again' >>"$repository/app/main.cc"
TMPDIR=/nowhere BAZEL_OPTS=x SECRET=y run "$repository/horizon" x
expect 'environment of bazel' '' "$(grep -E '^(TMPDIR|BAZEL_OPTS|SECRET)=' "$machine/bazel_environment")"
expect_part 'PATH of bazel' "$machine/bin" "$(grep '^PATH=' "$machine/bazel_environment")"

# A name for the toolkit is not a toolkit: what is built follows from the nvcc that is found.
builds_after 'before CUDA_HOME' 0
CUDA_HOME=/nowhere builds_after 'CUDA_HOME leads nowhere' 0
mkdir -p "$TEST_TMPDIR/cuda-12/bin" && echo x >"$TEST_TMPDIR/cuda-12/bin/nvcc"
ln -sfn cuda-12 "$TEST_TMPDIR/cuda"
CUDA_HOME=$TEST_TMPDIR/cuda-12 builds_after 'a toolkit is found' 1
expect 'the toolkit of bazel' "CUDA_HOME=$(readlink -f "$TEST_TMPDIR/cuda-12")" \
  "$(grep '^CUDA_HOME=' "$machine/bazel_environment")"
CUDA_HOME=$TEST_TMPDIR/cuda builds_after 'another name of the same toolkit' 0
echo '// with the other name' >>"$repository/app/main.cc"
CUDA_HOME=$TEST_TMPDIR/cuda builds_after 'a source changed too' 1
expect 'bazel sees the same toolkit' "CUDA_HOME=$(readlink -f "$TEST_TMPDIR/cuda-12")" \
  "$(grep '^CUDA_HOME=' "$machine/bazel_environment")"
builds_after 'that toolkit is not asked for any more' 1
expect 'and not given to bazel' '' "$(grep "^CUDA_HOME=$TEST_TMPDIR" "$machine/bazel_environment")"

# Without HOME everything lies where it lay before: in the home folder of the account.
account=$(unset HOME; echo ~)
(unset HOME; "$repository/horizon" x) >/dev/null 2>"$TEST_TMPDIR/err"
expect 'without HOME nothing is built' '' "$(<"$TEST_TMPDIR/err")"
unset HOME
echo '// and again' >>"$repository/app/main.cc"
run "$repository/horizon" x
expect 'without a home folder' 42 "$code"
if [[ -w $account ]]; then
  expect 'the home folder of the account' "HOME=$account" \
    "$(grep '^HOME=' "$machine/bazel_environment")"
  expect 'no other place for what is built' 0 "$(calls 'bazel --output_user_root')"
else
  expect 'a place of its own' 'HOME=/tmp' "$(grep '^HOME=' "$machine/bazel_environment")"
fi

# Packages.
lacking() {
  reset_machine
  printf '%s\n' "$@" >"$machine/not_installed"
  rm -rf "$repository/.cache"
}
lacking g++ libabsl-dev clang-tidy
run "$repository/horizon" x
expect 'root installs what running needs' 1 "$(calls 'apt-get install .* g++ libabsl-dev$')"
expect 'and goes on' 42 "$code"

# What is called otherwise in another release.
lacking g++ libboost-json1.81-dev libboost-json1.83-dev libboost-json1.88-dev
printf 'libboost-json1.88-dev\nlibboost-json1.83-dev\n' >"$machine/known"
run "$repository/horizon" x
expect 'the first name that the release has' 1 \
  "$(calls 'apt-get install .* g++ libboost-json1.83-dev$')"
expect 'and goes on' 42 "$code"
lacking libboost-json1.81-dev libboost-json1.83-dev
run "$repository/horizon" x
expect 'any of the names does' 0 "$(calls 'apt-get')"
lacking libboost-json1.81-dev libboost-json1.83-dev libboost-json1.88-dev
run "$repository/horizon" x
expect 'lists that know none' 1 "$(calls 'apt-get install .* libboost-json1.81-dev$')"

lacking g++
echo 1000 >"$machine/uid"
run "$repository/horizon" x
expect 'others install through sudo' 1 "$(calls 'sudo .*apt-get install .* g++$')"
expect 'and go on' 42 "$code"

lacking g++ libabsl-dev
echo 1000 >"$machine/uid"
touch "$machine/sudo_refuses"
run "$repository/horizon" x
expect 'no rights: exit code' 1 "$code"
expect_part 'no rights: names the packages' 'g++ libabsl-dev' "$err"
expect 'no rights: nothing on standard output' '' "$out"
expect 'no rights: no build' 0 "$(calls 'bazel')"

lacking g++ libabsl-dev
touch "$machine/apt_fails"
run "$repository/horizon" x
expect 'no network: exit code' 1 "$code"
expect_part 'no network: names the packages' 'could not be installed (no network?): g++ libabsl-dev' "$err"
expect 'no network: lists were fetched before the second try' 1 "$(calls 'apt-get update')"
expect 'no network: no build' 0 "$(calls 'bazel')"

lacking bazel-bootstrap
rm "$machine/bin/apt-get"
mkdir -p "$machine/few" && for tool in bash awk cat dirname readlink find sort cksum env mkdir grep sed; do
  ln -sf "$(PATH=/usr/bin:/bin command -v "$tool")" "$machine/few/$tool"
done
PATH="$machine/bin:$machine/few" run "$repository/horizon" x
expect 'no apt: exit code' 1 "$code"
expect_part 'no apt: names the packages' 'bazel-bootstrap' "$err"

finish
