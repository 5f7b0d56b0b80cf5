// What patching changes: a row for each layer, or each head of each layer, and a column for each position, or head.

const {patch} = dump; // {site, metric, direction, method, pairs, clean, corrupt, layers, heads, positions}, or nothing

const SITES = {x: "residual stream", q: "q", k: "k", v: "v", pattern: "probabilities", z: "weighted sum", att: "attention’s output",
    mlp: "MLP’s output"};
const METRICS = {diff: "difference of logits", prob: "probability of the answer", loss: "loss of the answer",
    kl: "divergence from the clean run"};

// What is measured, with the tokens of which it is, where the archive tells.
function metricName() {
    const {metric, answer, answerText, wrong, wrongText} = patch, name = say(METRICS[metric]);
    if (answer === undefined)
        return name;
    return wrong === undefined ? say("{0} ({1})", name, nameOfId(answer, answerText))
        : say("{0} ({1} less {2})", name, nameOfId(answer, answerText), nameOfId(wrong, wrongText));
}

// Heads are columns where each patch takes all positions at once.
const headsAcross = Boolean(patch) && patch.positions.length === 1 && patch.heads.length > 1;

// The patch of a cell: where it is, -1: all of them, and its place in value and effect [layers,heads,positions].
function patchAt(r, c) {
    const {layers, heads, positions} = patch, down = headsAcross ? 1 : heads.length;
    const m = Math.floor(r / down), n = headsAcross ? c : r % down, p = headsAcross ? 0 : c;
    return {layer: layers[m], head: heads[n], position: positions[p], at: (m * heads.length + n) * positions.length + p};
}

let patchArrays = null; // {value, effect} [layers,heads,positions], once they were looked at

function readPatch() {
    patchArrays ??= {value: decode("patch.value", Float64Array), effect: decode("patch.effect", Float64Array)};
    return patchArrays;
}

// The effect of a patch that changes nothing: it has the paper's colour.
const unchanged = () => patch.direction === "noise" ? 1 : 0;

let patchMost = 0; // how far an effect is from that, at most, once it was asked for
const greatestChange = () => patchMost ||= greatest(readPatch().effect.map((x) => x - unchanged())) || 1;

// What was replaced, as a text.
const patchName = ({layer, head, position}) => (head < 0 ? say("{0} of layer {1}", say(SITES[patch.site]), layer)
    : say("{0} of head {1}", say(SITES[patch.site]), `${layer}.${head}`)) + say("; ") + (position < 0 ? say("all positions") : say("position {0}", `${position}${firstQuoted(position)}`));

function showPatched(r, c) {
    const place = patchAt(r, c);
    byId("patched-text").textContent = `${patchName(place)}${say(": ")}` +
        say("effect {0}, {1} {2}", textOf(readPatch().effect[place.at], 6), say(METRICS[patch.metric]), textOf(readPatch().value[place.at], 6));
}

// The layer's map of the head, at the position that was patched.
function goToPatched(r, c) {
    const {layer, head, position} = patchAt(r, c);
    goToMap(layer, head < 0 ? view.head : head, position < 0 ? view.i : position);
}

// The cell of the view's layer, head and position, as far as there is one.
function firstPatched() {
    const {layers, heads, positions} = patch, of = (places, place) => Math.max(places.indexOf(place), 0);
    const m = of(layers, view.layer), n = of(heads, view.head);
    return positions.length === 1 && heads.length > 1 ? {r: m, c: n} : {r: m * heads.length + n, c: of(positions, view.i)};
}

// ---- the grid

let patchGrid = null;

const makePatchGrid = () => new Grid({
    id: "patch-grid", rows: patch.layers.length * (headsAcross ? 1 : patch.heads.length),
    columns: headsAcross ? patch.heads.length : patch.positions.length,
    width: headsAcross ? 46 : Math.max(columnWidth(patch.positions.filter((t) => t >= 0).map(firstLabel)), 46),
    name: () => say("What patching changes"),
    row: (r) => {
        const {layer, head} = patchAt(r, 0);
        return head < 0 || headsAcross ? String(layer) : `${layer}.${head}`;
    },
    column: (c) => {
        const {head, position} = patchAt(0, c);
        return headsAcross ? String(head) : position < 0 ? say("all") : columnText(position);
    },
    cell: (r, c) => {
        const place = patchAt(r, c), x = readPatch().effect[place.at];
        return {place: 0.5 + (x - unchanged()) / greatestChange() / 2, text: shortText(x), title: `${patchName(place)}${say(": ")}${say("effect")} ${textOf(x, 4)}`};
    },
    palette: () => paletteOf("scores"),
    state: () => "",
    chosen: (c) => headsAcross ? patch.heads[c] === view.head : patch.positions[c] === view.i,
    show: showPatched,
    go: goToPatched,
    first: firstPatched
});

// What was run, and what effects mean.
function patchText() {
    const {direction, method, clean, corrupt, pairs} = patch, numbers = [clean, corrupt].map((x) => textOf(x, 6));
    return say(direction === "noise" ? "Each cell is a run of the clean prompt with one activation of the corrupt run. "
        : "Each cell is a run of the corrupt prompt with one activation of the clean run. ") +
        say("Effect 1: the {0} is that of the clean run, {1}; 0: that of the corrupt run, {2}.", metricName(), ...numbers) + say(" The paper’s colour: nothing has changed.") +
        (method === "attribution" ? say(" Estimated from one gradient.") : "") +
        (pairs > 1 ? say(" Means of {0} pairs of prompts; the tokens are the first pair’s.", pairs) : "");
}

function showPatch() {
    const ends = [-1, 1].map((sign) => textOf(unchanged() + sign * greatestChange(), 4));
    patchGrid ??= makePatchGrid();
    byId("patch-text").textContent = patchText();
    showEnds("patch-ends", say("effect"), paletteOf("scores"), ...ends);
    patchGrid.draw();
}
