# The page of tg-attn-view --html for models of other families than GPT-2: heads that share keys or are not
# C/H wide, windows, scales and caps; and the other pictures of what a window hides.
# Uses the helper program make_family (`make unit`).

load helper
load dumps
load page
load pictures

# family NAME [OPTION]...: dump.npz and page.tsv, of a small model of that family, and page.html.
family() {
    "$BUILD/unit/make_family" "$1" > model.npz
    tg-attn-dump -m model.npz -p CatDogHenCat "${@:2}" -o dump.npz --force
    tg-attn-dump -m model.npz -p CatDogHenCat "${@:2}" -f tsv > page.tsv
    tg-attn-view -q -o page.html dump.npz
}

# Each family in one of the layouts, and one that shares keys in both; in make soak every family in both.
@test "page: scores, probabilities and offsets of each family are the dump's, to the last bit" {
    slow
    need_chromium
    need_numpy
    local layout layouts turn=bthd
    for name in llama mistral qwen3 gemma2 gemma3 olmo2 neox stablelm nanochat; do
        layouts=("$turn")
        [[ $turn = bthd ]] && turn=bhtd || turn=bthd
        ! { soak || [[ $name = llama ]]; } || layouts=(bthd bhtd)
        for layout in "${layouts[@]}"; do
            family "$name" --layout "$layout"
            mv dump.npz "$name-$layout.npz"
            mv page.tsv "$name-$layout.tsv"
            mv page.html "$name-$layout.html"
        done
    done
    [[ $(printf '%s\n' ./*.html | wc -l) = $(soak && echo 18 || echo 10) ]]
    pages ./*.html << 'END'
import numpy as np
dump = np.load(file.replace(".html", ".npz"))
rows = [line.split("\t") for line in open(file.replace(".html", ".tsv")).read().splitlines()[1:]]
for layer in range(2):
    for h in range(int(dump["dump/n_head"])):
        got = page.run(f"""(h => (h.work(Infinity), ["scores", "probs"].map((name) =>
            Array.from(h[name], (x) => Number.isNaN(x) ? "masked" : x))))(headOf({layer}, {h}))""")
        mine = [r for r in rows if r[:2] == [str(layer), str(h)] and int(r[3]) >= int(r[4])]
        for numbers, name in zip(got, ("scores", "probs")):
            stored = dump[f"h.{layer}.{name}"][0, h]
            want = ["masked" if r[9] == "1" else float(stored[int(r[3]), int(r[4])]) for r in mine]
            assert numbers == want, (layer, h, name)
        for at, call in ((5, "baseOf(i, %d)"), (6, "keyBaseOf(j, %d)"), (7, "offsetOf(%d, i, j)")):
            assert page.run(f"[{','.join('[%s,%s]' % (r[3], r[4]) for r in mine)}].map(([i, j]) => {call % h})") == \
                [int(r[at]) for r in mine], (layer, h, call)
END
}

# In make soak of all heads and cells, as in the test below.
@test "page: the texts of cells where heads share keys, in either layout" {
    slow
    need_chromium
    for layout in bthd bhtd; do
        family llama --layout "$layout"
        mv page.tsv "$layout.tsv"
        mv page.html "$layout.html"
    done
    CELLS=$(soak && echo 1 || echo 0.2) HEADS=$(soak && echo 1 || echo 0.5) every_cell bthd.html bhtd.html << 'END'
facts = lambda: page.run("[...byId('facts').rows].map((r) => [...r.cells].map((c) => c.textContent))")
page.run("goTo(1, 4); moveTo(9, 4)"); page.settle()
assert ["key head", "1", "= h/(H/KV) = 4/3, rounded down"] in facts(), facts()
bthd = page.run("dump.layout") == "bthd"
base = "= ((b·T + j)·KV + h/(H/KV))·D" if bthd else "= ((b·KV + h/(H/KV))·T + j)·D"
assert any(f[0] == "k_base" and f[2] == base for f in facts()), facts()
page.run("goTo(1, 3)"); page.settle()
assert ["key head", "1", "= h/(H/KV) = 3/3"] in facts(), facts()
shape = page.run("byId('shape').textContent")
assert "6 heads, KV = 2 heads of keys, C = 10, D = 4; " in shape, shape
assert shape.endswith("q is stored as [B,T,H,D], k as [B,T,KV,D]" if bthd else "q is stored as [B,H,T,D], k as [B,KV,T,D]"), shape
assert page.run("thumbs[5].button.title") == "layer 0, head 5, key head 1"
assert bthd == (file == "bthd.html")
END
}

@test "page: the texts of cells with a scale, a cap and a window" {
    slow
    need_chromium
    family gemma2 --mask -inf
    CELLS=$(soak && echo 1 || echo 0.2) HEADS=$(soak && echo 1 || echo 0.5) every_cell page.html << 'END'
rows = lambda id: page.run(f"[...byId('{id}').rows].map((r) => [...r.cells].map((c) => c.textContent))")
page.run("goTo(0, 4); moveTo(7, 6)"); page.settle()
steps = dict(rows("steps"))
assert list(steps) == ["sum", "scale", "s", "cap", "score", "max", "exponential", "their sum", "probability"], steps
assert steps["scale"] == "0.4, a setting of the model" and steps["cap"] == "1.5, a setting of the model", steps
s, total, score = (float(steps[name].split(" = ")[-1]) for name in ("s", "sum", "score"))
import math
assert abs(s - 0.4 * total) < 1e-8 and abs(score - 1.5 * math.tanh(s / 1.5)) < 1e-7, steps
assert steps["s"].startswith("sum·scale = ") and steps["score"].startswith("cap·tanh(s/cap) = "), steps
assert steps["their sum"].startswith("over j = 6 to 7: "), steps
places = len(rows("facts")), len(rows("steps"))
def mask(layer, i, j):
    page.run(f"goTo({layer}, 4); moveTo({i}, {j})"); page.settle()
    facts = rows("facts")
    assert (len(facts), len(rows("steps"))) == places  # nothing moves
    at = next(n for n, f in enumerate(facts) if f[0] == "mask")
    return facts[at][1:] + facts[at + 1][1:]
assert mask(0, 7, 6) == ["0", "j ≤ i, i - j < 2", "in the window of 2 keys"], mask(0, 7, 6)
assert mask(0, 7, 5) == ["1", "i - j ≥ 2", "hidden by the window of 2 keys"], mask(0, 7, 5)
assert dict(rows("steps"))["sum"] == "not computed: hidden, 7 - 5 ≥ 2", rows("steps")
assert dict(rows("steps"))["score"] == "-inf (dump/mask)", rows("steps")
assert mask(0, 7, 8) == ["1", "j > i", "after the window of 2 keys"], mask(0, 7, 8)
assert mask(1, 7, 5) == ["0", "j ≤ i", "this layer has no window"], mask(1, 7, 5)
END
}

@test "page: the texts of all cells with a window in every layer; map, text and keys follow it" {
    slow
    need_chromium
    family mistral
    every_cell page.html << 'END'
page.open("about:blank"); page.requests.clear()
page.open("file://" + os.path.abspath("page.html")); page.settle()
page.wait("thumbs.every((t) => t.rows === T)")
# it opens at the greatest key that the last query sees
probs = page.run("Array.from(rowOf(0, 0, T - 1).probs.subarray(T - 3))")
assert page.run("[view.i, view.j]") == [11, 9 + probs.index(max(probs))]
assert page.run("byId('title').textContent") == "Layer 0, head 0, window 3: probabilities"
assert page.run("byId('help').textContent.includes('Hatched cells are masked, or hidden by the layer’s window. ')")
masked = lambda: page.run("words.map((w) => w.classList.contains('masked') ? '-' : '+').join('')")
page.run("moveTo(9, 4)"); page.settle()
assert masked() == "-------+++--", masked()
page.run("setWay('column')"); page.settle()
assert masked() == "----+++-----", masked()
# a word under the pointer shows a cell that is seen
def point(t):
    page.run(f"words[{t}].dispatchEvent(new PointerEvent('pointermove', {{bubbles: true}}))"); page.settle()
    return page.run("[pointed().i, pointed().j]")
assert point(2) == [4, 2] and point(8) == [9, 8], (point(2), point(8))
page.run("setWay('row')"); page.settle()
assert point(10) == [10, 8] and point(3) == [3, 3], (point(10), point(3))
page.run("view.here = null"); page.settle()
# the map: hidden cells are hatched like those after the query, the others have their number's colour
kinds = page.run("""(() => { const all = document.createElement("canvas"), side = 12;
    const cells = new Float32Array(side * side).fill(NaN), head = headOf(0, 0);
    for (let i = 0; i < T; i++)
        reduceRow(cells, side, T, i, head.probs, rowStart(i), i + 1);
    paint(all, cells, side, scaleOf(head));
    const {data} = all.getContext("2d").getImageData(0, 0, side, side);
    return Array.from({length: T}, (_, i) => Array.from({length: T}, (_, j) => data[4 * (i * side + j) + 3] ? "+" : "-").join("")); })()""")
assert kinds == ["".join("+" if i - 3 < j <= i else "-" for j in range(12)) for i in range(12)], kinds
# fewer cells than tokens: each has the greatest that is seen, none is lost
few = page.run("""(() => { const cells = new Float32Array(16).fill(NaN), head = headOf(0, 0);
    for (let i = 0; i < T; i++)
        reduceRow(cells, 4, T, i, head.probs, rowStart(i), i + 1);
    return Array.from(cells, (x) => Number.isNaN(x) ? null : x); })()""")
stored = np.load("dump.npz")["h.0.probs"][0, 0]
for i in range(4):
    for j in range(4):
        seen = [float(stored[y, x]) for y in range(3 * i, 3 * i + 3) for x in range(3 * j, 3 * j + 3) if y - 3 < x <= y]
        assert few[4 * i + j] == (max(seen) if seen else None), (i, j, few, seen)
END
}

@test "page: the command that is copied derives the score in any family" {
    slow
    need_chromium
    for name in llama mistral gemma2; do
        family "$name"
        mv model.npz "$name.npz"
        mv page.html "$name.html"
    done
    pages llama.html mistral.html gemma2.html << 'END'
page.run("goTo(0, H - 1); moveTo(5, 4)"); page.settle()
open(file.replace(".html", ".command"), "w").write(page.run("commandText()"))
open(file.replace(".html", ".value"), "w").write(page.run("cellScore(rowOf(view.layer, view.head, view.i), view)"))
END
    for name in llama mistral gemma2; do
        cp "$name.npz" model.npz # which the command names
        bash "$name.command" > trace
        python3 -c 'import re, sys
score = float(re.findall(r"(?m)^scores\[.* = (-?[0-9.e-]+)$", open("trace").read())[-1])
want = float(open(sys.argv[1]).read())
assert abs(score - want) <= 1e-8 + 1e-7 * abs(want), (score, want)' "$name.value"
    done
}

# ---- images

@test "images: keys that a window hides are hatched, as those after the query are" {
    slow
    need_numpy
    for name in mistral gemma2; do
        for mask in -1e9 -inf; do
            family "$name" --mask "$mask"
            for show in probs scores; do
                tg-attn-view -q --show $show -o out.svg --force dump.npz
                tg-attn-view -q --show $show -o out.png --force dump.npz
                png_module
                svg_module
                python3 - << 'END'
import numpy as np, png, svg
image = svg.Image("out.svg")
rows, palette = png.read("out.png")
dump = np.load("dump.npz")
H, window = int(dump["dump/n_head"]), int(dump["dump/window"])
assert len(image.maps) == 2 * H
for n, (x0, y0, side, _) in enumerate(image.maps):
    cell, hides = side // 12, int(dump["dump/window_layers"]) >> n // H & 1
    for i in range(12):
        for j in range(12):
            hidden = j > i or hides and i - j >= window
            assert (image.at(x0 + j * cell, y0 + i * cell) == "url(#masked)") == bool(hidden), (n, i, j)
            pixels = {rows[y0 + i * cell + y][x0 + j * cell + x] for y in range(cell) for x in range(cell)}
            assert (pixels <= {244, 245}) == bool(hidden), (n, i, j, pixels)
END
            done
            tg-attn-view -q --show scores -l 0 -a 0 -o out.svg --force dump.npz
            run -1 grep -q 'inf<' out.svg
        done
    done
}
