"""The warnings every target of ours is compiled with."""

COPTS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wno-missing-field-initializers",
    "-Wno-unused-parameter",
]
