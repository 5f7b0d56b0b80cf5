# The pictures of the documentation are what the tools make.

load helper

# same_picture WANT GOT: the same size and inks, and no cell's colour more than one step of the map from the
# other's: a number between two steps may fall to either side where another processor rounds it differently.
# The files' bytes are not compared: they depend on the version of zlib.
same_picture() {
    python3 - "$@" << 'END'
import struct, sys, zlib

def read(path):
    data, at, parts = open(path, "rb").read(), 8, {}
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at : at + 8])
        parts[kind] = parts.get(kind, b"") + data[at + 8 : at + 8 + n]
        at += 12 + n
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    flat = zlib.decompress(parts[b"IDAT"])
    assert len(flat) == height * (width + 1)
    return (width, height), parts[b"PLTE"], flat

STEPS = 240  # of the colour map; what follows is inks
(size, palette, want), (other_size, other_palette, got) = map(read, sys.argv[1:])
assert size == other_size, (size, other_size)
assert max(abs(a - b) for a, b in zip(palette, other_palette)) <= 1 and len(palette) == len(other_palette)
for at, (a, b) in enumerate(zip(want, got)):
    if a != b:
        assert a < STEPS and b < STEPS and abs(a - b) == 1, (at % (size[0] + 1), at // (size[0] + 1), a, b)
END
}

# Six seconds: every picture, which Python compares cell by cell, for each instruction set.
@test "the pictures are those that the tools make, with every instruction set" {
    slow
    need python3
    for isa in $(sed -n 's/^ISA_FLAGS_\([a-z0-9]*\) =.*/\1/p' "$ROOT/Makefile"); do
        TG_ISA=$isa tg-attn-dump --example mask > /dev/null 2>&1 || continue # this machine lacks it
        mkdir "made$isa"
        TG_ISA=$isa "$ROOT/docs/make-files" "$ROOT/docs/images" "made$isa"
        diff <(cd "$ROOT/docs/images" && ls ./*.png ./*.svg) <(cd "made$isa" && ls ./*.png ./*.svg)
        cmp "$ROOT/docs/images/steps.svg" "made$isa/steps.svg"
        for picture in "$ROOT"/docs/images/*.png; do
            cmp -s "$picture" "made$isa/${picture##*/}" || same_picture "$picture" "made$isa/${picture##*/}"
            [[ $(wc -c < "$picture") -le 102400 ]]
        done
    done
    [[ -d madeportable ]]
}

@test "a picture that differs is found" {
    slow_unless_sanitized
    need python3
    tg-attn-dump --example mha -o mha.npz
    tg-attn-dump --example baseline -o other.npz
    tg-attn-view --png -o mha.png mha.npz
    same_picture mha.png mha.png
    tg-attn-view --png --scale log -o log.png mha.npz
    run -1 same_picture mha.png log.png
    tg-attn-view --png -o other.png other.npz
    run -1 same_picture mha.png other.png
}
