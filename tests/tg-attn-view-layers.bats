# The page of tg-attn-view --html with archives of tg-lens and tg-patch: what each layer predicts, what makes a logit,
# what patching changes, what the model needs; beside a dump or alone.

load helper
load dumps
load page

# A dump of the induction model, and archives of the same text.
induction() {
    local model=$ROOT/docs/data/induction
    tg-attn-dump -q -m "$model" -p abcdefghabc -o dump.npz
    tg-lens -q -m "$model" -p abcdefghabc -o lens.npz
    tg-lens -q -m "$model" -p abcdefghabc --attribute d-a -o parts.npz
    tg-patch -q -m "$model" -p abcdefghabc --corrupt abxdefghabc --answer d --wrong e -o x.npz
    tg-patch -q -m "$model" -p abcdefghabc --corrupt abxdefghabc --answer d --wrong e --site z -o z.npz
    tg-patch -q -m "$model" -p abcdefghabc --corrupt abxdefghabc --answer d --wrong e --site k --each both --direction noise -o k.npz
}

# The grid of a panel, and what every cell of it has to be.
grids() {
    cat > grids.py << 'END'
import numpy as np
read = lambda name, kind: {key.split("/")[-1]: x for key, x in np.load(name).items() if key.startswith(kind + "/")}
near = lambda text, x, digits=6: abs(float(text) - x) <= 10.0 ** -digits * max(abs(x), 1e-30)
short = lambda x: "" if x != 0 and abs(x) < 0.005 else f"{x:.2f}"
rows = lambda box: page.run(f"[...byId('{box}').querySelectorAll('tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
text = lambda box: page.run(f"byId('{box}').textContent")

def grid(box):
    """Texts of the rows, and the colours of their cells."""
    return rows(box), page.run(f"""[...byId('{box}').querySelectorAll('tbody tr')].map((r) => [...r.cells].slice(1).map((c) =>
        c.style.backgroundColor && c.style.backgroundColor.match(/\\d+/g).map((x) => Number(x).toString(16).padStart(2, '0')).join('')))""")

def colored(colors, name, places):
    hexes = page.run(f"dump.light.{name}")
    for got, want in zip(colors, places):
        at = ["" if np.isnan(x) else 6 * int(np.floor(x * 239 + 0.5)) for x in want]
        assert got == [n if n == "" else hexes[n : n + 6] for n in at], (got, want)

def click(box, r, c):
    page.click(*page.run(f"""(b => [b.left + b.width / 2, b.top + b.height / 2])(byId('{box}').querySelectorAll('tbody tr')[{r}]
        .cells[{c + 1}].getBoundingClientRect())"""))
END
}

@test "page: what each layer predicts, what makes a logit and what patching changes lead to the heads' maps" {
    slow
    need_chromium
    need_numpy
    induction
    grids
    tg-attn-view -q -o page.html dump.npz lens.npz parts.npz z.npz
    tg-attn-view -q -o x.html dump.npz x.npz
    tg-lens -q -m "$ROOT/docs/data/induction" -p abcdefghabc -k 0 --position 10 -o bare.npz
    tg-attn-view -q -o k.html -l 1 dump.npz bare.npz k.npz
    tg-lens -q -m "$ROOT/docs/data/induction" -p abcdefghabc -k 1 --target z -o z-lens.npz
    tg-lens -q -m "$ROOT/docs/data/induction" -p abcdefghabc --attribute y-z -o z-parts.npz
    tg-attn-view -q -o z.html dump.npz z-lens.npz z-parts.npz x.npz
    pages page.html x.html k.html z.html << 'END'
exec(open("grids.py").read(), globals())
patch = read({"page.html": "z.npz", "z.html": "x.npz"}.get(file, file.replace("html", "npz")), "patch")
if file == "page.html":
    assert page.run("panels.filter((p) => p in WIDE)") == ["lens", "logit", "patch"]
    # what each layer predicts: the last layer on top
    lens = read("lens.npz", "lens")
    page.run("setPanel('lens')"); page.settle()
    log_prob, none = lens["logit"].astype("f8") - lens["sum"], np.where(lens["target"] < 0, np.nan, 1.0)
    places = {"prob": np.exp(log_prob / 2) * none,
              "rank": (1 - np.log1p(lens["rank"].clip(0)) / np.log1p(lens["rank"].max())) * none,
              "top": np.exp((lens["top_logits"][:, :, 0] - lens["sum"]) / 2),
              "entropy": lens["entropy"] / lens["entropy"].max(), "kl": lens["kl"] / lens["kl"].max()}
    for name, want in places.items():
        page.run(f"byId('lens-show').value = '{name}', byId('lens-show').dispatchEvent(new Event('change'))"); page.settle()
        texts, colors = grid("lens-grid")
        assert [line[0] for line in texts] == ["2", "1", "0"]
        assert [line[1:] for line in texts] == [[t.decode() for t in line] for line in lens["top_text"][::-1, :, 0]], texts
        colored(colors, "probs", want[::-1])
    page.run("keepAddress()")
    assert "panel=lens&lens=kl" in page.run("location.hash")
    # a click leads to the layer that ran last, at this position; below are all numbers of the cell
    click("lens-grid", 0, 9)
    assert page.run("[view.layer, view.i, lensGrid.at]") == [1, 9, {"r": 0, "c": 9}]
    assert page.run("view.j === greatestKey(9)")
    said = text("lens-text")
    assert said.startswith("after 2 layers, position 9 “b”: entropy ") and "; target “c”: rank 0, probability 0.85" in said, said
    for k, (rank, id, token, logit, prob) in enumerate(rows("lens-top")):
        assert (int(rank), int(id), token) == (k, lens["top_ids"][2, 9, k], f"“{lens['top_text'][2, 9, k].decode()}”")
        assert np.float32(logit) == lens["top_logits"][2, 9, k]
        assert near(prob, np.exp(lens["top_logits"][2, 9, k] - lens["sum"][2, 9]))
    # keys: the focus moves, Enter leads to the map
    page.run("byId('lens-grid').querySelector('table').focus()")
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "Home", "ArrowRight"):
        page.key(key)
    assert page.run("[lensGrid.at, view.i, document.activeElement.getAttribute('aria-activedescendant')]") == [
        {"r": 2, "c": 1}, 9, "lens-grid-2-1"]
    page.mouse("mouseMoved", 5, 5); page.settle()
    assert text("lens-text").startswith("after 0 layers, position 1 “b”"), text("lens-text")
    page.key("Enter")
    assert page.run("[view.layer, view.i]") == [0, 1]
    # what makes the logit
    parts = read("parts.npz", "attribution")
    key = parts["key"]
    page.run("setPanel('logit')"); page.settle()
    want = np.column_stack([parts["head"], parts["mlp"], parts["att_bias"] + parts["mlp_bias"]])
    texts, colors = grid("part-grid")
    assert [line[1:] for line in texts] == [[short(x) for x in line] for line in want], texts
    colored(colors, "scores", 0.5 + want / abs(want).max() / 2)
    assert "After position 10 “c”, the logit of “d” less that of “a” is " in text("logit-text")
    sums = {name: float(x) for name, x in rows("parts")}
    assert near(sums["sum"], parts["sum"]) and near(sums["logit"], parts["logit"]) and near(sums["all heads"], parts["head"].sum())
    assert near(sums["residue"], parts["logit"] - parts["sum"])
    total = sum(x for name, x in sums.items() if name not in ("sum", "logit", "residue"))
    assert abs(total - parts["sum"]) < 1e-6, (total, sums)
    # a click on a head leads to its map, in which each cell has what it wrote
    click("part-grid", 1, 0)
    assert page.run("[view.layer, view.head, view.i, view.j, view.show]") == [1, 0, 10, int(abs(key[1, 0]).argmax()), "written"]
    for layer in range(2):
        for h in range(4):
            got = page.run(f"(h => (h.work(Infinity), [...h.written]))(headOf({layer}, {h}))")
            assert np.array_equal(np.float32(got), [*[0] * 55, *key[layer, h].astype("f4")]), (layer, h)
    assert near(page.run("valueText()"), key[1, 0, 3]) and f", wrote {key[1, 0, 3]:.6g} at query 10" in text("here"), text("here")
    page.mouse("mouseMoved", 5, 5); page.settle()
    assert rows("part-keys")[0][:2] == ["3", "d"] and near(rows("part-keys")[0][2], key[1, 0, 3])
    page.run("setPanel('row')"); page.settle()
    for line in rows("keys"):
        assert near(line[6], key[1, 0, int(line[0])], 5), line
    page.run("setPanel('cell')"); page.settle()
    facts = {line[0]: line[1:] for line in rows("facts") if line[0]}
    assert near(facts["wrote"][0], key[1, 0, 3]) and facts["wrote"][1] == "to the logit of “d” less that of “a”"
    page.run("moveTo(9, 2)"); page.settle()
    assert "wrote" not in [line[0] for line in rows("facts")] and "wrote" not in text("here")
    assert page.run("valueText()") == "0"
    # the address keeps all of it
    page.run("location.hash = '#panel=lens&lens=rank&layer=1&query=4&show=written'"); page.settle()
    assert page.run("[view.panel, view.lens, byId('lens-show').value, view.layer, view.i, view.show]") == [
        "lens", "rank", "rank", 1, 4, "written"]
elif file == "k.html":
    # no tokens, no target: numbers; a layer that the page lacks: the query alone
    assert page.run("lensShows") == ["entropy", "kl"]
    page.run("setPanel('lens')"); page.settle()
    entropy = read("bare.npz", "lens")["entropy"][::-1]
    assert [line[1:] for line in grid("lens-grid")[0]] == [[short(x)] for x in entropy[:, 0]]
    colored(grid("lens-grid")[1], "probs", entropy / entropy.max())
    assert page.run("byId('lens-top').hidden") and "target" not in text("lens-text")
    page.run("moveTo(4, 0)")
    click("lens-grid", 2, 0)
    assert page.run("[view.layer, view.i]") == [1, 10]
elif file == "z.html":
    # tokens that are in no text of the archives have their own
    page.run("setPanel('lens')"); page.settle()
    click("lens-grid", 0, 9)
    assert "; target “z”: rank " in text("lens-text"), text("lens-text")
    page.run("setPanel('logit')"); page.settle()
    assert "the logit of “y” less that of “z” is " in text("logit-text"), text("logit-text")
else:
    assert page.run("[panels.filter((p) => p in WIDE), shows()]") == [["patch"], ["probs", "scores"]]
    assert page.run("['lens', 'logit', 'patch'].map((p) => byId(`tab-${p}`).hidden)") == [True, True, False]
# what patching changes: heads across, or positions
page.run("setPanel('patch')"); page.settle()
noise = file == "k.html"
effect = patch["effect"].reshape(8 if noise else 2, -1)
texts, colors = grid("patch-grid")
assert [line[1:] for line in texts] == [[short(x) for x in line] for line in effect], texts
colored(colors, "scores", 0.5 + (effect - noise) / abs(effect - noise).max() / 2)
if noise:
    assert [line[0] for line in texts] == ["0.0", "0.1", "0.2", "0.3", "1.0", "1.1", "1.2", "1.3"]
    click("patch-grid", 6, 3)
    assert page.run("[view.layer, view.head, view.i]") == [1, 2, 3]
    place, value = "k of head 1.2; position 3 “d”", patch["value"][1, 2, 3]
    effect = patch["effect"][:, 2]
else:
    assert "with one activation of the clean run. Effect 1: the difference of logits (“d” less “e”) is that of the clean run, 5.02" in text("patch-text")
    click("patch-grid", 1, 3)
    assert page.run("[view.layer, view.head]" if file == "page.html" else "[view.layer, view.i]") == [1, 3]
    place = "weighted sum of head 1.3; all positions" if file == "page.html" else "residual stream of layer 1; position 3 “d”"
    value = patch["value"].reshape(2, -1)[1, 3]
assert text("patched-text") == f"{place}: effect {effect[1, 3]:.6g}, difference of logits {value:.6g}", text("patched-text")
END
}

