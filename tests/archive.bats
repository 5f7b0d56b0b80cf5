#!/usr/bin/env bats
# Archives before other programs' eyes, and other programs' archives before ours.
# Uses the helper programs make_archive and list_archive (`make unit`).

load helper

setup() {
    tg_setup
    make_archive=$BUILD/unit/make_archive
    list_archive=$BUILD/unit/list_archive
}

# Arrays as list_archive prints them, but by NumPy.
numpy_list='
import sys, zlib, numpy
a = numpy.load(sys.argv[1])
for k in a.files:
    x = a[k]
    t = x.dtype.str
    print(k, t, x.shape, "%08x" % zlib.crc32(x.tobytes()), sep="\t")
print("end")
'

# What is in FILE, read from the file and from a pipe: FILE.list.
list_both() {
    "$list_archive" "$1" >"$1.list"
    cat "$1" | "$list_archive" >"$1.piped"
    cmp "$1.list" "$1.piped"
}

refuse() { # FILE MESSAGE: status 1 and one line with the message, both ways
    run -1 --separate-stderr "$list_archive" "$1"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr = *"$2"* ]] || { echo "got: $stderr"; false; }
    run -1 --separate-stderr bash -o pipefail -c "cat '$1' | '$list_archive'"
    [[ $stderr = *"$2"* ]] || { echo "got: $stderr"; false; }
}

@test "the helper programs are built" {
    [ -x "$make_archive" ] && [ -x "$list_archive" ]
}

@test "python's zipfile accepts what is written" {
    need python3
    for z in '' -z; do
        "$make_archive" $z >a.npz
        python3 -c '
import sys, zipfile
z = zipfile.ZipFile("a.npz")
assert z.testzip() is None
assert len(z.infolist()) == 8
for i in z.infolist():
    assert i.date_time == (1980, 1, 1, 0, 0, 0), i
    assert i.external_attr >> 16 == 0o100644, i
'
    done
}

@test "unzip accepts what is written, one archive and several" {
    need unzip
    for z in '' -z; do
        "$make_archive" $z >a.npz
        run -0 unzip -t a.npz
        [[ $output = *"No errors detected"* && $output != *warning* ]]
    done
    run -0 unzip -Z1 a.npz
    [ "${lines[1]}" = tokens/00000000.npy ]
}

@test "NumPy reads the same arrays as we do" {
    slow
    need_numpy
    for z in '' -z; do
        "$make_archive" $z >a.npz
        list_both a.npz
        python3 -c "$numpy_list" a.npz >want
        diff want a.npz.list
    done
}

@test "array data starts on 64-byte boundaries, in the second of two archives as well" {
    need python3
    "$make_archive" >a.npz
    cat a.npz a.npz >two.npz
    python3 -c '
import re
b = open("two.npz", "rb").read()
starts = [m.start() for m in re.finditer(b"\x93NUMPY", b)]
assert len(starts) == 16 and all(s % 64 == 0 for s in starts), starts
'
    list_both two.npz
    [ "$(grep -c '^end$' two.npz.list)" -eq 2 ]
}

@test "NumPy's archives are read: to a file, compressed, to a pipe" {
    slow
    need_numpy
    save='
import sys, numpy as n
f = n.savez_compressed if sys.argv[1] == "z" else n.savez
f(sys.argv[2] if len(sys.argv) > 2 else sys.stdout.buffer,
  f=n.arange(6, dtype="<f4").reshape(2, 3), d=n.float64(0.5), i=n.arange(100000), b=n.array([True, False]),
  s=n.bytes_(b"text"), none=n.zeros((0, 3), "u1"), h=n.ones((1, 5), "<f2", order="F"))'
    python3 -c "$save" - plain.npz
    python3 -c "$save" z deflated.npz
    python3 -c "$save" - | cat >piped.npz
    python3 -c "$save" z | cat >piped-z.npz
    python3 -c "$numpy_list" plain.npz >want
    for f in plain deflated piped piped-z; do
        list_both $f.npz
        diff want $f.npz.list
    done
    "$make_archive" >own.npz
    cat piped.npz own.npz plain.npz >all.npz
    list_both all.npz
    [ "$(grep -c '^end$' all.npz.list)" -eq 3 ]
}

@test "NumPy's Fortran order, big-endian, objects, text and records are refused" {
    slow
    need_numpy
    python3 -c '
import numpy as n
n.savez("fortran.npz", x=n.asfortranarray(n.ones((2, 3))))
n.savez("big.npz", x=n.ones(3, ">f4"))
n.savez("object.npz", x=n.array([{}]))
n.savez("text.npz", x=n.array("text"))
n.savez("record.npz", x=n.zeros(2, [("a", "f4")]))
n.savez("complex.npz", x=n.zeros(2, "c8"))
n.savez("name.npz", **{"a b": n.zeros(2)})
n.savez("empty.npz")
n.save("alone.npy", n.zeros(2))'
    refuse fortran.npz 'array "x": Fortran order, expected C order'
    refuse big.npz "'>f4' is big-endian"
    refuse object.npz "Python objects"
    refuse text.npz "'<U4' is not one of"
    refuse record.npz "structured"
    refuse complex.npz "'<c8' is not one of"
    refuse name.npz "the name of the member at offset 0 has bytes other than"
    refuse empty.npz "a zip file without members"
    refuse alone.npy "a single .npy array"
}

