// What lies around a head's attention: the rotation of q and k before it; the projection, the residual stream and
// the prediction after it; and the gradient of a score.  The numbers and the panel's tables of them.

const Q = H * D; // channels of all heads together
const LONG_HEIGHT = 15; // pixels of a row, as in page.css

// ---- q and k on their way

// Layers whose q and k are rotated have frequencies: pair m of a head is its channels m and m + n.
const pairsOf = (data) => data.frequency?.length ?? 0;

// The vector of q or k that the table shows, with what it was made from.
function wayOf({layer, head: h, i, j}, which) {
    const data = layerOf(layer), isQuery = which === "q", t = isQuery ? i : j;
    const base = isQuery ? baseOf(i, h) : keyBaseOf(j, h), at = isQuery ? localBase(i, h) : localKeyBase(j, h);
    const part = (array) => array?.subarray(at, at + D);
    return {name: which, t, base, made: part(data[which]), projected: part(data[`${which}Projected`]),
        normed: part(data[`${which}Normed`]), frequency: data.frequency};
}

// cos and sin are the model's: of an angle in double precision, rounded to float32.
function angleOf({t, frequency}, d) {
    const n = frequency?.length ?? 0;
    if (d >= 2 * n)
        return ["—", "—", "—"];
    const angle = t * frequency[d % n];
    return [textOf(angle), storedText(Math.cos(angle)), storedText(Math.sin(angle))];
}

function showRotation() {
    const way = wayOf(view, byId("vector").value), {name, base, made, projected, normed, frequency} = way;
    const n = frequency?.length ?? 0, from = normed ? `${name}.normed` : `${name}.proj`;
    const norm = normed ? say("{0} is {1} divided by its root mean square, times a gain. ", from, `${name}.proj`) : "";
    byId("rotation").textContent = norm + (n === 0 ? say("This layer does not rotate: {0} is {1}.", name, from)
        : say("Position {0}. For m < {1}: {2}[m] = {3}[m]·cos - {3}[m+{1}]·sin, {2}[m+{1}] = {3}[m+{1}]·cos + {3}[m]·sin", way.t, n,
            name, from) + (2 * n < D ? say("; the others stay as they are.", D) : "."));
    byId("rotated").classList.toggle("plain", !normed);
    setLong("rotated", D, (d) => [String(d), String(base + d), storedText(projected[d]), normed ? storedText(normed[d]) : "",
        ...angleOf(way, d), storedText(made[d])]);
}

// ---- all heads of a query, and their projection; kept for the one that was asked for last

let whole = {name: ""};

// The output projection's matrix, and the place in it of row m and column c: models have it in either order.
const matrixOf = ({w, wTransposed}) => w ? {w, place: (m, c) => m * C + c}
    : {w: wTransposed, place: (m, c) => c * Q + m};

// For each channel of the output the sum of these numbers, each times the matrix's row, of which the first is given.
function sumsOf(data, numbers, first = 0) {
    const sums = new Float64Array(C), {w, place} = matrixOf(data);
    for (let c = 0; c < C; c++) {
        let sum = 0;
        for (let m = 0; m < numbers.length; m++)
            sum += numbers[m] * w[place(first + m, c)];
        sums[c] = sum;
    }
    return sums;
}

// What is added to the residual stream: the output, or, in models that have a norm there, that normed.
function normed(out, {gain, epsilon}) {
    if (!gain)
        return out;
    const rstd = 1 / Math.sqrt(out.reduce((sum, x) => sum + x * x, 0) / C + epsilon[0]);
    return out.map((x, c) => x * rstd * gain[c]);
}

function wholeOf(layer, i) {
    const name = `${which} ${layer} ${i}`;
    if (whole.name === name)
        return whole;
    const data = layerOf(layer), att = new Float64Array(Q);
    for (let h = 0; h < H; h++)
        att.set(attOf(data, h, rowOf(layer, h, i), i), h * D);
    const sums = sumsOf(data, att), out = sums.map((sum, c) => data.bias ? sum + data.bias[c] : sum);
    whole = {name, att, sums, out, added: normed(out, data), heads: []};
    return whole;
}

// Head h's part of the output.
function ofHead(layer, h, i) {
    const all = wholeOf(layer, i);
    return all.heads[h] ??= sumsOf(layerOf(layer), all.att.subarray(h * D, (h + 1) * D), h * D);
}

// Where channel c of x and out lies.
const channelAt = (i, c) => (b * T + i) * C + c;

function showProjection() {
    const {layer, head: h, i} = view, data = layerOf(layer), {att, sums, out} = wholeOf(layer, i), c = view.out, running = [];
    const {w, place} = matrixOf(data);
    for (let m = 0, sum = 0; m < Q; m++)
        running[m] = sum += att[m] * w[place(m, c)];
    byId("out-channel").value = c;
    byId("projection-result").textContent = `out.data[${channelAt(i, c)}] = ` + (data.bias
        ? `${textOf(sums[c])} + ${storedText(data.bias[c])} = ${storedText(out[c])}` : storedText(out[c])) +
        say("; of head {0}: {1}", h, textOf(ofHead(layer, h, i)[c]));
    setLong("projected", Q, (m) => {
        const at = place(m, c), x = w[at], of = Math.floor(m / D), d = m % D;
        return [`${of}.${d}`, String(baseOf(i, of) + d), storedText(att[m]), String(at), storedText(x), textOf(att[m] * x),
            textOf(running[m])];
    });
}

// ---- the residual stream

const streamOf = (layer, i) => layerOf(layer).resid.subarray(i * C, (i + 1) * C);