@test "page: what the first dump wrote to the logit stays when another is beside it" {
    slow
    need_chromium
    need_numpy
    induction
    tg-attn-dump -q -m "$ROOT/docs/data/induction" -p abxdefghabc -o other.npz
    tg-attn-view -q -o page.html dump.npz other.npz parts.npz
    page page.html << 'END'
import numpy as np
parts = np.load("parts.npz")["attribution/key"]
page.run("goTo(1, 0)"); page.settle()
page.wait("isSided() && baseHead().rows === T")  # it was made while the other dump was shown
assert page.run("[which, shows().includes('written')]") == [1, False]
page.run("setDump(0); setShow('written')"); page.settle()
got = page.run("(h => (h.work(Infinity), [...h.written.subarray(rowStart(10))]))(headOf(1, 0))")
assert np.array_equal(np.float32(got), np.float32(parts[1, 0])) and np.abs(got).max() > 0.1, got
page.run("setDump(1)"); page.settle()
assert page.run("[view.show, isSided()]") == ["probs", True]
END
}

@test "page: several archives of patches, with a switch, beside a dump or alone" {
    slow
    need_chromium
    need_numpy
    grids
    induction
    tg-patch -q -m "$ROOT/docs/data/induction" -p dabda --corrupt dacda --answer b --wrong e --site mlp -o other.npz
    tg-attn-view -q -o alone.html x.npz z.npz k.npz other.npz
    tg-attn-view -q -o beside.html dump.npz x.npz z.npz k.npz
    tg-attn-view -q --title "Three sites" -o titled.html x.npz z.npz
    tg-attn-view -q -o single.html k.npz
    cat > switch.py << 'END'
exec(open("grids.py").read(), globals())
names = {"x": "residual stream", "z": "weighted sum", "k": "k", "other": "MLP’s output"}
files = ["x", "z", "k"] + (["other"] if file == "alone.html" else [])
shown = lambda name: page.run(f"byId('{name}').getClientRects().length > 0")
bare = file == "alone.html"
assert page.run("document.title") == ("Patching: x.npz to other.npz" if bare else "Attention: dump.npz")
assert page.run("document.querySelector('h1').textContent") == ("Patching x.npz to other.npz" if bare else "Attention dump.npz")
if bare:
    assert [shown(name) for name in ("heads", "large", "words", "cards", "layer", "show", "help-open")] == [False] * 7
    assert [shown(name) for name in ("patch-grid", "theme", "language", "largeness", "patches")] == [True] * 5
    assert "click" not in page.run("document.body.innerText")
else:
    page.run("setPanel('patch')"); page.settle()
    assert page.run("document.body.innerText").count("a click leads to the map") == 1
assert page.run("[...byId('patch-which').options].map((o) => o.textContent)") == [f"{names[name]}: {name}.npz" for name in files]
read_all = {name: read(f"{name}.npz", "patch") for name in files}
off = {name: a["effect"] - (name == "k") for name, a in read_all.items()}  # that of noise
most = max(np.abs(x).max() for x in off.values())
if bare:
    assert page.run("[patchGrid.at.r, patchGrid.at.c]") == list(np.unravel_index(np.abs(off["x"]).argmax(), (2, 11)))
for n, name in [*enumerate(files), (0, "x"), (1, "z")]:
    page.run(f"(s => {{ s.value = {n}; s.dispatchEvent(new Event('change')); }})(byId('patch-which'))"); page.settle()
    a = read_all[name]
    effect = a["effect"].reshape(8 if name == "k" else 2, -1)
    texts, colors = grid("patch-grid")
    assert [row[1:] for row in texts] == [[short(x) for x in row] for row in effect], (name, texts)
    assert [row[0] for row in texts] == ([f"{l}.{h}" for l in range(2) for h in range(4)] if name == "k" else ["0", "1"])
    colored(colors, "scores", (0.5 + off[name] / most / 2).reshape(effect.shape))
    heads = page.run("[...byId('patch-grid').querySelectorAll('thead th')].map((c) => c.textContent)")
    if name == "z":
        assert heads == ["0", "1", "2", "3"], heads
    elif name == "other":
        assert heads == ["0\nd", "1\na", "2\nb/c", "3\nd", "4\na"], heads
    else:
        assert [head.replace("c/x", "c") for head in heads] == [f"{t}\n{c}" for t, c in enumerate("abcdefghabc")], heads
        assert heads[2] == ("2\nc/x" if bare else "2\nc"), heads
    click("patch-grid", 1, 3)
    value = a["value"].reshape(effect.shape)[1, 3]
    assert text("patched-text").endswith(f": effect {effect[1, 3]:.6g}, difference of logits {value:.6g}"), text("patched-text")
    assert text("patched-text").startswith(names[name]), text("patched-text")
    assert page.run("[...byId('patch-grid').querySelectorAll('td.at')].length") == 1
# where it was chosen stays, as far as the other archive has it
page.run("setPatch(0)"); page.settle()
click("patch-grid", 1, 10)
page.run("setPatch(1)"); page.settle()
assert page.run("patchGrid.at") == {"r": 1, "c": 3}
# the address and the languages
page.run("setPatch(2)"); page.settle()
page.run("keepAddress()")
assert "patch=3" in page.run("location.hash") and ("layer" in page.run("location.hash")) != bare
page.run(f"location.hash = '#{'' if bare else 'panel=patch&'}patch=2&lang=zh'"); page.settle()
assert page.run("[whichPatch, byId('patch-which').value, byId('patch-which').selectedOptions[0].textContent]") == [1, "1", "加权和：z.npz"]
if bare:
    assert page.run("document.title") == "激活替换：x.npz 到 other.npz"
    words = page.run("document.body.innerText + byId('cell').getAttribute('aria-label')")
    import re
    left = set(re.findall("[A-Za-z]{2,}", words)) - {"npz", "other", "logit", "English", "MLP"}
    assert left == set(), left
    page.run("changeTheme(); setLarge(true)"); page.settle()
    page.size(390, 844)
    assert page.run("document.documentElement.scrollWidth") <= 390
    page.size(1400, 1000)
page.run("localStorage.clear()")
END
    pages alone.html beside.html < switch.py
    pages titled.html single.html << 'END'
if file == "titled.html":
    assert page.run("[document.title, byId('name').textContent]") == ["Patching: Three sites", "Three sites"]
else:
    assert page.run("[document.title, byId('patches').hidden]") == ["Patching: k.npz", True]
    assert page.run("byId('shape').textContent") == "2 layers"
END
}

