# tg-attn-view --headvis: the files that HeadVis reads, as its data_pipeline.py describes them.

load helper
load dumps

@test "--headvis: each head's file has the greatest probabilities of each query, as the dump" {
    slow_unless_sanitized
    need_numpy
    local model=$ROOT/docs/data/induction
    tg-attn-dump -q -m "$model" -p abcdefghabc -o a.npz
    tg-attn-dump -q -m "$model" -p CatDogHenCatDogHen -o b.npz
    tg-attn-dump -q -m "$model" -p 'I <3 é' -o c.npz
    run -0 tg-attn-view --headvis data a.npz b.npz c.npz
    is_output ''
    [[ $(cd data && echo *) = 'attributions config.json heads scatter_data.json server_config.json' ]]
    [[ $(cd data && echo */*) = "attributions/manifest.json $(echo heads/L{0,1}H{0..3}.json)" ]]
    [[ $(cat data/server_config.json data/attributions/manifest.json | paste -sd ,) = '{},{}' ]]
    python3 - << 'END'
import json
import numpy as np
dumps = [np.load(f"{name}.npz") for name in "abc"]
tokens = [list("abcdefghabc"), list("CatDogHenCatDogHen"), [*"I <3 é", ""]]  # its second byte has no text
read = lambda name: json.load(open(f"data/{name}", encoding="utf8"))
config = read("config.json")
assert config["heads"] == [[l, h] for l in range(2) for h in range(4)]
assert (config["model_name"], config["n_layers"], config["n_heads"], config["n_intervals"]) == ("induction", 2, 4, 3)
assert config["has_umap"] is False and config["umap_heads"] == [] and config["head_data_pattern"] == "L{layer}H{head}.json"
assert list(config["metric_descriptions"]) == config["metrics"]
for layer, head in config["heads"]:
    file = read(f"heads/L{layer}H{head}.json")
    assert all(plot["key"] in file for plot in config["custom_plots"] + config["custom_tables"])
    assert set(config["statistics_display"]) == set(file["statistics"])
    most, weights, distances = [], ({}, {}), []
    for n, (s, dump) in enumerate(zip(file["sequences"], dumps, strict=True)):
        p = dump[f"h.{layer}.probs"][0, head]
        T = len(p)
        assert s["sequence_id"] == n and s["seq_len"] == T == len(s["tokens"]) and s["tokens"] == tokens[n]
        want = []
        for i in range(T):
            keys = sorted(np.argsort(-p[i, :i + 1], kind="stable")[:8])
            want += [(i * T + j, p[i, j]) for j in keys if p[i, j] >= np.float32(0.005)]
        assert s["attention_indices"] == [place for place, _ in want], (layer, head, n)
        assert s["attention_values"] == [float(f"{x:.4f}") for _, x in want]
        most.append(p[1:, 1:].max())
        assert s["max_activation"] == float(f"{most[-1]:.4f}")
        for place, x in want:
            i, j = divmod(place, T)
            distances.append(i - j)
            for at, side in ((i, 0), (j, 1)):
                weights[side][s["tokens"][at]] = weights[side].get(s["tokens"][at], 0) + float(x)
    # a third of the texts each; the greatest attention is in the last
    order = sorted(range(3), key=lambda n: (most[n], n))
    assert [file["sequences"][n]["interval"] for n in order] == [1, 2, 3]
    for side, name in enumerate(["top_query_tokens", "top_key_tokens"]):
        got = {w["token"]: w["weight"] for w in file[name]}
        assert got.keys() == weights[side].keys(), (got, weights[side])
        assert all(abs(got[t] - x) <= 0.5001e-4 for t, x in weights[side].items()), (got, weights[side])
        assert [w["weight"] for w in file[name]] == sorted((w["weight"] for w in file[name]), reverse=True)
    edges, values = file["qk_distance_histogram"]["bin_edges"], file["qk_distance_histogram"]["bin_values"]
    assert edges == [0, 1, 2, 4, 8, 16, 32][:len(edges)] and len(edges) == len(values) + 1 and values[-1] > 0
    assert values == np.histogram(np.array(distances) + 0.5, edges)[0].tolist()
    assert file["statistics"] == {"n_samples": 3, "mean_max_activation": float(f"{np.mean(np.float64(most)):.4f}")}
END
}

@test "--headvis: the measures are those of tg-attn-dump --summary, over all texts" {
    slow_unless_sanitized
    need_numpy
    local model=$ROOT/docs/data/induction
    tg-attn-dump -q -m "$model" -p abcdefghabc -o a.npz
    tg-attn-dump -q -m "$model" -p xyz -o x.npz
    tg-attn-dump -q -m "$model" -p CatDogHenCatDogHen -o b.npz
    tg-attn-view --headvis one a.npz
    tg-attn-view --headvis none --title 'my heads' x.npz
    tg-attn-view --headvis both -l 1 -a 0,2 a.npz b.npz
    tg-attn-dump -q -m "$model" -p abcdefghabc --summary -f tsv > a.tsv
    tg-attn-dump -q -m "$model" -p CatDogHenCatDogHen --summary -f tsv > b.tsv
    python3 - << 'END'
import json
names = {"self_attention_score": "diagonal", "previous_token_score": "previous", "first_token_score": "first",
         "pattern_entropy": "entropy", "qk_distance": "distance", "induction_score": "induction",
         "duplicate_token_score": "duplicate"}
def summary(name):
    titles, *lines = [line.rstrip("\n").split("\t") for line in open(name)]
    return {(int(l[0]), int(l[1])): dict(zip(titles, l)) for l in lines}
read = lambda name: json.load(open(name))
a, b = summary("a.tsv"), summary("b.tsv")
rows = read("one/scatter_data.json")
assert len(rows) == 8 and read("one/config.json")["metrics"] == list(names)
for row in rows:
    for name, column in names.items():
        assert abs(row[name] - float(a[row["layer"], row["head"]][column])) <= 0.5001e-4, (row, name)
# texts in which no token comes twice have no such measures
assert set(read("none/scatter_data.json")[0]) == {"layer", "head", *list(names)[:5]}
assert read("none/config.json")["metrics"] == list(names)[:5] and read("none/config.json")["model_name"] == "my heads"
# of two texts: weighted by their queries, 10 and 17
rows = read("both/scatter_data.json")
assert [(row["layer"], row["head"]) for row in rows] == [(1, 0), (1, 2)] == [tuple(x) for x in read("both/config.json")["heads"]]
for row in rows:
    at = row["layer"], row["head"]
    for name, column in list(names.items())[:5]:
        want = (10 * float(a[at][column]) + 17 * float(b[at][column])) / 27
        assert abs(row[name] - want) <= 0.5001e-4, (row, name, want)
END
    [[ $(cd both/heads && echo *) = 'L1H0.json L1H2.json' ]]
}

@test "--headvis: a window, tokens without texts, and from probabilities alone" {
    slow_unless_sanitized
    need_numpy
    dump dump.npz T=12 H=2 L=1
    alter dump.npz probs.npz "del a['h.0.q'], a['h.0.k'], a['h.0.scores']; a.pop('dump/text', None)"
    tg-attn-view --headvis data probs.npz
    tg-init -q -P baby-gemma3 --window 3 -o windowed.npz
    tg-attn-dump -q -m windowed.npz -p abcabcabcabc -o windowed-dump.npz
    tg-attn-view --headvis windowed windowed-dump.npz
    python3 - << 'END'
import json
import numpy as np
p = np.load("probs.npz")["h.0.probs"][0, 1]
s = json.load(open("data/heads/L0H1.json"))["sequences"][0]
assert s["max_activation"] == float(f"{p[1:, 1:].max():.4f}") and len(s["tokens"]) == 12
for file in ("windowed/heads/L0H0.json", "data/heads/L0H0.json"):
    s = json.load(open(file))["sequences"][0]
    far = max(i // 12 - i % 12 for i in s["attention_indices"])
    assert (far <= 2) == file.startswith("windowed") and 0 < s["max_activation"] <= 1, (file, far)
END
}

@test "--headvis: what does not go with it is refused in a line, and no model is written over" {
    slow_unless_sanitized
    dump dump.npz T=4 H=2 L=1
    dump other.npz T=4 H=1 L=1
    dump layers.npz T=4 H=2 L=2
    for more in '-o x.html' --html --ansi '--show scores' '--scale log' '--paper dark' '--width 40' --whole; do
        # shellcheck disable=SC2086
        run -2 tg-attn-view --headvis data $more dump.npz
        [[ ${#lines[@]} = 1 || ${lines[1]} = *--help* ]]
    done
    run -2 tg-attn-view --headvis - dump.npz
    [[ ${lines[0]} = 'tg-attn-view: --headvis writes a directory, not standard output '* && ! -e data ]]
    run -1 tg-attn-view --headvis data dump.npz other.npz
    [[ $output = 'tg-attn-view: other.npz: heads: 1, but 2 in the first dump' ]]
    run -1 tg-attn-view --headvis data dump.npz layers.npz
    [[ $output = 'tg-attn-view: layers.npz: maps: 4, but 2 in the first dump' ]]
    tg-lens -q -m "$ROOT/docs/data/induction" -p abc -o lens.npz
    run -2 tg-attn-view --headvis data dump.npz lens.npz
    [[ $output = 'tg-attn-view: lens.npz: --headvis takes dumps of attention alone' && ! -e data ]]
    run -3 tg-attn-view --headvis absent/data dump.npz
    [[ $output = 'tg-attn-view: absent/data: cannot make the directory: No such file or directory' ]]
    # again: its own files are replaced; a model's config.json is not
    tg-attn-view --headvis data dump.npz
    cp -r data first
    tg-attn-view --headvis data dump.npz
    diff -r first data
    cp -r "$ROOT/docs/data/induction" model
    run -2 tg-attn-view --headvis model dump.npz
    cmp model/config.json "$ROOT/docs/data/induction/config.json"
}
