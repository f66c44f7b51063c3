# Packs what tools/release.sh has staged as a Python wheel, whose `horizon` command is the program
# itself: no Python runs. Sourced by tools/release.sh, whose variables it uses (stage, scratch, version,
# root, has_device_code).
#
# pip puts scripts into bin/ of the environment and data files below its root, so the program finds its
# libraries in ../lib/horizon, as in the tarball. Nothing in the wheel depends on a version of Python.

# wheel_tag GLIBC: "py3-none-manylinux_2_36_x86_64" for "2.36".
wheel_tag() { printf 'py3-none-manylinux_%s_x86_64' "${1/./_}"; }

# The hash of a file as RECORD has it.
record_hash() {
  printf 'sha256=%s' "$(sha256sum "$1" | cut -c 1-64 | tr a-f A-F | basenc -d --base16 |
    basenc --base64url -w 0 | tr -d =)"
}

# The files below the current folder in the order in which they are packed: RECORD is last.
wheel_files() {
  find . -type f ! -name RECORD | sed 's/^..//' | LC_ALL=C sort
}

write_wheel_metadata() {
  local info=$1 tag=$2 cuda='It has no device code: it was built without CUDA.'
  ((!has_device_code)) || cuda="It has device code for ${architectures[*]} and needs a driver that serves
CUDA $cuda_version. cublasLt is not inside: install cuBLAS of the CUDA toolkit to train on a GPU."
  mkdir -p "$info/licenses"
  cp "$stage"/licenses/* "$info/licenses/"
  {
    printf 'Metadata-Version: 2.1\nName: horizon\nVersion: %s\n' "$version"
    printf 'Summary: Trains language models far larger than the memory of the accelerator, and predicts how fast\n'
    printf 'License: Apache-2.0\nPlatform: Linux x86_64\nDescription-Content-Type: text/plain\n'
    for license in "$info"/licenses/*; do printf 'License-File: licenses/%s\n' "${license##*/}"; done
    printf '\nThe program `horizon`. "horizon help" lists its commands.\n\n%s\n' "$cuda"
  } >"$info/METADATA"
  printf 'Wheel-Version: 1.0\nGenerator: horizon tools/release.sh\nRoot-Is-Purelib: false\nTag: %s\n' "$tag" \
    >"$info/WHEEL"
}

# pack_wheel DATE: writes $scratch/$wheel and sets `wheel`. The same bytes for the same files.
pack_wheel() {
  command -v zip >/dev/null || stop 'zip is missing, which wheels are packed with: apt-get install zip'
  local tree=$scratch/wheel tag info data file
  tag=$(wheel_tag "$(least_glibc)")
  wheel=horizon-$version-$tag.whl
  info=horizon-$version.dist-info data=horizon-$version.data
  mkdir -p "$tree/$data/scripts" "$tree/$data/data/lib/horizon"
  install -m 755 "$stage/bin/horizon" "$tree/$data/scripts/horizon"
  install -m 644 "$stage"/lib/horizon/* "$tree/$data/data/lib/horizon/"
  write_wheel_metadata "$tree/$info" "$tag"
  (
    cd "$tree"
    wheel_files | while read -r file; do
      printf '%s,%s,%d\n' "$file" "$(record_hash "$file")" "$(stat -c %s "$file")"
    done >"$scratch/record"
    printf '%s/RECORD,,\n' "$info" >>"$scratch/record"
    mv "$scratch/record" "$info/RECORD"
    find . -exec touch -h -d "@$1" {} +
    # With its time zone a date would be another one elsewhere.
    { wheel_files; echo "$info/RECORD"; } | TZ=UTC zip -q -X -@ "$scratch/$wheel"
  )
}

# Unpacks the wheel as pip would, at $unpacked.
unpack_wheel() {
  command -v unzip >/dev/null || stop 'unzip is missing, which wheels are checked with: apt-get install unzip'
  local tree=$scratch/unzipped file hash size
  unzip -q "$scratch/$wheel" -d "$tree"
  while IFS=, read -r file hash size; do
    [[ -n $hash ]] || continue
    [[ $hash == "$(record_hash "$tree/$file")" && $size == "$(stat -c %s "$tree/$file")" ]] ||
      stop "the wheel is damaged: $file is not what RECORD says"
  done <"$tree/horizon-$version.dist-info/RECORD"
  [[ -x $tree/horizon-$version.data/scripts/horizon ]] || stop 'the program in the wheel is not executable'
  unpacked=$scratch/elsewhere
  mkdir -p "$unpacked/bin"
  cp "$tree/horizon-$version.data/scripts/horizon" "$unpacked/bin/"
  cp -r "$tree/horizon-$version.data/data/lib" "$unpacked/"
  unpacked=$(readlink -f "$unpacked")
}
