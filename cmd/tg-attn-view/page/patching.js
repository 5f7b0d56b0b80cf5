// What patching changes: a row for each layer, or each head of each layer, and a column for each position, or head.

// Each of an archive: {site, name, metric, direction, method, pairs, clean, corrupt, layers, heads, positions}; on a page
// without a dump also the tokens of both prompts.
const {patches = []} = dump;
let whichPatch = 0; // the one that is shown
let [patch] = patches;

const isBare = dump.layers.length === 0; // the page has no dump, and no maps

const SITES = {x: "residual stream", q: "q", k: "k", v: "v", pattern: "probabilities", z: "weighted sum", att: "attention’s output",
    mlp: "MLP’s output"};
const METRICS = {diff: "difference of logits", prob: "probability of the answer", loss: "loss of the answer",
    kl: "divergence from the clean run"};

// What is measured, with the tokens of which it is, where the archive tells.
function metricName({metric, answer, answerText, wrong, wrongText} = patch) {
    const name = say(METRICS[metric]);
    if (answer === undefined)
        return name;
    return wrong === undefined ? say("{0} ({1})", name, nameOfId(answer, answerText))
        : say("{0} ({1} less {2})", name, nameOfId(answer, answerText), nameOfId(wrong, wrongText));
}

// Heads are columns where each patch takes all positions at once.
const headsAcross = () => patch.positions.length === 1 && patch.heads.length > 1;

// The patch of a cell: where it is, -1: all of them, and its place in value and effect [layers,heads,positions].
function patchAt(r, c) {
    const {layers, heads, positions} = patch, across = headsAcross(), down = across ? 1 : heads.length;
    const m = Math.floor(r / down), n = across ? c : r % down, p = across ? 0 : c;
    return {layer: layers[m], head: heads[n], position: positions[p], at: (m * heads.length + n) * positions.length + p};
}

const patchArrays = []; // of each archive {value, effect} [layers,heads,positions], once they were looked at

function readPatch(nth = whichPatch) {
    patchArrays[nth] ??= {value: decode(`patch${nth}.value`, Float64Array), effect: decode(`patch${nth}.effect`, Float64Array)};
    return patchArrays[nth];
}

// The effect of a patch that changes nothing: it has the paper's colour.
const unchanged = ({direction} = patch) => direction === "noise" ? 1 : 0;

let patchMost = 0; // how far an effect is from that, at most, once it was asked for: one scale for all archives
const greatestChange = () => patchMost ||= Math.max(...patches.map((one, nth) =>
    greatest(readPatch(nth).effect.map((x) => x - unchanged(one))))) || 1;

// ---- the tokens: the first dump's, or on a page without one the archive's, both where the prompts differ; means over
// pairs have no tokens of their own

function patchLabel(t) {
    if (!isBare)
        return firstLabel(t);
    const {tokens, corruptTokens, pairs} = patch, [clean, other] = [tokens, corruptTokens].map((all) => String(all?.[t] ?? "").replaceAll(" ", "·"));
    return pairs > 1 ? "" : clean === other || other === "" ? clean : `${clean}/${other}`;
}

const patchQuoted = (t) => patchLabel(t) ? ` “${patchLabel(t)}”` : "";
const patchColumn = (t) => patchLabel(t) ? `${t}\n${patchLabel(t)}` : String(t);

// What was replaced, as a text.
const patchName = ({layer, head, position}) => (head < 0 ? say("{0} of layer {1}", say(SITES[patch.site]), layer)
    : say("{0} of head {1}", say(SITES[patch.site]), `${layer}.${head}`)) + say("; ") + (position < 0 ? say("all positions") : say("position {0}", `${position}${patchQuoted(position)}`));

function showPatched(r, c) {
    const place = patchAt(r, c);
    byId("patched-text").textContent = `${patchName(place)}${say(": ")}` +
        say("effect {0}, {1} {2}", textOf(readPatch().effect[place.at], 6), say(METRICS[patch.metric]), textOf(readPatch().value[place.at], 6));
}

