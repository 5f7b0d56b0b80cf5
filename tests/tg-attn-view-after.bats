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
import json, random, re, subprocess
import numpy as np
random.seed(1)
dump = np.load(file.replace(".html", ".npz"))
T, H, L, Q, C = page.run("[T, H, dump.layers, Q, C]")
same = lambda text, stored: np.float32(text) == np.float32(stored)
cells = [(random.choice(L), random.randrange(H), random.randrange(T), random.randrange(T)) for _ in range(12)]

def rows(panel, box, scroll=0):
    page.run(f"setPanel('{panel}'); byId('{box}').scrollTop = {scroll}"); page.settle()
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
    rows("gradient", "gradients")
    text = page.run("byId('gradient-result').textContent")
    command = ["tg-attn-dump", "--trace", f"0,{h},{i},{j}", "--backward", "--heads", str(H)]
    if ids is None:
        command += ["--example", os.path.basename(name), "--channel", str(page.run("view.channel"))]
    else:
        command += ["-m", name + ".model.npz", "--ids", " ".join(map(str, ids)), "-l", str(layer), "--target-id", str(dump["dump/target"])]
    trace = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    trace = trace.split("the gradient of the score")[1].split("\n\n")[0]
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
