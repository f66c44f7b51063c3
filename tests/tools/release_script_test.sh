#!/usr/bin/env bash
# tools/release.sh packs a program with its libraries, and finds out when what it packed would not work
# on another machine. The program, its libraries and their loading are real; Bazel, dpkg and the toolkit
# are stand-ins.
set -uo pipefail
source tests/tools/fake_machine.sh
reset_machine
mkdir -p "$repository/tools/cuda" "$machine/bazel-bin/app" "$machine/base/external/cuda"
cp -L tools/release.sh tools/wheel.sh "$repository/tools/"
cp -L tools/cuda/device_code.awk "$repository/tools/cuda/"
chmod +x "$repository/tools/release.sh"
echo 'inline constexpr char kVersion[] = "1.2.3";' >"$repository/app/version.h"
echo 'build:release --//tools/cuda:architectures=75,120+ptx' >"$repository/.bazelrc"
echo 'its license' >"$repository/LICENSE"
echo 'changes' >"$repository/CHANGELOG.md"
toolkit=$machine/toolkit
name=horizon-1.2.3-linux-x86_64

stand_in bazel <<'END'
while [[ $1 == --* ]]; do shift; done
case "$1 $*" in
  build*) [[ ! -e $machine/build_fails ]] ;;
  info*output_base) echo "$machine/base" ;;
  info*) echo "$machine/bazel-bin" ;;