@test "PyTorch files and other zips are refused" {
    need python3
    python3 -c '
import sys, zipfile
for name, member in ("torch", "archive/data.pkl"), ("other", "readme.txt"), ("office", "[Content_Types].xml"):
    with zipfile.ZipFile(name + ".zip", "w") as z:
        z.writestr(member, b"\x80\x02}q\x00.")
    with zipfile.ZipFile(name + "-z.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr(member, b"\x80\x02}q\x00." * 100)'
    for z in '' -z; do
        refuse torch$z.zip 'this is a PyTorch file (member "archive/data.pkl")'
        refuse other$z.zip 'its member "readme.txt" is not an .npy array'
        refuse office$z.zip 'has bytes other than'
    done
}

@test "files of other formats are refused by name" {
    printf 'GGUF\3\0\0\0\0\0\0\0' >gguf
    printf '\x10\0\0\0\0\0\0\0{"a":1}         ' >safetensors
    printf '\x1f\x8b\x08\0\0\0\0\0' >gzip
    printf 'To be, or not to be\n' >text
    : >empty
    head -c 4096 /dev/zero >zeros
    refuse gguf "a GGUF model"
    refuse safetensors "a safetensors file"
    refuse gzip "gzip data"
    refuse text "plain text"
    refuse empty "the input is empty"
    refuse zeros "0x00"
    run -3 --separate-stderr "$list_archive" <.
    [[ $stderr = *"Is a directory"* ]]
}

@test "an archive of ours that zip edited in place is refused" {
    need zip
    "$make_archive" >a.npz
    zip -qd a.npz kind.npy
    refuse a.npz "differs from what tg writes"
}

@test "zip's own archives are read" {
    slow
    need_numpy
    need zip
    python3 -c 'import numpy as n; n.save("a.npy", n.arange(5000)); n.save("b.npy", n.zeros((0,)))'
    zip -q plain.npz a.npy b.npy
    zip -q0 stored.npz a.npy b.npy
    zip -q - a.npy b.npy | cat >piped.npz
    for f in plain stored piped; do
        list_both $f.npz
        python3 -c "$numpy_list" $f.npz | diff - $f.npz.list
    done
}

@test "the hex dump in formats/README.md is that of make_archive -s" {
    need od
    "$make_archive" -s | od -A x -t x1z -v | sed 's/  >/  |/; s/<$/|/' >dump
    sed -n '/^```hex$/,/^```$/p' "$ROOT/formats/README.md" | sed '1d;$d' >said
    [ -s said ]
    diff said dump
}

@test "a model of a family that this version does not know" {
    need python3
    printf '%s\n' 'kind S - model' 'version i8 - 1' 'config/family S - mamba' 'config/n_layer i8 - 1' | npz mamba.npz
    run -1 --separate-stderr tg-sample -m mamba.npz
    said 'mamba.npz: config/family is "mamba", expected one of gpt2'
}

@test "a model whose config asks for weights that a file of its size cannot hold costs no memory" {
    need python3
    need_plain_build
    {
        printf '%s\n' 'kind S - model' 'version i8 - 1' 'config/n_layer i8 - 1' 'config/n_head i8 - 1' \
            'config/n_embd i8 - 8' 'config/n_ctx i8 - 16777216' 'config/vocab_size i8 - 256' \
            'config/layer_norm_epsilon f8 - 1e-5' 'config/activation S - gelu_new' \
            'config/layer_norm_weight i8 - 0' 'config/layer_norm_bias i8 - 0' 'config/linear_bias i8 - 0' \
            'config/tied i8 - 1' 'config/head_bias i8 - 0' 'tokenizer/kind S - bytes' \
            'tokenizer/vocab_size i8 - 256'
        printf 'wte.weight f4 256,8'
        printf ' 0.5%.0s' {1..2048}
        echo
    } | npz claim.npz
    [ "$(size claim.npz)" -lt 20000 ]
    # 512 MiB of positions alone, below a limit of 400 MB
    run -1 --separate-stderr bash -c 'ulimit -v 400000 && tg-sample -m claim.npz'
    said "claim.npz: the config needs 536"
    said "bytes of weights, the file holds at most "
    run_pipe 1 'cat claim.npz | tg-sample -m -'
    said "wpe.weight is missing"
}