function showResidual() {
    const {layer, i} = view, x = streamOf(layer, i), {out, added} = wholeOf(layer, i), isNormed = Boolean(layerOf(layer).gain);
    byId("residual-text").textContent = isNormed ? say("In this model out is normed before it is added.")
        : say(layer === dump.nLayer - 1
            ? "The stream goes on as resid + out; the MLP adds its part to it, and the logits are made of the sum."
            : "The stream goes on as resid + out; the MLP adds its part to it, and the next layer begins with the sum.");
    byId("added").classList.toggle("plain", !isNormed);
    setLong("added", C, (c) => [String(c), String(channelAt(i, c)), storedText(x[c]), storedText(out[c]),
        isNormed ? storedText(added[c]) : "", textOf(x[c] + added[c])]);
}

// ---- what the model predicts after a token

const nexts = new Map(); // of each dump: {logits, sums}, once they were looked at

// The most probable tokens after token i, the first the greatest: {id, text, logit, prob}.
function nextOf(i) {
    const {next} = dumps[which], K = next.ids.length / T;
    if (!nexts.has(which))
        nexts.set(which, {logits: decode(`logits0.${which}`), sums: decode(`logsum0.${which}`, Float64Array)});
    const {logits, sums} = nexts.get(which);
    return Array.from({length: K}, (_, k) => ({id: next.ids[i * K + k], text: next.texts?.[i * K + k] ?? "",
        logit: logits[i * K + k], prob: Math.exp(logits[i * K + k] - sums[i])}));
}

const logitAt = (i, id) => (b * T + i) * dumps[which].next.V + id;
const shownText = (text) => text ? `“${text.replaceAll(" ", "·")}”` : "";

function showNext() {
    const {i} = view, all = nextOf(i), really = dump.ids[i + 1];
    byId("next-text").textContent = say("After query {0}: the {1} largest of {2} logits", `${i}${quoted(i)}`, all.length,
        dumps[which].next.V) + (i + 1 < T ? say("; the text goes on with {0}.", `${really}${quoted(i + 1)}`) : ".");
    setLong("predicted", all.length, (k) => [String(k), String(all[k].id), shownText(all[k].text), String(logitAt(i, all[k].id)),
        storedText(all[k].logit), textOf(all[k].prob)]);
    [...byId("predicted").querySelectorAll("tbody tr")].forEach((line) =>
        line.classList.toggle("chosen", Number(line.cells[1].textContent) === really));
}

// ---- the gradient of the scores

// Without a target the loss is a channel of the weighted sum, as of tg-attn-dump --backward without a model.
const lossOf = (layer) => dumps[which].losses?.[dump.layers.indexOf(layer)];

// The target's id and, where the dump has it, its text.
function targetText() {
    const {target, next} = dumps[which], at = dump.ids.indexOf(target), k = next?.ids.indexOf(target) ?? -1;
    const text = at >= 0 ? quoted(at) : k >= 0 && next.texts ? ` ${shownText(next.texts[k])}` : "";
    return `${target}${text}`;
}

const dattOf = (layer, h, i) => storedDatt(layerOf(layer), h, i)
    ?? Float64Array.from({length: D}, (_, d) => Number(d === view.channel));

// dprobs and dscores of the keys that are seen, and the mean that is taken off.
function gradientOf({layer, head: h, i}, row) {
    const data = layerOf(layer), datt = dattOf(layer, h, i);
    const dprobs = new Float64Array(i + 1), dscores = new Float64Array(i + 1);
    return {datt, dprobs, dscores, mean: fillGradient(dscores, data, datt, h, row.first, row.probs, i, dprobs)};
}

function showGradient({row, gradient: {datt, dprobs, dscores, mean}}) {
    const {layer, head: h, i, j} = view, loss = lossOf(layer);
    byId("gradient-text").textContent = loss === undefined
        ? say("The loss is att.data[{0}], channel {1} of the weighted sum.", baseOf(i, h) + view.channel, view.channel)
        : say("The loss is that of predicting token {0} after the text: {1}.", targetText(), textOf(loss)) +
            (datt.every((x) => x === 0) ? say(" This query does not reach it: in the last layer only the last query, {0}, does.", T - 1) : "");
    byId("gradient-result").textContent = say("Σ p·dp = {0}; ", textOf(mean)) + `dscores.data[${offsetOf(h, i, j)}] = ` +
        (cellMasked(view) ? "0" : `p·(dp - Σ) = ${textOf(dscores[j])}`);
    setLong("gradients", i + 1 - row.first, (at) => {
        const m = row.first + at;
        return [String(m), labelAt(m), storedText(row.probs[m]), textOf(dprobs[m]), textOf(row.probs[m] * dprobs[m]),
            String(offsetOf(h, i, m)), textOf(dscores[m])];
    });
}

// ---- tables of many rows

const setLong = (id, n, texts) => setLines(byId(id), n, LONG_HEIGHT, texts);

const LONG = ["sums", "rotated", "projected", "added", "predicted", "gradients"];

function setOut(c) {
    view.out = clamp(Number.isInteger(c) ? c : 0, 0, C - 1);
    refresh();
}

function makeAfter() {
    if (dump.weights)
        byId("norm-title").textContent = "p·|v W|";
    for (const id of LONG)
        byId(id).addEventListener("scroll", refresh);
    byId("out-channel").max = C - 1;
    byId("out-channel").addEventListener("input", (event) => setOut(event.target.valueAsNumber));
    byId("vector").addEventListener("change", refresh);
}