esac
END
stand_in dpkg-query <<'END'
if [[ $1 == -S ]]; then
  [[ -e $machine/no_package ]] && exit 1
  [[ $2 == /usr/* ]] && exit 1  # as for what was installed before /lib became a link
  echo "libstdc++6:amd64: $2"
elif [[ $3 == *Version* ]]; then
  echo "$4 12.2.0"
else
  for package in "${@:4}"; do echo "installed $package"; done
fi
END

# A toolkit with a cublasLt and a license.
make_toolkit() {
  rm -rf "$toolkit"
  mkdir -p "$toolkit"/{bin,lib64}
  printf '#!/bin/bash\necho "Cuda compilation tools, release 13.7, V13.7.1"\n' >"$toolkit/bin/nvcc"
  chmod +x "$toolkit/bin/nvcc"
  echo 'NVIDIA says' >"$toolkit/EULA.txt"
  echo 'int cublas_lt;' | g++ -shared -fPIC -x c++ - -Wl,-soname,libcublasLt.so.13 \
    -o "$toolkit/lib64/libcublasLt.so.13"
  printf 'AVAILABLE = True\nNVCC = "x"\nROOT = "%s"\n' "$toolkit" \
    >"$machine/base/external/cuda/defs.bzl"
}

# Words of four bytes, little endian.
words() {
  local word
  for word in "$@"; do
    printf "\\x$(printf %02x $((word & 255)))\\x$(printf %02x $((word >> 8 & 255)))"
    printf "\\x$(printf %02x $((word >> 16 & 255)))\\x$(printf %02x $((word >> 24)))"
  done
}
# A fat binary: its images are given as KIND:ARCHITECTURE, each a header of 64 bytes and 8 more.
fat_binary() {
  local image
  words 0xBA55ED50 0x00100001 $(($# * 72)) 0
  for image in "$@"; do
    words $((0x01010000 + ${image%:*})) 64 8 0 0 0 0 "${image#*:}" 0 0 0 0 0 0 0 0 1 2
  done
}
whole=(2:75 2:120 1:120)

# make_program VERSION [OPTION...]: what Bazel "builds", of the device code in $machine/fatbin.
make_program() {
  local beside='-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib/horizon'
  printf '%s\n' 'extern "C" int puts(const char*);' 'const char* volatile opens = "libcublasLt.so.13";' \
    "const char* volatile blas = \"${blas-libopenblas.so.0}\";" \
    "int main() { puts(\"horizon $1\"); }" >"$machine/program.cc"
  g++ -Wl,--no-as-needed "$machine/program.cc" -o "$machine/plain" ${2-"$beside"}
  objcopy --add-section .nv_fatbin="$machine/fatbin" "$machine/plain" "$machine/bazel-bin/app/horizon"
}

run() {
  rm -rf "$TEST_TMPDIR/folder"
  "$repository/tools/release.sh" "$@" "$TEST_TMPDIR/folder" >"$TEST_TMPDIR/out" \
    2>"$TEST_TMPDIR/err" </dev/null
  code=$?
  out=$(<"$TEST_TMPDIR/out") err=$(<"$TEST_TMPDIR/err")
  files=$(ls -A "$TEST_TMPDIR/folder" 2>/dev/null)
}
# refused WHAT PART [CODE]: the script fails, says PART, and leaves nothing.
refused() {
  run
  expect "$1" "${3:-1}" "$code"
  expect_part "$1" "$2" "$err"
  expect "$1 leaves nothing" '' "$files"
}

make_toolkit
{ fat_binary "${whole[@]}"; words 0 0; fat_binary "${whole[@]}"; } >"$machine/fatbin"
make_program 1.2.3

run
expect 'packs' 0 "$code"
[[ $code == 0 ]] || printf '%s\n' "$err"
expect 'a tarball and its sum' "$name.tar.gz
$name.tar.gz.sha256" "$files"
expect_part 'says how much' '6 libraries, 2 sources for sm_75 sm_120 ptx_120' "$out"
expect 'builds a release' 1 "$(calls 'bazel build .*--config=release .*//app:horizon')"
(cd "$TEST_TMPDIR/folder" && sha256sum -c --quiet "$name.tar.gz.sha256") ||
  expect 'the sum is right' yes no
tar -C "$TEST_TMPDIR" -xzf "$TEST_TMPDIR/folder/$name.tar.gz"
expect 'what is inside' 'README
SHA256SUMS
bin/horizon
lib/horizon/libcublasLt.so.13
lib/horizon/libgcc_s.so.1
lib/horizon/libgfortran.so.5
lib/horizon/libopenblas.so.0
lib/horizon/libquadmath.so.0
lib/horizon/libstdc++.so.6' "$(cd "$TEST_TMPDIR/$name" && find . -type f ! -path './licenses/*' |
  sed 's/^..//' | LC_ALL=C sort)"
expect 'it runs' 'horizon 1.2.3' "$(env -i "$TEST_TMPDIR/$name/bin/horizon")"
licenses=$(cd "$TEST_TMPDIR/$name/licenses" && printf '%s ' *)
for license in horizon.txt NVIDIA-CUDA.txt 'libstdc++6.txt' libabsl-dev.txt libpcre2-dev.txt; do
  expect_part 'licenses' "$license" "$licenses"
done
expect_part 'versions of packages' 'libabsl-dev 12.2.0' "$(<"$TEST_TMPDIR/$name/licenses/PACKAGES")"
readme=$(<"$TEST_TMPDIR/$name/README")
expect_part 'what it needs' 'glibc 2.' "$readme"
expect_part 'which driver' 'serves CUDA 13.7' "$readme"
[[ $readme != *'without cublasLt'* ]] || expect 'cublasLt is there' yes no
first=$(<"$TEST_TMPDIR/folder/$name.tar.gz.sha256")
run
expect 'the same bytes again' "$first" "$(<"$TEST_TMPDIR/folder/$name.tar.gz.sha256")"

run --without-cublas
expect 'without cublasLt' "0 $name-without-cublas.tar.gz" "$code ${files%%$'\n'*}"
expect 'which is not inside' 0 \
  "$(tar -tzf "$TEST_TMPDIR/folder/$name-without-cublas.tar.gz" | grep -c libcublasLt)"
expect_part 'its README says so' 'without cublasLt' \
  "$(tar -xzOf "$TEST_TMPDIR/folder/$name-without-cublas.tar.gz" --wildcards '*/README')"
rm "$toolkit/lib64/libcublasLt.so.13"
run
expect 'a toolkit without cublasLt' "0 $name-without-cublas.tar.gz" "$code ${files%%$'\n'*}"
expect_part 'is told' 'libcublasLt.so.13 is not in' "$err"
make_toolkit
rm "$toolkit/EULA.txt"
refused 'no license of NVIDIA' 'license of the CUDA toolkit'
make_toolkit

touch "$machine/no_package"
refused 'a library of nobody' 'its license is not known'
rm "$machine/no_package"

make_program 1.2.4
refused 'another version' "'horizon 1.2.4', not 1.2.3"
make_program 1.2.3 -Wl,-rpath,/nowhere
refused 'libraries of this machine' 'of this machine'
blas=none make_program 1.2.3
refused 'no library of matrix multiplies' 'which BLAS library'
make_program 1.2.3

fat_binary 2:75 1:120 >"$machine/fatbin"
make_program 1.2.3
refused 'an architecture too few' '< sm_120'
{ fat_binary "${whole[@]}"; fat_binary "${whole[@]}" 2:61; } >"$machine/fatbin"
make_program 1.2.3
refused 'an architecture too many' '> sm_61'
echo 'this is no device code at all.......' >"$machine/fatbin"
make_program 1.2.3
refused 'what is no fat binary' 'cannot be read'
cp "$machine/plain" "$machine/bazel-bin/app/horizon"
refused 'no device code' 'no device code'
fat_binary "${whole[@]}" >"$machine/fatbin"
make_program 1.2.3

touch "$machine/build_fails"
refused 'a failed build' 'the build failed'
rm "$machine/build_fails"
sed -i 's/True/False/' "$machine/base/external/cuda/defs.bzl"
refused 'no nvcc' 'nvcc was not found' 3
make_toolkit
export HORIZON_NO_CUDA=1
refused 'no CUDA wanted' 'HORIZON_NO_CUDA' 3
unset HORIZON_NO_CUDA

# Wheels.
wheel=horizon-1.2.3-py3-none-manylinux_2_
run --wheel
expect 'a wheel' 0 "$code"
[[ $code == 0 ]] || printf '%s\n' "$err"
expect_part 'its name says which glibc' "$wheel" "$files"
expect 'one file' 1 "$(wc -l <<<"$files")"
unzip -q -o "$TEST_TMPDIR/folder/$files" -d "$TEST_TMPDIR/wheel"
expect 'what is inside a wheel' 'horizon-1.2.3.data/data/lib/horizon/libgcc_s.so.1
horizon-1.2.3.data/data/lib/horizon/libgfortran.so.5
horizon-1.2.3.data/data/lib/horizon/libopenblas.so.0
horizon-1.2.3.data/data/lib/horizon/libquadmath.so.0
horizon-1.2.3.data/data/lib/horizon/libstdc++.so.6
horizon-1.2.3.data/scripts/horizon
horizon-1.2.3.dist-info/METADATA
horizon-1.2.3.dist-info/RECORD
horizon-1.2.3.dist-info/WHEEL' "$(cd "$TEST_TMPDIR/wheel" && find . -type f ! -path '*/licenses/*' |
  sed 's/^..//' | LC_ALL=C sort)"
expect 'files and RECORD' "$(cd "$TEST_TMPDIR/wheel" && find . -type f | sed 's/^..//' | LC_ALL=C sort)" \
  "$(cut -d , -f 1 "$TEST_TMPDIR/wheel/horizon-1.2.3.dist-info/RECORD" | LC_ALL=C sort)"
expect_part 'not for any platform' 'Root-Is-Purelib: false' \
  "$(<"$TEST_TMPDIR/wheel/horizon-1.2.3.dist-info/WHEEL")"
expect_part 'the tag is that of its name' "Tag: ${files:14:-4}" \
  "$(<"$TEST_TMPDIR/wheel/horizon-1.2.3.dist-info/WHEEL")"
expect_part 'which device code' 'sm_75 sm_120 ptx_120' \
  "$(<"$TEST_TMPDIR/wheel/horizon-1.2.3.dist-info/METADATA")"
first=$(sha256sum <"$TEST_TMPDIR/folder/$files")
run --wheel
expect 'the same wheel again' "$first" "$(sha256sum <"$TEST_TMPDIR/folder/$files")"
make_program 1.2.4
run --wheel
expect 'a wheel of another version' 1 "$code"
expect_part 'is refused' "'horizon 1.2.4', not 1.2.3" "$err"
cp "$machine/plain" "$machine/bazel-bin/app/horizon"
make_program 1.2.3
sed -i 's/True/False/' "$machine/base/external/cuda/defs.bzl"
run --wheel
expect 'a wheel without nvcc' 0 "$code"
expect_part 'is said to have no device code' 'no device code' "$out"
make_toolkit

run --quickly
expect 'an unknown option' 2 "$code"
run one
expect 'two folders' 2 "$code"
run
expect 'and all is well again' 0 "$code"

finish
