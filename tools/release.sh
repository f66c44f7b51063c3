#!/usr/bin/env bash
# tools/release.sh [--without-cublas | --wheel] [FOLDER]: horizon for machines that have nothing of it but an
# NVIDIA driver. Builds with --config=release (all architectures), packs the program with the
# libraries it needs into FOLDER/horizon-VERSION-linux-x86_64.tar.gz (FOLDER: .cache/release), then
# unpacks that elsewhere and checks it: it starts with an empty environment, uses no library of this
# machine but glibc's, and has device code for every architecture.
#
# cublasLt is most of the size. --without-cublas leaves it out, and so does a toolkit that has none;
# the name of the tarball then says so, and matrix products on a device need it installed. Exit code 3
# where there is no nvcc to make device code with.
#
# --wheel packs a Python wheel instead, without cublasLt, for "pip install". Where there is no nvcc it is
# one without device code.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
source "$root/tools/setup.sh"
source "$root/tools/wheel.sh"

with_cublas=1 as_wheel=0 output=''
for word in "$@"; do
  case $word in
    --without-cublas) with_cublas=0 ;;
    --wheel) with_cublas=0 as_wheel=1 ;;
    -*) say "unknown option '$word'; usage: tools/release.sh [--without-cublas | --wheel] [FOLDER]"; exit 2 ;;
    *) [[ -z $output ]] || { say "one FOLDER only"; exit 2; }
       output=$word ;;
  esac
done
output=${output:-$root/.cache/release}

stop() { say "$*"; exit 1; }

# What is part of every Linux, and must be the machine's own: glibc.
glibc='^(linux-vdso|ld-linux-x86-64|lib(c|m|mvec|dl|rt|pthread|resolv|util))\.so'

# The library of matrix multiplies, which the program opens when it first computes (kernels/gemm/blas.cc).
opened_library() { grep -aoE 'libopenblas\.so\.[0-9]+' "$1" | sed -n 1p; }

# Where the loader finds a library of that name. ldconfig is not on every user's PATH.
loader_file() { PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk -v name="$1" '$1 == name && !seen++ { print $NF }'; }

# The libraries a program needs beside glibc, and those it opens with what these need, one a line:
# name, file.
needed_libraries() {
  local opened file
  opened=$(opened_library "$1")
  file=$(loader_file "$opened")
  {
    printf '%s => %s\n' "$opened" "${file:-not found}"
    ldd "$1"
    [[ -z $file ]] || ldd "$file"
  } | awk -v glibc="$glibc" '
    $2 == "=>" && $1 !~ glibc && !seen[$1]++ { print $1, $3 == "not" ? "" : $3 }'
}

# The Debian package of a file, which dpkg may know by its place before /lib became a link.
package_of() {
  local file
  file=$(readlink -f "$1")
  { dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}" 2>/dev/null; } |
    sed 's/[:,].*//' | head -n 1
}

# take_license PACKAGE: Debian's text on a package, and a line on which version it was.
take_license() {
  [[ ! -e $stage/licenses/$1.txt ]] || return 0
  cp -L "/usr/share/doc/$1/copyright" "$stage/licenses/$1.txt" 2>/dev/null ||
    stop "the license of $1 is not below /usr/share/doc; a release must have it"
  dpkg-query -W -f '${Package} ${Version}\n' "$1" >>"$stage/licenses/PACKAGES"
}

# NVIDIA's, as its installer, its Python packages and its Debian packages have it.
take_nvidia_license() {
  local text
  for text in "$toolkit"/EULA.txt "$toolkit"/dist-info/nvidia_cublas-*/licenses/License.txt \
    "$toolkit"/dist-info/nvidia_cuda_runtime-*/licenses/License.txt \
    /usr/share/doc/cuda-cudart-*/copyright; do
    [[ -f $text ]] && { cp "$text" "$stage/licenses/NVIDIA-CUDA.txt"; return; }
  done
  stop "the license of the CUDA toolkit is not in $toolkit; a release must have it"
}

# The toolkit's file of that name, or nothing.
find_in_toolkit() {
  local folder
  for folder in lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu; do
    [[ -f $toolkit/$folder/$1 ]] && { printf '%s\n' "$toolkit/$folder/$1"; return; }
  done
}

