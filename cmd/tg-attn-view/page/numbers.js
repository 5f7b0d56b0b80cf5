"use strict";

// Numbers: the dump that the page carries, and what attention makes of it, computed in double
// precision in the order of the reference (lib/nn/ref/attention_rows.c, attention_rule.c, softmax.c),
// so that Math.fround() of a result is the number that tg-attn-dump stores.

const dump = JSON.parse(document.getElementById("dump").textContent);
const {T, H, D, B, b} = dump;
const {KV = H, C = H * D} = dump; // only named where they differ: heads of keys, and the model's width

// ---- the dumps: of as many tokens, the same shape and rule, each with a name, a source and measures

const {dumps} = dump;
let which = 0; // the one that is shown; the others' numbers are compared with the first one's

// The tokens of the shown dump: its own, which may have no texts, or else the first one's; without a dump those of a lens.
const firstTokens = {tokens: dump.tokens ?? dump.lens?.tokens ?? null, ids: dump.ids ?? dump.lens?.tokenIds ?? null};
const readTokens = () => {
    const {tokens, ids} = dumps[which].ids ? dumps[which] : firstTokens;
    Object.assign(dump, {tokens, ids});
};

// Another head that the shown one is compared with, {layer, head}; null: the same head of the first dump.
let pinned = null;

// What a map can show.
const shows = (nth = which) => ["probs", "scores", ...(dumps.length > 1 || pinned ? ["diff"] : []), ...(dump.gradient ? ["grad"] : []),
    ...(dump.attribution && nth === 0 ? ["written"] : [])];

// ---- q, k and v, as they lie in memory

const layers = new Map(); // "layer.dump": its arrays and its window, once it was looked at

// The numbers of an element; null: there is none.
function decode(id, Numbers = Float32Array) {
    const element = document.getElementById(id);
    if (!element)
        return null;
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++)
        bytes[n] = text.charCodeAt(n);
    element.remove(); // the text is no longer needed, and is large
    return new Numbers(bytes.buffer);
}

// The arrays of a layer: what the page calls them, and the dump; those that are not float32 are double.
const ARRAYS = {q: "q", k: "k", v: "v", resid: "resid", qProjected: "q.proj", kProjected: "k.proj", qNormed: "q.normed",
    kNormed: "k.normed", w: "w", wTransposed: "wt", bias: "bias", gain: "gain"};
const DOUBLES = {datt: "datt", epsilon: "epsilon", frequency: "frequency"};

function readLayer(name) {
    const read = (names, Numbers) => Object.entries(names).map(([key, id]) => [key, decode(id + name, Numbers)]);
    return Object.fromEntries([...read(ARRAYS, Float32Array), ...read(DOUBLES, Float64Array)]);
}

function layerOf(number, nth = which) {
    const name = `${number}.${nth}`;
    if (!layers.has(name))
        layers.set(name, {...readLayer(name), number, nth, window: windowOf(number)});
    return layers.get(name);
}

// The head of keys that head h of queries reads: groups of H/KV heads share one.
const keyHeadOf = (h) => Math.floor(h / (H / KV));

// Where head h of `heads` starts at token t.
function placeIn(heads, t, h) {
    return (dump.layout === "bhtd" ? (b * heads + h) * T + t : (b * T + t) * heads + h) * D;
}

// Where q of token t, and the k and v that head h reads, start: in the whole array, and in the page's part of
// it, which is sequence b.
const baseOf = (t, h) => placeIn(H, t, h);
const keyBaseOf = (t, h) => placeIn(KV, t, keyHeadOf(h));
const localBase = (t, h) => baseOf(t, h) - b * T * H * D;
const localKeyBase = (t, h) => keyBaseOf(t, h) - b * T * KV * D;

function offsetOf(h, i, j) {
    return ((b * H + h) * T + i) * T + j;
}

// ---- what the window of a layer hides

// How many keys a query of the layer sees, itself included.
const windowOf = (layer) => dump.window?.layers.includes(layer) ? dump.window.keys : Infinity;

const firstIn = (window, i) => Math.max(0, i + 1 - window);
const firstSeen = (layer, i) => firstIn(windowOf(layer), i);
const isMasked = (layer, i, j) => j > i || j < firstSeen(layer, i);

