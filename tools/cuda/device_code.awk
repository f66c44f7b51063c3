# The device code of a program, one line an image: "N sm_80" or "N ptx_120", where N counts the
# compiled sources from 1. Reads the words of the ELF section .nv_fatbin, one a line:
#   objcopy --dump-section .nv_fatbin=/dev/stdout PROGRAM /dev/null | od -An -v -t u4 -w4
#
# The section holds one fat binary a source: a header of 16 bytes (magic, versions and its size, size
# of the rest), then images, each with a header that begins with kind (2 is code, 1 is PTX), its own
# size, the size of the image and, in the eighth word, the architecture. NVIDIA does not document the
# format; what does not look like it is an error, exit code 1.
BEGIN { magic = 3126193488 }  # 0xBA55ED50
{ word[NR - 1] = $1 + 0 }
function fail(what) { print "not a fat binary: " what > "/dev/stderr"; failed = 1; exit 1 }
END {
  if (failed) exit 1
  for (at = 0; at < NR; at = finish) {
    if (word[at] == 0) { finish = at + 1; continue }  # between two of them, for alignment
    if (word[at] != magic) fail("no magic at byte " at * 4)
    header = int(word[at + 1] / 65536)
    finish = at + (header + word[at + 2]) / 4
    if (header < 16 || word[at + 3] != 0 || finish > NR) fail("its size at byte " at * 4)
    ++source
    for (image = at + header / 4; image < finish; image = next_image) {
      kind = word[image] % 65536
      next_image = image + (word[image + 1] + word[image + 2]) / 4
      if (kind < 1 || kind > 2 || next_image <= image || next_image > finish) {
        fail("an image at byte " image * 4)
      }
      print source, (kind == 2 ? "sm_" : "ptx_") word[image + 7]
    }
  }
}