@test "page: axe-core finds no fault in patches alone" {
    slow
    need_chromium
    induction
    tg-attn-view -q -o page.html x.npz z.npz k.npz
    no_faults page.html << 'END'
steps = ("setPatch(1)", "setPatch(2)", "changeTheme()", "setLanguage('zh')", "setLarge(true)", "setLarge(false), setLanguage('en')")
END
}

@test "page: patches of prompts with different lengths have no place in it" {
    slow
    need_numpy
    induction
    alter z.npz bad.npz 'for name in ("ids", "text", "corrupt_ids", "corrupt_text"): del a["patch/" + name]'
    run -1 --separate-stderr tg-attn-view -o page.html dump.npz bad.npz
    said 'bad.npz: its prompts have different lengths, so there are no positions to show'
    tg-attn-view -q -o page.html bad.npz # heads alone
}

@test "archives beside a dump are of its text and model, and one of each kind" {
    slow_unless_sanitized
    tg-init -q --n-layer 2 --n-head 2 --n-embd 8 --n-ctx 16 -o two.npz
    tg-init -q --n-layer 1 --n-head 2 --n-embd 8 --n-ctx 16 -o one.npz
    tg-init -q --n-layer 2 --n-head 4 --n-embd 8 --n-ctx 16 -o heads.npz
    tg-attn-dump -q -m two.npz -p abc -o dump.npz
    for model in two one heads; do
        tg-lens -q -m $model.npz -p abc -o $model.lens.npz
        tg-lens -q -m $model.npz -p abc --attribute d -o $model.parts.npz
        tg-patch -q -m $model.npz -p abc --corrupt adc --answer d --wrong e --site z -o $model.patch.npz
        tg-patch -q -m $model.npz -p abc --corrupt adc --answer d --wrong e --ablate resample -o $model.ablation.npz
    done
    tg-lens -q -m two.npz -p abd -o text.npz
    tg-lens -q -m two.npz -p abcd -o longer.npz
    tg-patch -q -m two.npz -p xbc --corrupt xdc --answer d --wrong e -o texts.npz
    tg-patch -q -m two.npz -p xbc --answer d --wrong e --ablate zero -o other.npz
    tg-patch -q -m two.npz -p abc --answer d --wrong e --ablate zero --without 0.0 -o set.npz
    tg-attn-view -q -o page.html dump.npz two.lens.npz two.parts.npz two.patch.npz two.ablation.npz
    tg-attn-view -q -o page.html dump.npz two.lens.npz dump.npz
    refused() { # FILE MESSAGE
        rm -f page.html
        run -1 --separate-stderr tg-attn-view -o page.html dump.npz "$1"
        said "$1: $2"
        [[ ! -e page.html ]]
    }
    refused text.npz 'it is of another text: token 2 is 100, but 99 in the dump'
    refused longer.npz 'tokens: 4, but 3 in the dump'
    refused texts.npz 'it is of another text: token 0 is 120, but 97 in the dump'
    refused other.npz 'it is of another text: token 0 is 120, but 97 in the dump'
    refused set.npz 'no head or MLP of it was left out by itself: there is nothing to draw'
    refused heads.ablation.npz 'heads: 4, but 2 in the dump'
    for kind in lens parts patch ablation; do
        refused one.$kind.npz 'layers: 1, but 2 in the dump'
    done
    refused heads.parts.npz 'heads: 4, but 2 in the dump'
    refused heads.patch.npz 'it has head 3, but the dump 2 heads'
    refused two.npz 'the archive has kind "model", expected '
    head -c 2000 two.lens.npz > cut.npz
    refused cut.npz ''
    run -1 --separate-stderr tg-attn-view -o page.html dump.npz two.lens.npz two.lens.npz
    said 'two.lens.npz: it is the second archive of kind "lens"'
    run -2 --separate-stderr tg-attn-view -o page.html two.parts.npz dump.npz
    said 'two.parts.npz: there are no pages of archives of kind "attribution" without a dump before them'
    run -2 --separate-stderr tg-attn-view -o page.html two.patch.npz two.parts.npz
    said 'two.parts.npz: there are no pages of archives of kind "attribution" without a dump before them'
    for kind in lens patch ablation; do
        run -2 --separate-stderr tg-attn-view -o page.html two.$kind.npz dump.npz
        said 'dump.npz: on a page of a dump it comes first, before other archives'
    done
    run -1 --separate-stderr tg-attn-view -o page.html two.lens.npz two.patch.npz two.lens.npz
    said 'two.lens.npz: it is the second archive of kind "lens": a page has one of each'
    head -c 2000 two.patch.npz > cut.npz
    run -1 --separate-stderr tg-attn-view -o page.html two.patch.npz cut.npz
    said 'cut.npz: '
    [[ ! -e page.html ]]
    tg-attn-dump --example mha -o example.npz
    run -1 --separate-stderr tg-attn-view -o page.html example.npz two.lens.npz
    said 'two.lens.npz: it is of a text, but the dump has no tokens'
    run -2 --separate-stderr tg-attn-view -o map.png dump.npz two.lens.npz
    said "unexpected operand 'two.lens.npz': several dumps make a page, -o FILE.html"
    # from a pipe, and of the corrupt prompt
    tg-lens -q -m two.npz -p abc -o - | tg-attn-view -q -o pipe.html dump.npz -
    tg-attn-view -q -o file.html dump.npz two.lens.npz
    cmp pipe.html file.html
    tg-attn-dump -q -m two.npz -p adc -o corrupt.npz
    tg-attn-view -q -o page.html corrupt.npz two.patch.npz two.ablation.npz
}

