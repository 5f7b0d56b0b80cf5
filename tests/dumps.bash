# Dumps for the tests of tg-attn-view, made by NumPy.

# dump FILE [KEY=VALUE]...: a dump archive made by NumPy.
dump() {
    need_numpy
    python3 "$ROOT/tests/make_dump.py" "$@"
}

# alter FROM TO STATEMENT: another archive, a dictionary `a` of arrays changed by Python.
alter() {
    python3 - "$@" << 'END'
import sys, numpy as np
a = dict(np.load(sys.argv[1]))
exec(sys.argv[3])
np.savez(sys.argv[2], **a)
END
}

# alters FROM TO STATEMENT WORD...: the same for each WORD, which STATEMENT has as `word`: TO-1.npz and so on, all in one
# Python, which takes a fifth of a second to start.
alters() {
    python3 - "$@" << 'END'
import sys, numpy as np
for n, word in enumerate(sys.argv[4:], 1):
    a = dict(np.load(sys.argv[1]))
    exec(sys.argv[3])
    np.savez(f"{sys.argv[2]}-{n}.npz", **a)
END
}

# tokens FILE ID TEXT...: a dump of one head with these tokens.
tokens() {
    dump all.npz T=$(($# / 2)) H=1 L=1 D=8
    python3 - "$@" << 'END'
import sys, numpy as np
a = dict(np.load("all.npz"))
a["dump/ids"] = np.array([int(x) for x in sys.argv[2::2]], "i8")
a["dump/text"] = np.array([x.encode() for x in sys.argv[3::2]])
np.savez(sys.argv[1], **a)
END
}