// ---- the rule of scores: a scale in place of 1/sqrt(D), and a cap, where the dump has them

const ROOT = Math.sqrt(D), FACTOR = dump.attnScale ? dump.attnScale * ROOT : 1, CAP = dump.attnCap;

const scaled = (sum) => sum / ROOT * FACTOR;
const capped = (score) => CAP ? CAP * Math.tanh(score / CAP) : score;

// ---- rows

// scores[first..i] of query i, each of a sum over ascending d.
function fillScores(scores, {q, k}, h, first, i) {
    const qi = localBase(i, h);
    for (let j = first; j <= i; j++) {
        const kj = localKeyBase(j, h);
        let sum = 0;
        for (let d = 0; d < D; d++)
            sum += q[qi + d] * k[kj + d];
        scores[j] = capped(scaled(sum));
    }
}

// probs[first..i] = softmax of scores[first..i]; returns the greatest score and the sum of exponentials.
function fillProbs(probs, scores, first, i) {
    let max = scores[first], sum = 0;
    for (let j = first + 1; j <= i; j++)
        max = scores[j] > max ? scores[j] : max;
    for (let j = first; j <= i; j++) {
        probs[j] = Math.exp(scores[j] - max);
        sum += probs[j];
    }
    for (let j = first; j <= i; j++)
        probs[j] /= sum;
    return {max, sum};
}

// Row i of a head, of the layer's data: keys before `first` are masked, and NaN.
function fillRow(scores, probs, data, h, i) {
    const first = firstIn(data.window, i);
    scores.fill(NaN, 0, first);
    probs.fill(NaN, 0, first);
    fillScores(scores, data, h, first, i);
    return {first, ...fillProbs(probs, scores, first, i)};
}

// Row i of a head, unrounded.
function rowOf(layer, h, i, nth = which) {
    const scores = new Float64Array(i + 1), probs = new Float64Array(i + 1);
    return {scores, probs, ...fillRow(scores, probs, layerOf(layer, nth), h, i)};
}

// Where the dump has the gradient of a loss by att: that of query i and head h [D].
const storedDatt = ({datt}, h, i) => datt?.subarray((i * H + h) * D, (i * H + h + 1) * D);

// The gradient of a loss by the scores first..i of query i, from its gradient datt [D] by the weighted sum: of
// each key p (dp - Σ p dp), with dp = datt·v, which is put into dprobs.  Returns the sum.
function fillGradient(dscores, {v}, datt, h, first, probs, i, dprobs = dscores) {
    let mean = 0;
    for (let j = first; j <= i; j++) {
        const vj = localKeyBase(j, h);
        let sum = 0;
        for (let d = 0; d < D; d++)
            sum += datt[d] * v[vj + d];
        dprobs[j] = sum;
        mean += probs[j] * sum;
    }
    for (let j = first; j <= i; j++)
        dscores[j] = probs[j] * (dprobs[j] - mean);
    return mean;
}

// What the keys first..i of query i wrote to the logit that is explained, if it is that of this query and of the first
// dump, whichever is shown; 0 otherwise.
function fillWritten(written, {number, nth}, h, first, i) {
    written.fill(NaN, 0, first);
    written.fill(0, first, i + 1);
    if (nth === 0 && i === dump.attribution.position)
        written.set(writtenOf(number, h).subarray(first, i + 1), first);
}

// Row i of a head of the shown dump, its differences from the first dump's, and its gradient and what it wrote to a
// logit where the page has them: of what is drawn.
function fillShown([scores, probs, diff, grad, written], data, base, h, i) {
    if (base)
        fillRow(scores, diff, base.data, base.h, i);
    const seen = fillRow(scores, probs, data, h, i);
    diff.fill(NaN, 0, seen.first);
    for (let j = seen.first; j <= i; j++)
        diff[j] = base ? Math.fround(probs[j]) - Math.fround(diff[j] || 0) : 0; // NaN: its window hides it
    grad.fill(NaN, 0, seen.first);
    if (dump.gradient)
        fillGradient(grad, data, storedDatt(data, h, i), h, seen.first, probs, i);
    if (dump.attribution)
        fillWritten(written, data, h, seen.first, i);
    return seen;
}