@test "page: ablations, with the numbers of tg-patch -f tsv, lead to the heads' maps" {
    slow
    need_chromium
    need_numpy
    grids
    local name options prompts=(-q -m "$ROOT/docs/data/induction" -p abcdefghabc --corrupt abxdefghabc --answer d)
    tg-attn-dump -q -m "$ROOT/docs/data/induction" -p abcdefghabc -o dump.npz
    while read -r name options; do
        # shellcheck disable=SC2086 # options are several
        tg-patch "${prompts[@]}" $options -o $name.npz
        # shellcheck disable=SC2086
        tg-patch "${prompts[@]}" $options -f tsv > $name.tsv
    done <<< 'resample --wrong e --ablate resample
zero --ablate zero --metric loss
kept --wrong e --ablate resample --keep 0.0,1.0,1.mlp'
    tg-attn-view -q -o beside.html dump.npz resample.npz zero.npz kept.npz
    tg-attn-view -q -o alone.html resample.npz zero.npz kept.npz
    tg-attn-view -q -o single.html kept.npz
    pages beside.html alone.html single.html << 'END'
exec(open("grids.py").read(), globals())
names = ["kept"] if file == "single.html" else ["resample", "zero", "kept"]
bare = file != "beside.html"
shown = lambda name: page.run(f"byId('{name}').getClientRects().length > 0")
page.run("setPanel('ablation')"); page.settle()
assert [shown(name) for name in ("ablations", "tab-ablation", "heads", "cards")] == [len(names) > 1, not bare, not bare, False]
assert page.run("document.title") == {"beside.html": "Attention: dump.npz", "alone.html": "Ablation: resample.npz to kept.npz",
                                      "single.html": "Ablation: kept.npz"}[file]
assert ("a click leads" in page.run("document.body.innerText")) == (not bare)
tsv = {name: {f[0]: f[1:] for f in (line.split("\t") for line in open(f"{name}.tsv").read().splitlines()[1:])} for name in names}
arrays = {name: read(f"{name}.npz", "ablation") for name in names}
most = max(np.abs(a["change"]).max() for a in arrays.values())
for n, name in enumerate(names):
    page.run(f"(s => {{ s.value = {n}; s.dispatchEvent(new Event('change')); }})(byId('ablation-which'))"); page.settle()
    a, out = arrays[name], {case[8:]: numbers for case, numbers in tsv[name].items() if case.startswith("without:")}
    part = a["part"].astype(bool)
    assert part.sum() == len(out) == (3 if name == "kept" else 10)
    for show in ("faithfulness", "metric", "change"):
        page.run(f"(s => {{ s.value = '{show}'; s.dispatchEvent(new Event('change')); }})(byId('ablation-show'))"); page.settle()
        numbers = a["value" if show == "metric" else show]
        texts, colors = grid("ablation-grid")
        assert texts == [[str(l), *(short(x) if p else "" for x, p in zip(*line))] for l, line in enumerate(zip(numbers, part))], (name, texts)
        low, high = (-most, most) if show == "change" else (numbers[part].min(), numbers[part].max())
        colored(colors, "scores" if show == "change" else "probs", np.where(part, (numbers - low) / (high - low), np.nan))
    heads = page.run("[...byId('ablation-grid').querySelectorAll('thead th')].map((c) => c.textContent)")
    assert heads == ["0", "1", "2", "3", "MLP"], heads
    # the list has the very texts of the table, the greatest change first
    listed = rows("ablated")
    assert {line[0]: line[1:] for line in listed} == out and len(listed) == len(out), (name, listed, out)
    changes = [abs(float(line[3])) for line in listed]
    assert changes == sorted(changes, reverse=True) and changes[0] > 0.1
    said = text("ablation-text")
    assert f", {tsv[name]['model'][0]}; 0: that without any head or MLP, {tsv[name]['none'][0]}." in said, (name, said)
    assert ("zeros take its place." in said) == (name == "zero") and ("the loss of the answer" in said) == (name == "zero"), said
    if name == "kept":
        assert f"a circuit of 3 members without one of them" in said
        assert f" The circuit itself: {tsv[name]['circuit'][0]}, faithfulness {tsv[name]['circuit'][1]}." in said, said
    # a click on a head leads to its map, one on an MLP to its layer's; so does the list
    click("ablation-grid", 1, 0)
    metric, faithfulness, change = out["1.0"]
    metric_name = "loss of the answer" if name == "zero" else "difference of logits"
    assert text("ablated-text") == f"head 1.0: {metric_name} {metric}, faithfulness {faithfulness}, change {change}", text("ablated-text")
    assert page.run("[...byId('ablated').querySelectorAll('tr.chosen')].map((r) => r.cells[0].textContent)") == ["1.0"]
    if not bare:
        assert page.run("[view.layer, view.head, view.panel]") == [1, 0, "ablation"]
    page.run("[...byId('ablated').querySelectorAll('tbody tr')].find((r) => r.cells[0].textContent === '0.0').click()"); page.settle()
    page.mouse("mouseMoved", 5, 5); page.settle()
    assert page.run("ablationGrid.at") == {"r": 0, "c": 0} and text("ablated-text").startswith("head 0.0: "), text("ablated-text")
    if not bare:
        assert page.run("[view.layer, view.head]") == [0, 0]
        click("ablation-grid", 1, 4)
        assert page.run("[view.layer, view.head]") == [1, 0] and text("ablated-text").startswith("MLP of layer 1: ")
if name == "kept":
    click("ablation-grid", 0, 2)
    assert text("ablated-text") == "head 0.2: not left out by itself"
# keys, the address, the languages
page.run("byId('ablation-grid').querySelector('table').focus()")
page.key("Home"), page.key("ArrowRight"), page.key("Enter")
assert page.run("ablationGrid.at.c") == 1
page.run("setAblated('metric'); keepAddress()")
assert "ablated=metric" in page.run("location.hash") and ("ablation=3" in page.run("location.hash")) == (len(names) > 1)
page.run("location.hash = '#panel=ablation&ablation=2&ablated=faithfulness&lang=zh'"); page.settle()
assert page.run("[whichAblation, byId('ablation-show').value, view.panel]") == [len(names) > 1 and 1 or 0, "faithfulness", "ablation"]
if bare:
    import re
    words = page.run("document.body.innerText + byId('cell').getAttribute('aria-label') + document.title")
    left = set(re.findall("[A-Za-z]{2,}", words)) - {"npz", "resample", "zero", "kept", "logit", "English", "MLP", "mlp"}
    assert left == set(), left
for width, height, large in ((1280, 800, "true"), (1280, 800, "false"), (1920, 1080, "false"), (390, 844, "false")):
    page.size(width, height)
    page.run(f"setLarge({large})"); page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("byId('ablated').scrollWidth <= byId('ablated').clientWidth"), width
    cut = page.run("[...byId('ablated').querySelectorAll('td')].filter((c) => c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent)")
    assert cut == [], (width, cut)
page.size(1400, 1000)
page.run("localStorage.clear()")
END
}