// The layer's map of the head, at the position that was patched.
function goToPatched(r, c) {
    if (isBare)
        return;
    const {layer, head, position} = patchAt(r, c);
    goToMap(layer, head < 0 ? view.head : head, position < 0 ? view.i : position);
}

// The place of the greatest change in value and effect.
function greatestPatch() {
    const changes = readPatch().effect.map((x) => Math.abs(x - unchanged()));
    return changes.indexOf(greatest(changes));
}

// The cell to begin with: of the view's layer, head and position, as far as there is one; on a page without a dump the
// greatest change.
function firstPatched() {
    const {layers, heads, positions} = patch, of = (places, place) => Math.max(places.indexOf(place), 0);
    const at = isBare ? greatestPatch() : (of(layers, view.layer) * heads.length + of(heads, view.head)) * positions.length + of(positions, view.i);
    const columns = headsAcross() ? heads.length : positions.length; // both are stored row after row
    return {r: Math.floor(at / columns), c: at % columns};
}

// ---- the grid

let patchGrid = null;

// How many rows and columns, and how wide these are: what depends on the archive.
const patchShape = () => ({
    rows: patch.layers.length * (headsAcross() ? 1 : patch.heads.length),
    columns: headsAcross() ? patch.heads.length : patch.positions.length,
    width: headsAcross() ? 46 : Math.max(columnWidth(patch.positions.filter((t) => t >= 0).map(patchLabel)), 46)
});

const makePatchGrid = () => new Grid({
    id: "patch-grid", ...patchShape(),
    name: () => say("What patching changes"),
    row: (r) => {
        const {layer, head} = patchAt(r, 0);
        return head < 0 || headsAcross() ? String(layer) : `${layer}.${head}`;
    },
    column: (c) => {
        const {head, position} = patchAt(0, c);
        return headsAcross() ? String(head) : position < 0 ? say("all") : patchColumn(position);
    },
    cell: (r, c) => {
        const place = patchAt(r, c), x = readPatch().effect[place.at];
        return {place: 0.5 + (x - unchanged()) / greatestChange() / 2, text: shortText(x), title: `${patchName(place)}${say(": ")}${say("effect")} ${textOf(x, 4)}`};
    },
    palette: () => paletteOf("scores"),
    state: () => String(whichPatch),
    chosen: (c) => !isBare && (headsAcross() ? patch.heads[c] === view.head : patch.positions[c] === view.i),
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
        (pairs > 1 ? say(isBare ? " Means of {0} pairs of prompts." : " Means of {0} pairs of prompts; the tokens are the first pair’s.", pairs) : "");
}

function showPatch() {
    const ends = [-1, 1].map((sign) => textOf(unchanged() + sign * greatestChange(), 4));
    patchGrid ??= makePatchGrid();
    byId("patch-text").textContent = patchText();
    showEnds("patch-ends", say("effect"), paletteOf("scores"), ...ends);
    patchGrid.draw();
}

// ---- several archives

const nameOfPatch = ({site, name}) => `${say(SITES[site])}${say(": ")}${name}`;

// In the page's language.
function namePatches() {
    [...byId("patch-which").options].forEach((option, nth) => { option.textContent = nameOfPatch(patches[nth]); });
}

function setPatch(nth) {
    whichPatch = clamp(nth, 0, patches.length - 1);
    patch = patches[whichPatch];
    if (patches.length === 0)
        return;
    byId("patch-which").value = whichPatch;
    patchGrid?.become(patchShape());
    refresh();
}

function makePatches() {
    byId("patches").hidden = patches.length < 2;
    byId("patch-which").append(...patches.map((_, nth) => element("option", "", {value: nth})));
    byId("patch-which").addEventListener("change", (event) => setPatch(Number(event.target.value)));
}