// What a head of a dump is compared with, or null.
const baseOfHead = (layer, h, nth = which) => pinned ? {data: layerOf(pinned.layer, nth), h: pinned.head}
    : nth > 0 ? {data: layerOf(layer, 0), h} : null;
const rowOfBase = (layer, h, i) => pinned ? rowOf(pinned.layer, pinned.head, i) : rowOf(layer, h, i, 0);

// att [D] of query i, unrounded: the sum over ascending keys.
function attOf({v}, h, {probs, first}, i) {
    const att = new Float64Array(D);
    for (let d = 0; d < D; d++) {
        let sum = 0;
        for (let j = first; j <= i; j++)
            sum += probs[j] * v[localKeyBase(j, h) + d];
        att[d] = sum;
    }
    return att;
}

// ---- whole heads

const rowStart = (i) => i * (i + 1) / 2; // of row i in a head's packed rows

// Where a head's own scale of probabilities ends, as tg_scale_top() in lib/view/scale.c.
function topOf(maxima) {
    const n = maxima.length, top = n > 0 ? maxima.slice().sort()[n - 1 - Math.floor(n / 10)] : 1;
    return top > 0.9 ? 1 : top;
}

// A head's rows, computed a few at a time: work(deadline) goes on until then; true when all are there.  What
// becomes of a row, keep(i) says: `row` has what SHOWN names, NaN where masked.
const SHOWN = ["scores", "probs", "diff", "grad", "written"];

class Rows {
    constructor(layer, h) {
        this.layer = layer;
        this.h = h;
        this.row = SHOWN.map(() => new Float64Array(T));
        this.begin();
    }

    begin() {
        this.rows = 0;
        this.maxima = new Float32Array(T); // of the rows' probabilities
        this.most = {scores: 0, diff: 0, grad: 0}; // the greatest of each, without its sign
        this.top = 1;
    }

    work(deadline) {
        const before = this.rows;
        while (this.rows < T && performance.now() < deadline)
            this.addRow(this.rows++);
        if (this.rows > before)
            this.top = topOf(this.maxima.subarray(0, this.rows));
        return this.rows === T;
    }

    // Make row i; returns the first key that it sees.
    fill(i) {
        const {which: nth = which} = this; // a thumbnail is always of the shown dump
        return fillShown(this.row, layerOf(this.layer, nth), baseOfHead(this.layer, this.h, nth), this.h, i).first;
    }

    addRow(i) {
        const first = this.fill(i), [scores, probs, diff, grad] = this.row, {most} = this;
        this.keep(i);
        for (let j = first; j <= i; j++) {
            most.scores = Math.max(most.scores, Math.abs(scores[j]));
            most.diff = Math.max(most.diff, Math.abs(diff[j]));
            most.grad = Math.max(most.grad, Math.abs(grad[j]));
            this.maxima[i] = Math.max(this.maxima[i], probs[j]);
        }
    }
}

// All of them, one after the other, rounded as they are in a dump.
class Head extends Rows {
    constructor(layer, h, nth = which) {
        super(layer, h);
        this.which = nth;
        for (const name of shows(nth))
            this[name] = new Float32Array(rowStart(T));
    }

    keep(i) {
        SHOWN.forEach((name, n) => this[name]?.set(this.row[n].subarray(0, i + 1), rowStart(i)));
    }
}

// Of several heads [{layer, h}] in each cell the mean, or the greatest; of differences and gradients the one furthest
// from 0.  A cell that is masked in all of them is masked.
class Group extends Head {
    constructor(heads, way) {
        super(heads[0].layer, heads[0].h);
        Object.assign(this, {heads, way, one: SHOWN.map(() => new Float64Array(T)), seen: new Uint32Array(T),
            name: groupName(heads, way)});
    }

    add(kind, i) {
        const sum = this.row[kind], one = this.one[kind], signed = isSigned(SHOWN[kind]);
        for (let j = 0; j <= i; j++) {
            if (Number.isNaN(one[j]))
                continue;
            this.seen[j] += kind === 0 ? 1 : 0;
            if (Number.isNaN(sum[j]))
                sum[j] = this.way === "mean" ? 0 : one[j];
            if (this.way === "mean")
                sum[j] += one[j];
            else if (signed ? Math.abs(one[j]) > Math.abs(sum[j]) : one[j] > sum[j])
                sum[j] = one[j];
        }
    }