@test "page: a lens without a dump, alone or with patches and ablations" {
    slow
    need_chromium
    need_numpy
    grids
    induction
    tg-patch -q -m "$ROOT/docs/data/induction" -p abcdefghabc --answer d --wrong e --ablate zero -o zero.npz
    alter lens.npz ids.npz 'del a["lens/text"]'
    tg-attn-view -q -o lens.html lens.npz
    tg-attn-view -q -o ids.html ids.npz
    tg-attn-view -q -o all.html z.npz lens.npz zero.npz
    tg-attn-view -q --title 'Three results' -o titled.html z.npz lens.npz zero.npz
    pages lens.html ids.html all.html titled.html << 'END'
exec(open("grids.py").read(), globals())
lens = read("lens.npz", "lens")
several = file in ("all.html", "titled.html")
assert page.run("document.title") == {"lens.html": "Lens: lens.npz", "ids.html": "Lens: ids.npz", "all.html": "Results: lens.npz to zero.npz",
                                      "titled.html": "Results: Three results"}[file]
assert page.run("[...document.querySelectorAll('.tabs button')].filter((b) => b.getClientRects().length).map((b) => b.textContent)") == (
    ["lens", "patching", "ablation"] if several else [])
assert page.run("view.panel") == "lens" and "click" not in page.run("document.body.innerText")
texts, colors = grid("lens-grid")
assert [line[1:] for line in texts] == [[t.decode() for t in line] for line in lens["top_text"][::-1, :, 0]], texts
colored(colors, "probs", (np.exp((lens["logit"].astype("f8") - lens["sum"]) / 2) * np.where(lens["target"] < 0, np.nan, 1.0))[::-1])
heads = page.run("[...byId('lens-grid').querySelectorAll('thead th')].map((c) => c.textContent)")
assert heads == [str(t) if file == "ids.html" else f"{t}\n{c}" for t, c in enumerate("abcdefghabc")], heads
assert page.run("lensGrid.at") == {"r": 0, "c": 10}
for r, c in ((0, 9), (2, 3)):
    click("lens-grid", r, c)
    where = f"after {2 - r} layers, position {c}" + ("" if file == "ids.html" else f" “{'abcdefghabc'[c]}”") + ": entropy "
    assert text("lens-text").startswith(where), text("lens-text")
    for k, (rank, id, token, logit, prob) in enumerate(rows("lens-top")):
        assert int(id) == lens["top_ids"][2 - r, c, k] and np.float32(logit) == lens["top_logits"][2 - r, c, k]
page.run("setLens('entropy'); keepAddress()")
assert page.run("location.hash") == "#lens=entropy", page.run("location.hash")
if several:
    for panel, box in (("patch", "patch-grid"), ("ablation", "ablation-grid"), ("lens", "lens-grid")):
        page.run(f"byId('tab-{panel}').click()"); page.settle()
        assert page.run(f"[byId('{box}').getClientRects().length > 0, document.querySelectorAll('.grid').length]") == [True, 4]
        assert page.run("[...document.querySelectorAll('.grid')].filter((g) => g.getClientRects().length).length") == 1
        page.run("keepAddress()")
        assert ("panel=" in page.run("location.hash")) == (panel != "lens"), page.run("location.hash")
    page.run("location.hash = '#panel=patch'"); page.settle()
    assert page.run("view.panel") == "patch"
page.run("setLanguage('zh')"); page.settle()
import re
left = set(re.findall("[A-Za-z]{2,}", page.run("document.body.innerText"))) - {"npz", "lens", "ids", "zero", "English", "token", "logit", "id", "nat", "Three", "results"}
assert left == set(), left
page.size(390, 844); page.settle()
assert page.run("document.documentElement.scrollWidth") <= 390
page.size(1400, 1000)
page.run("localStorage.clear()")
END
}

@test "page: axe-core finds no fault in a lens, patches and ablations without a dump" {
    slow
    need_chromium
    induction
    tg-patch -q -m "$ROOT/docs/data/induction" -p abcdefghabc --answer d --wrong e --ablate zero -o zero.npz
    tg-attn-view -q -o page.html lens.npz z.npz zero.npz
    no_faults page.html << 'END'
steps = ("setPanel('lens')", "setPanel('ablation')", "changeTheme()", "setAblated('metric')", "setLanguage('zh')", "setPanel('lens'), setLarge(true)", "setPanel('ablation')", "setLarge(false), setLanguage('en')")
END
}