# The program, and in lib/ what it needs: glibc excepted, and cublasLt if it is wanted and there.
fill_stage() {
  local name file package
  mkdir -p "$stage"/{bin,lib/horizon,licenses}
  install -m 755 "$program" "$stage/bin/horizon"
  cp "$root/LICENSE" "$stage/licenses/horizon.txt"
  [[ -n $(opened_library "$program") ]] || stop 'which BLAS library the program opens cannot be told'
  while read -r name file; do
    [[ -n $file ]] || stop "the program needs $name, which is not on this machine"
    install -m 644 "$(readlink -f "$file")" "$stage/lib/horizon/$name"
    package=$(package_of "$file") || true
    [[ -n $package ]] || stop "no Debian package has $file: its license is not known"
    take_license "$package"
  done < <(needed_libraries "$program")
  # What is inside the program itself.
  while read -r -a names; do
    [[ $names == lib*-dev ]] || continue
    take_license "$(installed_packages "${names[@]}" | head -n 1)"
  done < <(wanted_packages run)
  ((!has_device_code)) || take_nvidia_license
  if ((with_cublas)) && [[ -n $cublas ]]; then
    install -m 644 "$(find_in_toolkit "$cublas")" "$stage/lib/horizon/$cublas"
  fi
}

# The newest symbols of glibc that anything here asks for: "2.36".
least_glibc() {
  find "$stage/bin" "$stage/lib" -type f -exec readelf -VW {} + |
    grep -oE 'Name: GLIBC_[0-9.]+' | sed 's/.*_//' | sort -Vu | tail -n 1
}

write_readme() {
  cat >"$stage/README" <<END
horizon $version for Linux on x86-64 with glibc $(least_glibc) or later.

    bin/horizon help

Nothing has to be installed; the folder may lie anywhere. lib/horizon/ has every library the program
needs but glibc. For NVIDIA devices the machine needs a driver that serves CUDA $cuda_version. Device code is
inside for ${architectures[*]}.
END
  if [[ -n $cublas && ! -e $stage/lib/horizon/$cublas ]]; then
    cat >>"$stage/README" <<END
This copy is without cublasLt, so training on an NVIDIA device needs it from elsewhere: install the CUDA
toolkit's cuBLAS, or copy $cublas into lib/horizon/.
END
  fi
  cat >>"$stage/README" <<END

licenses/ has the terms of everything in here: horizon's own, NVIDIA's for its CUDA libraries, and
those of the Debian packages that libraries were taken from, with their versions in licenses/PACKAGES;
their sources are at https://snapshot.debian.org. "sha256sum -c SHA256SUMS" tells whether anything was
damaged.
END
}

# The same bytes for the same files: in order of names, nobody's, as old as the sources.
pack() {
  (cd "$stage" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs -d '\n' sha256sum \
    >"$scratch/sums" && mv "$scratch/sums" SHA256SUMS)
  tar -C "$scratch/stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$date" \
    -cf - "$name" | gzip -n >"$scratch/$tarball"
  (cd "$scratch" && sha256sum "$tarball" >"$tarball.sha256")
}

# The files a program maps while it runs with these words, one a line, with nothing in its
# environment but "$1".
mapped_files() {
  env -i LD_DEBUG=libs ${1:+"$1"} "$unpacked/bin/horizon" "${@:2}" 2>&1 >/dev/null |
    sed -n 's/.*calling init: //p'
}