    // A head that hides a key gives it no probability, but has no score for it.
    divide(i) {
        SHOWN.forEach((name, kind) => {
            for (let j = 0; j <= i; j++)
                this.row[kind][j] /= name === "scores" ? this.seen[j] : this.heads.length;
        });
    }

    fill(i) {
        let least = i;
        this.row.forEach((row) => row.fill(NaN, 0, i + 1));
        this.seen.fill(0);
        for (const {layer, h} of this.heads) {
            const {first} = fillShown(this.one, layerOf(layer), baseOfHead(layer, h), h, i);
            least = Math.min(least, first);
            SHOWN.forEach((_, kind) => this.add(kind, i));
        }
        if (this.way === "mean")
            this.divide(i);
        return least;
    }
}

const groupName = (heads, way) => [which, way, ...heads.map(({layer, h}) => `${layer}.${h}`)].join();

let group = null; // the last one that was shown

function groupOf(heads, way) {
    if (group?.name !== groupName(heads, way))
        group = new Group(heads, way);
    return group;
}

const kept = []; // heads, the last used at the end
const KEPT_BYTES = 192e6;

function headOf(layer, h, nth = which) {
    const at = kept.findIndex((head) => head.which === nth && head.layer === layer && head.h === h);
    const head = at < 0 ? new Head(layer, h, nth) : kept.splice(at, 1)[0];
    kept.push(head);
    while (kept.length > 2 && kept.length * rowStart(T) * 4 * shows().length > KEPT_BYTES)
        kept.shift();
    return head;
}

// ---- fewer cells: each holds the greatest of the cells that it stands for, or NaN: all masked

// Take in the n numbers of row i, for keys j0 on, of a square of `size` tokens from (i0, j0), made
// `side` cells wide.  NaN takes the place of no number.  Of differences the greatest is that furthest from 0.
function reduceRow(cells, side, size, i, row, at, n, signed = false) {
    const line = Math.floor(i * side / size) * side;
    for (let j = 0; j < n; j++) {
        const c = line + Math.floor(j * side / size);
        if ((signed ? Math.abs(row[at + j]) > Math.abs(cells[c]) : row[at + j] > cells[c]) || Number.isNaN(cells[c]))
            cells[c] = row[at + j];
    }
}

// ---- numbers as text

// Without zeros at the end, of a text without an exponent.
const trimmed = (text) => text.includes(".") ? text.replace(/\.?0*$/, "") : text;

// "d.ddde+x" with so many digits.  Of two texts that are equally near, the even one, as C takes it.
function rounded(x, digits) {
    const near = x.toExponential(digits - 1), exact = x.toExponential(40);
    const cut = exact.slice(0, near.indexOf("e")), rest = exact.slice(cut.length);
    return /[02468]$/.test(cut) && /^\.?50*e/.test(rest) ? cut + rest.slice(rest.indexOf("e")) : near;
}

// A number as C's "%.*g" writes it.
function textOf(x, digits = 9) {
    if (!Number.isFinite(x))
        return String(x).replace("Infinity", "inf");
    const [mantissa, exponent] = rounded(x, digits).split("e"), power = Number(exponent);
    const sign = x < 0 ? "-" : "", figures = mantissa.replace(/[-.]/g, "");
    if (power < -4 || power >= digits)
        return trimmed(mantissa) + "e" + exponent[0] + exponent.slice(1).padStart(2, "0");
    if (power < 0)
        return trimmed(`${sign}0.${"0".repeat(-power - 1)}${figures}`);
    return trimmed(`${sign}${figures.slice(0, power + 1)}.${figures.slice(power + 1)}`);
}

// A float32 number, as what tells it apart from all others: six to nine digits.  The one text of a number
// that is stored, wherever the page shows it.
function storedText(x) {
    const stored = Math.fround(x);
    let digits = 6;
    while (digits < 9 && Math.fround(Number(textOf(stored, digits))) !== stored)
        digits++;
    return textOf(stored, digits);
}

// A masked score: as the dump's setting has it, and as tg-attn-dump prints it.
const MASKED = {"-1e9": "-1e9", "-inf": "-inf", "min": "-3.40282347e+38"}[dump.mask];
const PRINTED_MASK = dump.mask === "-1e9" ? "-1e+09" : MASKED;
