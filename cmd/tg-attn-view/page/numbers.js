"use strict";

// Numbers: the dump that the page carries, and what attention makes of it, computed in double
// precision in the order of the reference (lib/nn/ref/attention_rows.c, softmax.c), so that
// Math.fround() of a result is the number that tg-attn-dump stores.

const dump = JSON.parse(document.getElementById("dump").textContent);
const {T, H, D, B, b} = dump;
const C = H * D;

// ---- q and k, as they lie in memory

const layers = new Map(); // number of a layer: {q, k}, once it was looked at

function decode(id) {
    const element = document.getElementById(id);
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++)
        bytes[n] = text.charCodeAt(n);
    element.remove(); // the text is no longer needed, and is large
    return new Float32Array(bytes.buffer);
}

function layerOf(number) {
    if (!layers.has(number))
        layers.set(number, {q: decode(`q${number}`), k: decode(`k${number}`)});
    return layers.get(number);
}

// Where head h of token t starts in q and k: in the whole array, and in the page's part of it,
// which is sequence b.
function baseOf(t, h) {
    return (dump.layout === "bhtd" ? (b * H + h) * T + t : (b * T + t) * H + h) * D;
}

function localBase(t, h) {
    return baseOf(t, h) - b * T * C;
}

function offsetOf(h, i, j) {
    return ((b * H + h) * T + i) * T + j;
}

// ---- rows

// scores[0..i] of query i: the sum over ascending d, divided by the root of D.
function fillScores(scores, {q, k}, h, i) {
    const root = Math.sqrt(D);
    const qi = localBase(i, h);
    for (let j = 0; j <= i; j++) {
        const kj = localBase(j, h);
        let sum = 0;
        for (let d = 0; d < D; d++)
            sum += q[qi + d] * k[kj + d];
        scores[j] = sum / root;
    }
}

// probs[0..n-1] = softmax of scores[0..n-1]; returns the greatest score and the sum of exponentials.
function fillProbs(probs, scores, n) {
    let max = scores[0], sum = 0;
    for (let j = 1; j < n; j++)
        max = scores[j] > max ? scores[j] : max;
    for (let j = 0; j < n; j++) {
        probs[j] = Math.exp(scores[j] - max);
        sum += probs[j];
    }
    for (let j = 0; j < n; j++)
        probs[j] /= sum;
    return {max, sum};
}

// Row i of a head, unrounded.
function rowOf(layer, h, i) {
    const scores = new Float64Array(i + 1), probs = new Float64Array(i + 1);
    fillScores(scores, layerOf(layer), h, i);
    return {scores, probs, ...fillProbs(probs, scores, i + 1)};
}

// ---- whole heads

const rowStart = (i) => i * (i + 1) / 2; // of row i in a head's packed rows

// A head's rows, computed a few at a time: work(deadline) goes on until then; true when all are
// there.  Rounded, as they are in a dump.
class Head {
    constructor(layer, h) {
        this.layer = layer;
        this.h = h;
        this.rows = 0;
        this.scores = new Float32Array(rowStart(T));
        this.probs = new Float32Array(rowStart(T));
        this.low = Infinity;
        this.high = -Infinity;
        this.row = [new Float64Array(T), new Float64Array(T)];
    }

    work(deadline) {
        const data = layerOf(this.layer);
        while (this.rows < T && performance.now() < deadline)
            this.addRow(data, this.rows++);
        return this.rows === T;
    }

    addRow(data, i) {
        const [scores, probs] = this.row, at = rowStart(i);
        fillScores(scores, data, this.h, i);
        fillProbs(probs, scores, i + 1);
        for (let j = 0; j <= i; j++) {
            this.scores[at + j] = scores[j];
            this.probs[at + j] = probs[j];
            this.low = Math.min(this.low, scores[j]);
            this.high = Math.max(this.high, scores[j]);
        }
    }
}

const kept = []; // heads, the last used at the end
const KEPT_BYTES = 192e6;

function headOf(layer, h) {
    const at = kept.findIndex((head) => head.layer === layer && head.h === h);
    const head = at < 0 ? new Head(layer, h) : kept.splice(at, 1)[0];
    kept.push(head);
    while (kept.length > 2 && kept.length * rowStart(T) * 8 > KEPT_BYTES)
        kept.shift();
    return head;
}

// ---- fewer cells: each holds the greatest of the cells that it stands for, or NaN: all masked

// Take in the n numbers of row i, for keys j0 on, of a square of `size` tokens from (i0, j0), made
// `side` cells wide.
function reduceRow(cells, side, size, i, row, at, n) {
    const line = Math.floor(i * side / size) * side;
    for (let j = 0; j < n; j++) {
        const c = line + Math.floor(j * side / size);
        if (!(cells[c] >= row[at + j]))
            cells[c] = row[at + j];
    }
}

// ---- scales and colours

const DECADES = 4; // of the logarithmic scale, as TG_SCALE_DECADES

function placeOf(scale, x) {
    const clamp = (y) => Math.min(Math.max(y, 0), 1);
    if (scale.kind === "sqrt" || scale.kind === "auto")
        return Math.sqrt(clamp(x / scale.high));
    if (scale.kind === "log")
        return x > 0 ? clamp(1 + Math.log10(x / scale.high) / DECADES) : 0;
    return scale.high > scale.low ? clamp((x - scale.low) / (scale.high - scale.low)) : 0.5;
}

function numberAt(scale, place) {
    if (scale.kind === "sqrt" || scale.kind === "auto")
        return place * place * scale.high;
    if (scale.kind === "log")
        return scale.high * 10 ** ((place - 1) * DECADES);
    return scale.low + place * (scale.high - scale.low);
}

const STEPS = dump.light.probs.length / 6;
const colors = Array.from({length: STEPS}, (_, n) => "#" + dump.light.probs.slice(6 * n, 6 * n + 6));
const pixels = Uint32Array.from(colors, (color) => { // as ImageData holds them: red in the lowest byte
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    return (0xff << 24 | blue << 16 | green << 8 | red) >>> 0;
});
const stepOf = (place) => Math.floor(place * (STEPS - 1) + 0.5);

// Black or white, whichever can be read on a step's colour.
const inks = Array.from(pixels, (p) =>
    (p & 255) * 54 + (p >> 8 & 255) * 183 + (p >> 16 & 255) * 19 > 128 * 256 ? "#000" : "#fff");

// ---- numbers as text

// Nine significant digits, which tell any two float32 numbers apart; "-" as a true minus.
function textOf(x, digits = 9) {
    if (!Number.isFinite(x))
        return String(x).replace("-", "\u2212").replace("Infinity", "inf");
    let text = Math.abs(x) >= 1e-4 && Math.abs(x) < 1e9 || x === 0
        ? x.toPrecision(digits) : x.toExponential(digits - 1);
    if (text.includes("."))
        text = text.replace(/\.?0+(e|$)/, "$1");
    return text.replaceAll("-", "\u2212");
}

const MASKED = {"-1e9": "\u22121e9", "-inf": "\u2212inf", "min": "\u22123.40282347e+38"}[dump.mask];
