# The page of tg-attn-view --html, around the pattern: how q and k were made, the projection, the residual stream,
# the prediction and the gradient.
# Uses the helper program make_family (`make unit`).

load helper
load dumps
load page

# family NAME: NAME.model.npz, a small model of that family; NAME.npz, its dump with a target; NAME.html.
family() {
    "$BUILD/unit/make_family" "$1" > "$1.model.npz"
    tg-attn-dump -m "$1.model.npz" -p CatDogHenCat --target-id 5 -o "$1.npz"
    tg-attn-view -q --whole -o "$1.html" "$1.npz"
}

# The texts of a panel's table, and random cells of a page; the dump is beside it.
tables() {
    cat > tables.py << 'END'
import json, os, random, re, subprocess
import numpy as np
random.seed(1)
dump = np.load(file.replace(".html", ".npz"))
T, H, L, Q, C = page.run("[T, H, dump.layers, Q, C]")
same = lambda text, stored: np.float32(text) == np.float32(stored)
cells = [(random.choice(L), random.randrange(H), random.randrange(T), random.randrange(T)) for _ in range(12 if soak else 2)]

def rows(panel, box, scroll=0):
    page.run(f"setPanel('{panel}'); byId('{box}').scrollTop = {scroll}; draw()")
    if scroll:
        page.settle()
    got = page.run(f"[...byId('{box}').querySelectorAll('tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    assert got, (file, panel)
    return got

def choose(layer, h, i, j):
    page.run(f"goTo({layer}, {h}); moveTo({i}, {j})")
END
}

@test "page: the projection, the residual stream and the logits are the dump's, in every family" {
    slow
    need_chromium
    need_numpy
    for name in llama qwen3 gemma2 gemma3 olmo2 neox; do family $name; done
    tg-attn-dump -m "$ROOT/docs/data/induction" --probe repeat --target-id 68 -o induction.npz
    tg-attn-view -q -o induction.html induction.npz
    tables
    { cat tables.py; cat << 'END'; } > all.py
for layer, h, i, j in cells:
    choose(layer, h, i, j)
    c = random.randrange(C)
    page.run(f"setOut({c})")
    flat = lambda name: dump[f"h.{layer}.{name}"].ravel()
    w = flat("w_proj" if f"h.{layer}.w_proj" in dump else "w_proj_t")
    terms = rows("out", "projected", random.randrange(Q) * 15)
    for d, at, att, w_at, x, product, total in terms:
        assert same(att, flat("att")[int(at)]) and same(x, w[int(w_at)]), (file, d, at, att, w_at, x)
        assert abs(float(product) - float(att) * float(x)) <= 2e-7 * abs(float(product)) + 1e-30, (att, x, product)
    text = page.run("byId('projection-result').textContent")
    at, out = re.search(r"^out\.data\[(\d+)\] = .*?([-\d.e]+);", text).groups()
    assert int(at) == i * C + c and same(out, flat("out")[int(at)]), (file, text, flat("out")[int(at)])
    if terms[-1][0] == f"{H - 1}.{Q // H - 1}": # its sum is what the result begins with
        assert f"= {terms[-1][-1]} +" in text or abs(float(terms[-1][-1]) - float(out)) < 1e-6, (text, terms[-1])
    out = dump[f"h.{layer}.out"][0, i].astype(float)
    gain = f"h.{layer}.out_norm"
    added = out / np.sqrt((out ** 2).mean() + dump[gain + "_eps"]) * dump[gain] if gain in dump else out
    for c, at, x, of_out, normed, after in rows("stream", "added"):
        c = int(c)
        assert int(at) == i * C + c and same(x, flat("resid")[int(at)]) and same(of_out, out[c]), (file, c, x, of_out)
        assert (normed == "") == (gain not in dump)
        assert abs(float(after) - float(x) - added[c]) < 1e-6 * (1 + abs(added[c])), (file, c, after)
    for rank, id, token, at, logit, p in rows("next", "predicted"):
        k, V = int(rank), int(dump["next/vocab_size"])
        assert int(id) == dump["next/ids"][i, k] and int(at) == i * V + int(id) and same(logit, dump["next/logits"][i, k])
        assert abs(float(p) - np.exp(float(logit) - dump["next/sum"][i])) < 1e-6 * float(p)
assert (page.run("cards.map(({name}) => name).join()") == ("" if "induction" in file else "rotate,") + "q, k,q·k,scale" +
        (", cap" if "gemma2" in file else "") + ",mask,softmax,Σ p·v,projection,residual,logits,gradient")
END
    pages ./*.html < all.py
}

# Two of the cells at each size in each language, in make soak all.
@test "page: all cards are in view, with their whole numbers, at every size" {
    slow
    need_chromium
    need_numpy
    tg-attn-dump -q -m "$ROOT/docs/data/induction" --probe repeat -o nine.npz
    family gemma2 # 12 tokens, with a target
    mv gemma2.npz eleven.npz
    # a long token is most probable
    alter eleven.npz long.npz 'a["next/text"] = np.full(a["next/text"].shape, b"internationalisation and more of it")'
    tg-attn-view -q -o nine.html nine.npz
    mv gemma2.html eleven.html
    tg-attn-view -q --whole -o long.html long.npz
    pages nine.html eleven.html long.html << 'END'
sizes = {(1200, 800): 1, (1280, 800): 1, (1920, 1080): 1, (390, 844): None}
for n, ((width, height), rows) in enumerate(sizes.items()):
    page.size(width, height)
    for m, language in enumerate(("en", "zh")):
        page.run(f"setLanguage('{language}')")
        for at, (i, j) in enumerate(((0, 0), (11, 3), (7, 9), (11, 11))):
            if not soak and at // 2 != (n + m) % 2:
                continue
            page.run(f"moveTo({i}, {j})"); page.settle()
            count, tops, fits, whole = page.run("""(() => { const list = byId("card-list"), box = list.getBoundingClientRect();
                const boxes = cards.map(({button}) => button.getBoundingClientRect());
                return [cards.length, new Set(boxes.map(({top}) => top)).size,
                    boxes.every(({left, right, bottom}) => left >= box.left && right <= box.right && bottom <= box.bottom),
                    cards.filter(({button: {lastChild: lines}}) => lines.scrollWidth > lines.clientWidth ||
                        lines.getBoundingClientRect().bottom > lines.parentNode.getBoundingClientRect().bottom).map(({name}) => name)]; })()""")
            assert count == (9 if file == "nine.html" else 11) and fits, (file, width, language, i, j, count)
            assert file != "nine.html" or rows is None or tops == rows, (width, language, tops)
            assert whole in ([], ["logits"] if file == "long.html" else []), (file, width, language, i, j, whole)
# what is cut on the narrowest page is the token, not a number
assert whole == (["logits"] if file == "long.html" else [])
assert page.run("""(() => { const {lastChild: lines} = cards.find(({name}) => name === "logits").button;
    return parseFloat(lines.textContent) > 0 && lines.textContent.split("\\n").slice(1).every((text) => !text.includes("inter")); })()""")
# in a low window they stay in a row, which scrolls, and leave room for the map
page.size(1280, 640); page.settle()
assert page.run("new Set(cards.map(({button}) => button.getBoundingClientRect().top)).size === 1 && frame.size >= 150 && "
                "byId('legend').getBoundingClientRect().top >= byId('map').getBoundingClientRect().bottom"), page.run("frame")
# a projector's letters leave no room for numbers, but all names are in view
page.size(1280, 800)
page.run("setLarge(true)"); page.settle()
assert page.run("byId('card-list').scrollWidth <= byId('card-list').clientWidth")
END
}

@test "page: all columns of the most probable tokens are in view in the narrowest panel" {
    slow
    need_chromium
    tg-attn-dump -m "$ROOT/docs/data/induction" --probe repeat -o dump.npz
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
for width in (1024, 1200, 1280):
    page.size(width, 800)
    page.run("setPanel('next')"); page.settle()
    assert page.run("byId('predicted').scrollWidth <= byId('predicted').clientWidth"), width
END
}

@test "page: how q and k were rotated, and a gradient, as the trace has them" {
    slow
    need_chromium
    need_numpy
    for name in qwen3 gemma2 gemma3 neox; do family $name; done
    tg-attn-dump -m "$ROOT/docs/data/induction" --probe repeat --target-id 68 -o induction.npz
    ln -s "$ROOT/docs/data/induction" induction.model.npz
    for name in baseline mha rope; do tg-attn-dump --example $name -o $name.npz; done
    for name in induction baseline mha rope; do tg-attn-view -q -o $name.html $name.npz; done
    tables
    { cat tables.py; cat << 'END'; } > all.py
ids = dump["dump/ids"] if "dump/ids" in dump else None
name = file.replace(".html", "")

# the number as the trace prints it
traced = lambda x: "%.9g" % x if abs(x) >= 1e9 else "%.4e" % x if 0 < abs(x) < 1e-4 else "%.8f" % x

def gradient_traced(layer, h, i, j):
    """What tg-attn-dump prints of the gradient of a score."""
    command = ["tg-attn-dump", "--trace", f"0,{h},{i},{j}", "--backward", "--heads", str(H)]
    if ids is None:
        command += ["--example", os.path.basename(name), "--channel", str(page.run("view.channel"))]
    else:
        command += ["-m", name + ".model.npz", "--ids", " ".join(map(str, ids)), "-l", str(layer), "--target-id", str(dump["dump/target"])]
    trace = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return trace.split("the gradient of the score")[1].split("\n\n")[0]

# the texts of the gradients of cells that are seen, 30 in all files, in make soak 100
for _ in range(13 if soak else 4):
    layer, h, i = random.choice(L), random.randrange(H), random.randrange(T)
    j = random.randrange(page.run(f"firstSeen({layer}, {i})"), i + 1)
    said = page.run(f"goTo({layer}, {h}), moveTo({i}, {j}), setPanel('gradient'), draw(), byId('gradient-result').textContent")
    want = re.findall("= (\\S+)$", gradient_traced(layer, h, i, j), re.M)[-1]
    assert traced(float(said.split("= ")[-1])) == want, (file, layer, h, i, j, said, want)

for layer, h, i, j in cells:
    choose(layer, h, i, j)
    for which in "qk" if page.run("dump.steps ?? ''") else "":
        page.run(f"byId('vector').value = '{which}'")
        got = rows("way", "rotated")
        source, n = [float(r[3] or r[2]) for r in got], page.run(f"pairsOf(layerOf({layer}))")
        for d, at, proj, normed, angle, cos, sin, made in got:
            d, at = int(d), int(at)
            assert same(made, dump[f"h.{layer}.{which}"].ravel()[at]) and same(proj, dump[f"h.{layer}.{which}.proj"].ravel()[at])
            if d >= 2 * n:
                assert angle == "—" and float(made) == source[d]
                continue
            position = i if which == "q" else j
            assert abs(float(angle) - position * dump[f"h.{layer}.frequency"][d % n]) < 1e-8 * (1 + float(angle))
            assert abs(np.cos(float(angle)) - float(cos)) < 1e-7 and abs(np.sin(float(angle)) - float(sin)) < 1e-7
            other = -source[d + n] if d < n else source[d - n]
            assert abs(float(made) - (source[d] * float(cos) + other * float(sin))) < 1e-5 * (1 + abs(source[d]))
    listed, text = rows("gradient", "gradients"), page.run("byId('gradient-result').textContent")
    trace = gradient_traced(layer, h, i, j)
    want = {m: numbers for m, *numbers in re.findall(
        r"^[> ] +(\d+) +(?:probs\.data)?\[(\d+)\] *= *(\S+) +(?:dprobs\.data)?\[\d+\] *= *(\S+) +(\S+)", trace, re.M)}
    for m, _, *numbers, at, _ in listed if want else []:
        assert at == want[m][0], (file, layer, h, i, m, at, want[m])
        assert all(abs(float(x) - float(y)) <= 1e-7 * max(1, abs(float(y))) for x, y in zip(numbers, want[m][1:])), (numbers, want[m])
    assert want or page.run("cellMasked(view)"), trace
    if page.run("cellMasked(view)"):
        assert text.endswith(" = 0") and " = 0: the score" in trace, (text, trace)
        continue
    exact = page.run(f"gradientOf(view, rowOf({layer}, {h}, {i})).dscores[{j}]")
    assert traced(exact) == re.findall("= (\\S+)$", trace, re.M)[-1], (file, layer, h, i, j, text, trace)
    assert float(text.split("= ")[-1]) == float("%.9g" % exact), (text, exact)
    if ids is not None:
        page.run("setShow('grad')"); page.settle()
        assert page.run("valueText()") == text.split("= ")[-1], text
        assert page.run(f"headOf({layer}, {h}).work(Infinity), headOf({layer}, {h}).grad[rowStart({i}) + {j}]") == np.float32(exact)
END
    pages ./*.html < all.py
}

@test "page: what makes it heavy is left out, with a note, unless it is to be whole" {
    slow
    need_chromium
    tg-init --n-layer 2 --n-head 4 --n-embd 256 --n-ctx 512 -o wide.npz 2> /dev/null
    make_text 400 > text
    tg-attn-dump -m wide.npz -o dump.npz < text
    run -0 --separate-stderr tg-attn-view -o small.html dump.npz
    [[ $stderr = *'tg-attn-view: without the residual stream, which would add 1.0 MiB: -l chooses a layer, --whole puts all in'* ]]
    run -0 --separate-stderr tg-attn-view --whole -o whole.html dump.npz
    [[ $stderr != *without* ]]
    tg-attn-view -q -l 1 -o one.html dump.npz
    run -2 --separate-stderr tg-attn-view --whole -o map.png dump.npz
    said '--whole is for pages, and does not go with --png'
    pages small.html whole.html one.html << 'END'
assert page.run("[Boolean(dump.weights), Boolean(dump.residual)]") == [True, file != "small.html"], file
assert page.run("panels.includes('stream')") == (file != "small.html")
END
}

@test "a page of 300 tokens and 4 x 4 heads has at most 3 MiB, one of 400 and 12 x 12 at most 40" {
    slow
    tg-init -q --n-layer 4 --n-head 4 --n-embd 128 --n-ctx 300 -o model.npz
    make_text 300 > text
    tg-attn-dump -q -m model.npz -o small.npz < text
    dump large.npz T=400 H=12 L=12 D=64 text=words stages=q,k,v
    for name in small large; do tg-attn-view -q -o $name.html $name.npz; done
    [[ $(size small.html) -le $((3 << 20)) && $(size large.html) -le $((40 << 20)) ]]
    grep -q '"T": 300' small.html
    grep -q '"T": 400' large.html
}

@test "page: two prompts of as many tokens, and two heads, are compared" {
    slow
    need_chromium
    need_numpy
    two_prompts
    page page.html << 'END'
import numpy as np
a, b = (np.load(f"abcdef{c}bcdef.npz") for c in "ax")
words = "[...document.querySelectorAll('#text .token')].map((w) => w.textContent).join('')"
page.run("setDump(0)"); page.settle()
assert page.run(words) == "abcdefabcdef"
page.run("goTo(1, 0); setDump(1); setShow('diff'); moveTo(10, 5)"); page.settle()
assert page.run(words) == "abcdefxbcdef" and page.run("quoted(6)") == " “x”"
got = page.run("headOf(1, 0).work(Infinity), Array.from(headOf(1, 0).diff)")
want = (b["h.1.probs"] - a["h.1.probs"])[0, 0][np.tril_indices(12)]
assert np.array_equal(np.float32(got), want), np.abs(np.float32(got) - want).max()
page.run("setDump(0)"); page.settle()
assert page.run(words) == "abcdefabcdef"
# one head with another, of another layer
page.run("goTo(0, 2); byId('pin').click()"); page.settle()
assert page.run("[view.show, byId('pin').getAttribute('aria-pressed')]") == ["diff", "true"]
assert page.run("byId('show').selectedOptions[0].textContent") == "difference from head 0.2"
assert page.run("headOf(0, 2).work(Infinity), headOf(0, 2).diff.every((x) => x === 0)")
# before another head is chosen there is a sentence, and no zeros: the map, the text and copies have its own numbers
nothing = lambda: page.run("""[byId('title').textContent, isSided(), byId('facts').textContent.includes('difference'), valueText() === cellProb(
    rowOf(view.layer, view.head, view.i), view), byId('legend').getAttribute('aria-label').startsWith('colours: probability'),
    wordNumber(mapHead(), view.j) === mapsOf(mapHead())[0].numbers[rowStart(view.i) + view.j] && wordNumber(mapHead(), view.j) > 0]""")
want = ["Choose a head to compare with 0.2", False, False, True, True, True]
assert nothing() == want, nothing()
page.run("setSides(true)"); page.settle()
assert nothing() == want, nothing()
page.run("goTo(0, 1)"); page.settle()
assert page.run("[isSided(), byId('title').textContent]") == [True, "Heads 0.2 and 0.1: probabilities"]
page.run("goTo(0, 2)"); page.settle()
assert nothing() == want, nothing()
page.run("setSides(false)"); page.settle()
page.run("goTo(1, 0); moveTo(9, 3)"); page.settle()
want = a["h.1.probs"][0, 0] - a["h.0.probs"][0, 2]
got = page.run("headOf(1, 0).work(Infinity), Array.from(headOf(1, 0).diff)")
assert np.array_equal(np.float32(got), want[np.tril_indices(12)])
assert np.float32(page.run("valueText()")) == want[9, 3]
facts = page.run("Object.fromEntries([...byId('facts').tBodies[0].rows].map((r) => [r.cells[0].textContent, r.cells[1].textContent]))")
assert np.float32(facts["in head 0.2"]) == a["h.0.probs"][0, 2, 9, 3] and np.float32(facts["difference"]) == want[9, 3], facts
page.run("keepAddress()")
assert "compare=0.2" in page.run("location.hash")
page.run("location.hash = '#layer=1&head=1'"); page.settle()
assert page.run("[pinned, view.show, byId('show').selectedOptions[0].textContent]") == [None, "probs", "probabilities"]
# an address of a head that is not there; another language
page.run("location.hash = '#layer=1&head=1&compare=0.2&show=scores'"); page.settle()
assert page.run("[pinned, view.show]") == [{"layer": 0, "head": 2}, "scores"]
page.run("changeLanguage()"); page.settle()
assert page.run("[view.show, optionOf('diff').textContent]") == ["scores", "与头 0.2 之差"]
page.run("location.hash = '#layer=1&head=1&compare=77.1'"); page.settle()
assert page.run("[pinned, optionOf('diff').textContent]") == [None, "与第一个转储之差"]
page.run("changeLanguage()"); page.settle()
assert page.run("optionOf('diff').textContent") == "difference from the first"
END
}

@test "page: dumps whose parts differ: a matrix in another order, other norms, no texts, no predictions" {
    slow
    need_chromium
    need_numpy
    for name in neox qwen3 llama; do
        "$BUILD/unit/make_family" $name > $name.model.npz
        tg-attn-dump -m $name.model.npz -p CatDogHen -o $name.npz
    done
    tg-init -q --n-layer 2 --n-head 6 --n-embd 24 --n-ctx 32 -o gpt2.model.npz
    tg-attn-dump -m gpt2.model.npz -p CatDogHen -o gpt2.npz
    alter gpt2.npz bare.npz 'del a["dump/text"]; a["dump/ids"] += 1; [a.pop(k) for k in list(a) if k.startswith("next")]'
    tg-attn-view -q -o order.html gpt2.npz neox.npz
    tg-attn-view -q -o norms.html qwen3.npz llama.npz
    tg-attn-view -q -o bare.html gpt2.npz bare.npz
    pages order.html norms.html bare.html << 'END'
import numpy as np
names = {"order.html": ("gpt2", "neox"), "norms.html": ("qwen3", "llama"), "bare.html": ("gpt2", "bare")}[file]
for n, name in enumerate(names):
    dump = np.load(name + ".npz")
    page.run(f"setDump({n}); goTo(1, 2); moveTo(7, 3); setPanel('out')"); page.settle()
    want = dump["h.1.out"][0, 7]
    got = page.run("Array.from(wholeOf(1, 7).out)")
    assert np.abs(got - want).max() < 1e-6 * (1 + np.abs(want).max()), (file, name)
    rows = page.run("[...byId('projected').querySelectorAll('tbody tr')].map((r) => [r.cells[3].textContent, r.cells[4].textContent])")
    w = dump["h.1.w_proj" if "h.1.w_proj" in dump else "h.1.w_proj_t"].ravel()
    assert all(np.float32(x) == w[int(at)] for at, x in rows), (file, name, rows)
if file == "norms.html":
    first = "cards[0].button.textContent"
    assert "q.proj.data" in page.run(first)
    page.run("setDump(0)"); page.settle()
    assert "q.normed.data" in page.run(first)
if file == "bare.html":
    assert page.run("[dump.tokens, dump.ids[0], panels.includes('next')]") == [None, 68, False]
    page.run("setDump(0)"); page.settle()
    assert page.run("[dump.tokens[0], dump.ids[0]]") == ["C", 67]
END
}

@test "page: lines lead from a word to its keys; letters become large; arrows move the cell on touch" {
    slow
    need_chromium
    tg-attn-dump --example baseline -o dump.npz
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
page.run("moveTo(2, 0)"); page.settle()
page.wait("!byId('lines').hidden", 10) # they are drawn once nothing moves
page.run("window.before = byId('lines').toDataURL(); edit('q', 2, 0, 9)"); page.settle()
page.wait("byId('lines').toDataURL() !== window.before", 10)
END
    tg-attn-dump -q -m "$ROOT/docs/data/induction" --probe repeat --force -o dump.npz
    tg-attn-view -q --force -o page.html dump.npz
    page page.html << 'END'
page.run("goTo(1, 0); moveTo(40, 17)"); page.settle()
assert page.run("endsOf(headOf(1, 0)).map(([t]) => t)") == [17]
page.wait("!byId('lines').hidden", 10)
# ink below the words between the two, and a canvas that ends at them
assert page.run("""(() => { const box = byId('text'), outer = box.getBoundingClientRect(), [a, y] = footOf(words[17], box, outer),
    [b] = footOf(words[40], box, outer), canvas = byId('lines'), {width} = canvas, r = devicePixelRatio;
    const {data} = canvas.getContext('2d').getImageData(0, 0, width, canvas.height), left = parseFloat(canvas.style.left);
    const ink = (from, to) => data.some((c, n) => c > 0 && n % 4 === 3 && (n >> 2) % width >= (from - left) * r &&
        (n >> 2) % width < (to - left) * r && (n >> 2) / width >= (y - parseFloat(canvas.style.top)) * r);
    return [ink((a + b) / 2 - 5, (a + b) / 2 + 5), Math.round(a - left), Math.round(left + parseFloat(canvas.style.width) - b)]; })()""") == [True, 3, 3]
page.run("moveTo(1, 0); goTo(0, 1); moveTo(47, 0)"); page.settle() # a row of which no key has enough
assert page.run("endsOf(headOf(0, 1)).length === 0 && byId('lines').hidden")
page.run("goTo(1, 0); moveTo(40, 17)"); page.settle()
page.run("setWay('column')"); page.settle()
assert 40 in page.run("endsOf(headOf(1, 0)).map(([t]) => t)")
page.run("setWay('row')")
for width, height in ((1280, 800), (1920, 1080)):
    page.size(width, height)
    small = page.run("[parseFloat(getComputedStyle(byId('facts')).fontSize), frame.size]")
    page.run("setPanel('trace'); byId('map').focus()"); page.key("l"); page.settle()
    assert page.run("[largeness(), byId('largeness').getAttribute('aria-pressed')]") == [1.4, "true"]
    large = page.run("[parseFloat(getComputedStyle(byId('steps')).fontSize), frame.size]")
    assert large[0] > 1.39 * small[0] and large[1] > 200, (small, large)
    # rows are as high as their letters need, and all steps are in sight
    assert page.run("byId('terms').querySelector('tbody tr').getBoundingClientRect().height") == 21
    assert page.run("byId('steps').getBoundingClientRect().bottom <= byId('cell').getBoundingClientRect().bottom")
    page.run("keepAddress()")
    assert "large=1" in page.run("location.hash")
    page.key("l"); page.settle()
    assert page.run("largeness()") == 1
assert page.run("getComputedStyle(byId('arrows')).display") == "none"
page.call("Emulation.setTouchEmulationEnabled", enabled=True)
page.size(390, 844); page.settle()
assert page.run("getComputedStyle(byId('arrows')).display") == "flex"
page.run("moveTo(10, 5)")
for key, cell in (("Right", [10, 6]), ("Down", [11, 6]), ("Left", [11, 5]), ("Up", [10, 5])):
    page.run(f"byId('arrows').querySelector('[data-key=Arrow{key}]').click()"); page.settle()
    assert page.run("[view.i, view.j]") == cell, key
END
}

@test "arrays around attention that do not fit are refused by name" {
    slow_unless_sanitized
    need_numpy
    "$BUILD/unit/make_family" gemma3 > model.npz
    tg-attn-dump -m model.npz -p Cats --target-id 5 -o dump.npz
    local n cases=( # MESSAGE STATEMENT
        "array h.0.w_proj_t has shape (9, 24), expected (10, 24)" 'a["h.0.w_proj_t"] = a["h.0.w_proj_t"][:9]'
        "array h.1.out_norm: elements are 'f8', expected 'f4'" 'a["h.1.out_norm"] = a["h.1.out_norm"].astype("f8")'
        "h.0.w_proj_t[25] is nan: it must be finite" 'a["h.0.w_proj_t"][1, 1] = np.nan'
        "h.1.datt[3] is inf: it must be finite" 'a["h.1.datt"][0, 0, 3] = np.inf'
        "array h.1.datt has shape (1, 4, 23), expected (1, 4, 24)" 'a["h.1.datt"] = a["h.1.datt"][:, :, 1:]'
        "array h.1.frequency has shape (0,), expected (0,), with any number but 0 at the end" 'a["h.1.frequency"] = a["h.1.frequency"][:0]'
        "dump/target[0] is -1, expected 0 to 2147483647" 'a["dump/target"] = np.int64(-1)'
        "next/ids[0] is 300, expected below next/vocab_size, " 'a["next/ids"][0, 0] = 300'
        "next/logits or next/text has another shape than next/ids" 'a["next/logits"] = a["next/logits"][:, 1:]'
        "next/vocab_size, next/ids, next/logits or next/sum is there without the others" 'del a["next/sum"]'
        "array h.0.out_norm_eps is missing: the dump has h.0.out_norm" 'del a["h.0.out_norm_eps"]'
        "array h.1.datt is missing: the dump has h.1.loss" 'del a["h.1.datt"]'
        "array dump/target is missing: the dump has h.0.datt" 'del a["dump/target"]'
        "array h.2.w_proj: the layer must be below dump/n_layer, 2" 'a["h.2.w_proj"] = np.ascontiguousarray(a["h.0.w_proj_t"].T)'
    )
    local statements=()
    for ((n = 1; n < ${#cases[@]}; n += 2)); do statements+=("${cases[n]}"); done
    alters dump.npz bad 'exec(word)' "${statements[@]}"
    for ((n = 1; n <= ${#statements[@]}; n++)); do
        run -1 --separate-stderr tg-attn-view --html -o page.html bad-$n.npz
        said "bad-$n.npz: ${cases[2 * n - 2]}"
        [[ ! -e page.html ]]
    done
    # without v nothing that needs it is missed
    alter dump.npz bare.npz '[a.pop(f"h.{n}.v") for n in (0, 1)]'
    run -0 --separate-stderr tg-attn-view --html -o page.html bare.npz
    [[ $stderr != *without* ]]
    # from a pipe, where nothing is used in place, and without texts
    tg-attn-view -q --html --title T -o page.html dump.npz
    cat dump.npz | tg-attn-view -q --html --title T -o - | sed 's/"name": "[^"]*"/"name": "dump.npz"/' | cmp - page.html
    alter dump.npz bare.npz 'del a["next/text"]'
    tg-attn-view -q --html -o page.html bare.npz
    grep -q '"next": {"V"' page.html
    run ! grep -q '"texts"' page.html
    tg-attn-dump --check bare.npz | tail -n 1 | grep -q 'all equal$'
    alter dump.npz added.npz 'a["h.1.b_proj"] = np.zeros(10, "f4")'
    run -1 --separate-stderr tg-attn-dump --check added.npz
    said "added.npz: h.1.b_proj is in the dump, but not in the input"
    alter dump.npz far.npz 'a["dump/target"] = np.int64(70000)'
    run -1 --separate-stderr tg-attn-dump --check far.npz
    said "far.npz: dump/target is 70000, expected below "
}

@test "--show steps: one head in one picture, with the dump's numbers" {
    slow_unless_sanitized
    need_numpy
    tg-attn-dump --example mha -o mha.npz
    tg-attn-view --show steps -a 1 -o steps.svg mha.npz
    tg-attn-view --show steps -a 1 --svg --paper dark < mha.npz > dark.svg
    tg-attn-dump -m "$ROOT/docs/data/induction" -p abc -o wide.npz
    "$BUILD/unit/make_family" qwen3 > model.npz
    tg-attn-dump -m model.npz -p Cats -o cats.npz
    tg-attn-view --show steps -l 1 -a 1 -o cats.svg cats.npz
    python3 - << 'END'
import xml.dom.minidom
import numpy as np
for name, layer, h, picture in ("mha", 0, 1, "steps.svg"), ("mha", 0, 1, "dark.svg"), ("cats", 1, 1, "cats.svg"):
    d = np.load(name + ".npz")
    texts = [t.firstChild.data for t in xml.dom.minidom.parse(picture).getElementsByTagName("text") if t.firstChild]
    q, k, v, att = (d[f"h.{layer}.{s}"][0] for s in ("q", "k", "v", "att"))
    g = h * k.shape[1] // q.shape[1]
    seen = d[f"h.{layer}.probs"][0, h] > 0
    want = [*q[:, h].ravel(), *k[:, g].T.ravel(), *d[f"h.{layer}.scores"][0, h][seen], *d[f"h.{layer}.probs"][0, h][seen],
            *v[:, g].ravel(), *att[:, h].ravel()]
    left = list(texts)
    for x in want:
        text = "%.3g" % x
        assert text in left, (picture, text)
        left.remove(text)
    assert "softmax" in left and "att" in left, left
END
    # a cap, a window, and scores that are all 0
    "$BUILD/unit/make_family" gemma2 > gemma2.npz
    tg-attn-dump -m gemma2.npz -p Cats -o capped.npz
    tg-attn-view --show steps -l 0 -o capped.svg capped.npz
    grep -q '>their match, capped at 1.5;<' capped.svg
    grep -q '>masked: later keys, and all but 2<' capped.svg
    tg-attn-view --show steps -l 1 -o whole.svg capped.npz
    grep -q '>later keys are masked<' whole.svg
    alter mha.npz zero.npz 'a["h.0.q"] *= 0'
    tg-attn-view --show steps -o zero.svg zero.npz
    python3 - << 'END'
import xml.dom.minidom
rects = xml.dom.minidom.parse("zero.svg").getElementsByTagName("rect")
fills = [r.getAttribute("fill") for r in rects if r.getAttribute("height") == "26"]
cells = [f for f in fills if f.startswith("#")]
assert len(set(cells[:6 + 6 + 6])) < len(set(cells)) and cells[0] == cells[12], cells  # q and scores
END
    run -1 --separate-stderr tg-attn-view --show steps -o steps2.svg wide.npz
    said 'wide.npz: the steps of a head are drawn for at most 10 tokens and 6 channels: the dump has 3 and 16'
    run -2 --separate-stderr tg-attn-view --show steps -o steps.png mha.npz
    said '--show steps is an SVG image: -o FILE.svg, or --svg'
    run -2 --separate-stderr tg-attn-view --show steps mha.npz
    said '--show steps is an SVG image'
    alter mha.npz bare.npz 'del a["h.0.v"]'
    run -1 --separate-stderr tg-attn-view --show steps -o none.svg bare.npz
    said 'bare.npz: layer 0 lacks q, k or v, which the steps begin with'
}

@test "--show steps: the norms and the rotation of q and k, where a layer has any, and the head of keys" {
    slow_unless_sanitized
    need_numpy
    for name in qwen3 llama gemma2 neox; do
        "$BUILD/unit/make_family" $name > model.npz
        tg-attn-dump -q -m model.npz -p Cats -o $name.npz
        tg-attn-view --show steps -l 0 -a 4 -o $name.svg $name.npz
    done
    alter qwen3.npz part.npz 'del a["h.0.k.normed"]'
    tg-attn-view --show steps -l 0 -a 4 -o part.svg part.npz
    tg-attn-view --show steps -l 1 -a 4 -o still.svg llama.npz # which does not rotate in every layer
    tg-attn-dump --example mha -o mha.npz
    tg-attn-view --show steps -a 1 -o mha.svg mha.npz
    python3 - << 'END'
import xml.dom.minidom
import numpy as np
for name in "qwen3", "llama", "gemma2", "neox":
    d, image = np.load(name + ".npz"), xml.dom.minidom.parse(name + ".svg")
    texts = [(t.firstChild.data, int(t.getAttribute("x")), int(t.getAttribute("y"))) for t in image.getElementsByTagName("text") if t.firstChild]
    cells = [(int(r.getAttribute("x")), int(r.getAttribute("y"))) for r in image.getElementsByTagName("rect") if r.getAttribute("height") == "26" and r.getAttribute("fill") != "none"]
    root = image.documentElement
    heads, key_heads = d["h.0.q"].shape[2], d["h.0.k"].shape[2]
    g, turned = 4 * key_heads // heads, d["h.0.frequency"]
    normed = "h.0.q.normed" in d
    columns = [f"{x}{end}" for x in "qk" for end in ([".proj"] + [".normed"] * normed + [""])]
    titles = [t for t, x, y in texts if y == 30]
    assert titles == columns, (name, titles)
    # each number of them is where its token's row and its channel's column are
    at = {(t, x, y) for t, x, y in texts}
    for title, x, y in [t for t in texts if t[2] == 30]:
        which = d["h.0." + title][0, :, 4 if title[0] == "q" else g]
        assert which.shape == (4, 4)
        for t in range(4):
            for c in range(4):
                assert ("%.3g" % which[t, c], x - 4 * 46 // 2 + c * 46 + 23, 16 + 46 + t * 26 + 17) in at, (name, title, t, c)
    lines = [t for t, x, y in texts]
    assert lines.count("rotate") == 2 and lines.count("norm") == (2 if normed else 0), lines
    assert lines.count(f"channels m and m+{len(turned)} turn by") == 2 and lines.count("position · " + ", ".join("%.3g" % x for x in turned) + " radians") == 2, lines
    # then as ever, below
    second = [(t, y) for t, x, y in texts if t in ("scores", "probs", "att")]
    assert [t for t, y in second] == ["scores", "probs", "att"] and len({y for t, y in second}) == 1 and second[0][1] > 30 + 4 * 26
    served = [t for t in lines if t.startswith("key head")]
    if key_heads == heads:
        assert served == [] and "kᵀ" in lines and "v" in lines
    else:
        n = heads // key_heads
        assert served == [f"key head {g} serves heads {g * n} to {(g + 1) * n - 1}"] and f"kᵀ of key head {g}" in lines and f"v of key head {g}" in lines, lines
    width, height = (int(root.getAttribute(x)) for x in ("width", "height"))
    assert max(x for x, y in cells) + 46 + 16 <= width and max(y for x, y in cells) + 26 <= height
    assert max(y for t, x, y in texts) < height
# arrays that are missing, and a model without either: one row
for name in "part", "still", "mha":
    lines = [t.firstChild.data for t in xml.dom.minidom.parse(name + ".svg").getElementsByTagName("text") if t.firstChild]
    assert not {"rotate", "norm", "q.proj"} & set(lines) and "softmax" in lines, (name, lines)
END
}

@test "page: the mean and the maximum of the heads that the table shows" {
    slow
    need_chromium
    need_numpy
    tg-attn-dump -q -m "$ROOT/docs/data/induction" --probe repeat -o induction.npz
    "$BUILD/unit/make_family" mistral > model.npz # whose windows are not alike
    tg-attn-dump -q -m model.npz -p CatDogHenCat -o window.npz
    for name in induction window; do tg-attn-view -q -o $name.html $name.npz; done
    pages induction.html window.html << 'END'
import numpy as np
dump = np.load(file.replace(".html", ".npz"))
T, H, layers = page.run("[T, H, dump.layers]")
probs = {(l, h): dump[f"h.{l}.probs"][0, h].astype(float) for l in layers for h in range(H)}
scores = {(l, h): np.where(dump[f"h.{l}.probs"][0, h] > 0, dump[f"h.{l}.scores"][0, h].astype(float), np.nan) for l, h in probs}
lower = np.tril_indices(T)

def got(way, show):
    page.run(f"setOf('{way}'); setShow('{show}')"); page.settle()
    assert page.run("mapHead().work(Infinity)")
    return np.array(page.run(f"Array.from(mapHead().{show}, (x) => Number.isNaN(x) ? -1e30 : x)"))

def check(heads):
    assert sorted(map(tuple, page.run("headsShown().map(({layer, h}) => [layer, h])"))) == sorted(heads)
    stack = np.stack([probs[at] for at in heads])
    seen = (stack > 0).any(0)[lower]
    for way, want in ("mean", stack.mean(0)), ("max", stack.max(0)):
        numbers = got(way, "probs")
        assert ((numbers > -1e29) == seen).all() and np.abs(numbers - want[lower])[seen].max() < 1e-6, (file, way)
    numbers = got("mean", "scores")
    with np.errstate(invalid="ignore"):
        want = np.nanmean(np.stack([scores[at] for at in heads])[:, lower[0], lower[1]][:, seen], 0)
    assert np.abs(numbers[seen] - want).max() < 1e-5 * (1 + np.abs(want).max()), file
    want = np.nanmax(np.where(np.isnan(np.stack([scores[at] for at in heads])), -np.inf, np.stack([scores[at] for at in heads])), 0)
    numbers = got("max", "scores")
    assert np.abs(numbers - want[lower])[seen].max() < 1e-5 * (1 + np.abs(want[lower][seen]).max()), file

check(list(probs))
assert page.run("byId('title').textContent").startswith(f"Maximum of {len(probs)} heads: ")
if file == "induction.html": # those of which the first token has a share of 0.05 or more
    page.run("sortBy(4); setLeast(0.05)"); page.settle()
    check([(l, h) for l, h in probs if probs[l, h][1:, 0].mean() >= 0.05])
page.run("keepAddress()")
assert "of=max" in page.run("location.hash")
page.run("location.hash = '#layer=0'"); page.settle()
assert page.run("[view.of, byId('of-heads').value, byId('title').textContent.slice(0, 7)]") == ["one", "one", "Layer 0"]
END
}

@test "the change in loss without each head goes from --ablate through the dump to the table of heads" {
    slow
    need_chromium
    need_numpy
    cp -R "$ROOT/docs/data/induction" model
    tg-attn-dump -q -m model --probe repeat --ablate all -f tsv > want
    tg-attn-dump -q -m model --probe repeat --losses -o dump.npz
    python3 - << 'END'
import numpy as np
d = np.load("dump.npz")
want = {f[0]: f[4] for f in (line.split() for line in open("want"))}
for l in range(2):
    assert d[f"h.{l}.change"].dtype == np.float64
    for h in range(4):
        assert "%.9g" % d[f"h.{l}.change"][h] == want[f"{l}.{h}"], (l, h)
END
    run -0 --separate-stderr tg-attn-dump -q -m model --check dump.npz
    [[ $output = *$'\nh.1.change [4]: 4 elements, all equal\n'* ]]
    alter dump.npz bad.npz 'a["h.1.change"][2] += 0.5'
    run -1 --separate-stderr tg-attn-dump -q -m model --check bad.npz
    [[ $output = *$'\nh.1.change [4]: 1 of 4 elements differ, the first at offset 2, [2]: '* ]]
    tg-attn-dump -q -m model --probe repeat -l 1 --losses -o one.npz
    alter one.npz same.npz 'assert (a["h.1.change"] == np.load("dump.npz")["h.1.change"]).all() and "h.0.change" not in a'
    tg-attn-view -q -o page.html dump.npz
    page page.html << 'END'
want = [line.split() for line in open("want")][1:]
page.size(1280, 800); page.settle()
assert page.run("[...byId('measures').tHead.rows[0].cells].at(-1).textContent") == "Δloss"
page.run("sortBy(7)"); page.settle()
rows = page.run("[...byId('measures').tBodies[0].rows].map((r) => [r.cells[0].textContent, r.cells[8].title, r.cells[8].textContent])")
by = sorted(want, key=lambda f: -float(f[4]))
assert [r[:2] for r in rows] == [[f[0], f[4]] for f in by] and rows[0][2] == "1.944", rows
assert page.run("byId('heads').scrollWidth <= byId('heads').clientWidth"), "a column is out of sight"
END
    run -2 --separate-stderr tg-attn-dump --example mha --losses -o e.npz
    said '--losses needs a model'
    run -1 --separate-stderr tg-attn-dump -q -m model -p a --losses -o e.npz
    [[ ! -e e.npz ]]
    run -2 --separate-stderr tg-attn-dump -q -m model -p ab --losses
    said '--losses goes with --output'
}