check_libraries() {
  local file opened found=0
  opened=$(opened_library "$program") || true
  # What is opened later is found as any library that is named only.
  while read -r file; do
    [[ ${file##*/} == "$opened" ]] && opened=''
    [[ $file == "$unpacked"/* ]] && { found=$((found + 1)); continue; }
    [[ ${file##*/} =~ $glibc ]] || stop "the packed program uses $file of this machine"
  done < <(mapped_files "LD_PRELOAD=$opened" devices)
  ((found > 0)) || stop "which libraries the packed program uses cannot be told"
  [[ -z $opened ]] || stop "the packed program does not find its own $opened"
  if [[ -n $cublas && -e $stage/lib/horizon/$cublas ]]; then
    # The program opens it when it first multiplies on a device.
    file=$(mapped_files "LD_PRELOAD=$cublas" version | grep -F "/$cublas") || true
    [[ $file == "$unpacked"/* ]] ||
      stop "the packed program does not find its own $cublas but '$file'"
  fi
}

# Every compiled source has an image for each architecture, and nothing else.
check_device_code() {
  local images
  # objcopy does not fail where there is no such section.
  objcopy --dump-section .nv_fatbin="$scratch/fatbin" "$unpacked/bin/horizon" /dev/null \
    2>/dev/null || true
  [[ -s $scratch/fatbin ]] || stop "the packed program has no device code"
  images=$(od -An -v -t u4 -w4 "$scratch/fatbin" | awk -f "$root/tools/cuda/device_code.awk") ||
    stop "the device code of the packed program cannot be read"
  sources=$(cut -d ' ' -f 1 <<<"$images" | sort -u | wc -l)
  for ((i = 1; i <= sources; ++i)); do
    diff <(printf '%s\n' "${architectures[@]}" | sort) <(awk -v i="$i" '$1 == i { print $2 }' \
      <<<"$images" | sort) >&2 || stop "device code is missing (<) or not asked for (>), see above"
  done
}

unpack_tarball() {
  mkdir "$scratch/elsewhere"
  tar -C "$scratch/elsewhere" -xzf "$scratch/$tarball"
  unpacked=$(readlink -f "$scratch/elsewhere/$name")
  (cd "$unpacked" && sha256sum -c --quiet SHA256SUMS >&2) || stop "the tarball is damaged"
}

check() {
  local answer
  answer=$(cd / && env -i "$unpacked/bin/horizon" version) || stop "the packed program does not start"
  [[ $answer == "horizon $version" ]] || stop "the packed program says '$answer', not $version"
  (cd / && env -i "$unpacked/bin/horizon" devices >"$scratch/devices") ||
    stop "the packed program cannot list devices"
  check_libraries
  ((!has_device_code)) || check_device_code
}

has_device_code=1
no_cuda() {
  ((as_wheel)) || { say "a release has device code, and $1"; exit 3; }
  say "$1: the wheel will be without device code"
  has_device_code=0
}
[[ ${HORIZON_NO_CUDA:-0} != 1 ]] || no_cuda 'HORIZON_NO_CUDA is set'
ensure_packages run
begin=$SECONDS
run_bazel build --config=release --compilation_mode=opt //app:horizon >&2 ||
  stop "the build failed; see above"
program=$(run_bazel info --config=release --compilation_mode=opt bazel-bin 2>/dev/null)/app/horizon
cuda=$(run_bazel info --config=release output_base 2>/dev/null)/external/cuda/defs.bzl
((!has_device_code)) || grep -qx 'AVAILABLE = True' "$cuda" || no_cuda 'nvcc was not found'
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)".*/\1/p' "$root/app/version.h")
toolkit='' cuda_version=''
if ((has_device_code)); then
  toolkit=$(sed -n 's/^ROOT = "\(.*\)"$/\1/p' "$cuda")
  cuda_version=$("$toolkit/bin/nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
fi
# "75" is sm_75; "120+ptx" is sm_120 and ptx_120.
mapfile -t architectures < <(sed -n 's/^build:release .*architectures=\([^ ]*\).*/\1/p' \
  "$root/.bazelrc" | tr , '\n' | sed -E 's/^(.*)\+ptx$/sm_\1\nptx_\1/; t; s/^/sm_/')
# The library a program that multiplies on devices opens by this name; nothing where it does not.
cublas=$(grep -aoE 'libcublasLt\.so\.[0-9]+' "$program" | head -n 1 || true)

suffix=''
if [[ -n $cublas ]] && ((with_cublas)) && [[ -z $(find_in_toolkit "$cublas") ]]; then
  say "$cublas is not in $toolkit: packed without; install cuBLAS of the toolkit and start again"
  with_cublas=0
fi
[[ -z $cublas ]] || ((with_cublas)) || suffix=-without-cublas
name=horizon-$version-linux-x86_64$suffix
tarball=$name.tar.gz
mkdir -p "$output"
scratch=$(mktemp -d "$output/.release.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
stage=$scratch/stage/$name
# Files are as old as the sources, so that the same sources give the same bytes.
date=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")
sources=0
fill_stage
if ((as_wheel)); then
  pack_wheel "$date"
  unpack_wheel
  packed=("$wheel")
else
  write_readme
  pack
  unpack_tarball
  packed=("$tarball" "$tarball.sha256")
fi
check
mv "${packed[@]/#/$scratch/}" "$output/"
device_code="$sources sources for ${architectures[*]}"
((has_device_code)) || device_code='no device code'
printf '%s: %d MiB, %d MiB unpacked, %d libraries, %s; %d s\n' "$output/${packed[0]}" \
  $(($(stat -c %s "$output/${packed[0]}") >> 20)) $(($(du -sb "$stage" | cut -f 1) >> 20)) \
  "$(find "$stage/lib" -type f | wc -l)" "$device_code" $((SECONDS - begin))
