// From q and k to the weighted sum: a strip of cards, the keys of a query, and the sum's terms.

// ---- strips: numbers as colours around the paper's, which is 0

const greatest = (numbers) => numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

// A pixel for each number, from -most to most; the page stretches them.
function paintStrip(canvas, numbers, most) {
    const image = new ImageData(Math.max(numbers.length, 1), 1), out = new Uint32Array(image.data.buffer);
    const {pixels} = paletteOf("scores"), scale = {kind: "linear", low: -most, high: most};
    numbers.forEach((x, d) => { out[d] = pixels[stepOf(placeOf(scale, x))]; });
    canvas.width = image.width;
    canvas.height = 1;
    canvas.getContext("2d").putImageData(image, 0, 0);
}

// ---- tables of many rows, of which only those in sight exist: hundreds would make each movement slow

// Show those of n rows, each so many pixels high (more where letters are large), that are in sight in a box that
// scrolls; texts(at) are a row's.
// Returns the first.
function setLines(box, n, pixels, texts) {
    const height = pixels * largeness(), body = box.querySelector("tbody"), most = Math.ceil(box.clientHeight / height) + 1;
    const first = clamp(Math.floor(box.scrollTop / height), 0, Math.max(n - most, 0)), end = Math.min(first + most, n);
    body.style.height = `${n * height}px`;
    body.style.paddingTop = `${first * height}px`;
    box.querySelector("table").setAttribute("aria-rowcount", n + 1);
    setRows(box.querySelector("table"), Array.from({length: end - first}, (_, at) => texts(first + at)));
    [...body.rows].forEach((row, at) => row.setAttribute("aria-rowindex", first + at + 2));
    return first;
}

// ---- the row as a list: keys by probability

const KEY_HEIGHT = 20; // pixels of a row, as in page.css

const norms = new Map(); // of "dump layer head": of each token |v W|, W being the head's rows of the projection, or |v|

// Computed for the keys that are asked for.
function normOf(layer, h, j) {
    const name = `${which} ${layer} ${h}`;
    if (!norms.has(name))
        norms.set(name, []);
    const v = vOf(layer, j, h);
    return norms.get(name)[j] ??= Math.hypot(...(dump.weights ? sumsOf(layerOf(layer), v, h * D) : v));
}

let keysOrder = {name: "", keys: []}; // of the row that was shown last

// The keys that a query sees, the most probable first.
function orderOf({layer, head: h, i}, {probs, first}) {
    const name = `${which} ${layer} ${h} ${i}`;
    if (keysOrder.name !== name)
        keysOrder = {name, keys: Array.from({length: i + 1 - first}, (_, n) => first + n)
            .sort((a, b) => probs[b] - probs[a] || a - b)};
    return keysOrder.keys;
}

const vOf = (layer, j, h) => {
    const {v} = layerOf(layer), at = localKeyBase(j, h);
    return v.subarray(at, at + D);
};

// The picture of a row: a bar for p, a strip for v.
function drawKeyRow(line, {layer, head: h}, j, prob, most) {
    const [, , , p, v] = line.cells;
    p.style.backgroundSize = `${100 * prob}% 70%`;
    line.dataset.j = j;
    line.classList.toggle("chosen", j === view.j);
    if (!dump.values)
        return;
    paintStrip(v.querySelector("canvas") || v.appendChild(element("canvas", "", {class: "strip"})),
        vOf(layer, j, h), most);
}

function showKeys(row) {
    const {layer, head: h, i} = view, keys = orderOf(view, row), box = byId("keys");
    byId("row-title").textContent = say(keys.length === 1 ? "Query {0}: {1} key" : "Query {0}: {1} keys, the most probable first",
        `${i}${quoted(i)}`, keys.length);
    const first = setLines(box, keys.length, KEY_HEIGHT, (at) => {
        const j = keys[at];
        return [String(j), labelAt(j), storedText(row.scores[j]), storedText(row.probs[j]), null,
            dump.values ? textOf(row.probs[j] * normOf(layer, h, j), 4) : "",
            ...(dump.attribution ? [hasWritten(i) ? textOf(writtenOf(layer, h)[j], 6) : "—"] : [])];
    });
    const lines = [...box.querySelector("tbody").rows], shown = keys.slice(first, first + lines.length);
    const most = dump.values ? Math.max(...shown.map((j) => greatest(vOf(layer, j, h)))) : 0;
    lines.forEach((line, at) => drawKeyRow(line, view, shown[at], row.probs[shown[at]], most));
}

function onKeys(event) {
    const line = event.target.closest("tbody tr");
    if (line)
        point(event, {i: view.i, j: Number(line.dataset.j)});
}

// ---- the weighted sum: each key's part of a channel

function showSum(row, att) {
    const {layer, head: h, i, channel: d} = view, {v} = layerOf(layer), {probs, first} = row, sums = [];
    const valueOf = (j) => v[localKeyBase(j, h) + d];
    for (let j = first, sum = 0; j <= i; j++)
        sums[j] = sum += probs[j] * valueOf(j);
    byId("channel").value = d;
    byId("sum-result").textContent = `att.data[${baseOf(i, h)} + ${d}] = att.data[${baseOf(i, h) + d}] = ` +
        storedText(att[d]);
    setLong("sums", i + 1 - first, (at) => {
        const j = first + at, x = valueOf(j);
        return [String(j), storedText(probs[j]), String(keyBaseOf(j, h) + d), storedText(x), textOf(probs[j] * x), textOf(sums[j])];
    });
}

// ---- the cards

const range = (name, base, n = D) => `${name}.data[${base}..${base + n - 1}]`;
const scaleText = dump.attnScale ? `· ${textOf(dump.attnScale)}` : `/ √${D}`;

const hasGradient = dump.values && (dump.gradient || !dump.ids);

// What a card shows: strips of numbers, in one scale of colours unless they are `apart`, and lines of text; and
// what its step says.  A masked cell has no numbers of its own from q·k on.
const cards = [{
    name: "rotate", panel: "way", apart: true, needs: dump.steps,
    strips: () => {
        const {projected, normed, made} = wayOf(view, "q");
        return [normed ?? projected, made];
    },
    lines: ({h, i, layer}) => [range(layerOf(layer).qNormed ? "q.normed" : "q.proj", baseOf(i, h)),
        pairsOf(layerOf(layer)) > 0 ? say("by {0} · frequency", i) : say("not rotated")],
    sentence: ({layer}) => pairsOf(layerOf(layer)) > 0
        ? say("q and k are turned, pair by pair of channels, by angles that grow with the position: q·k then depends on " +
            "how far apart the two are.")
        : say("This layer does not rotate q and k: its scores do not depend on positions.")
}, {
    name: "q, k", panel: "trace", apart: true,
    strips: ({q, k}) => [q, k],
    lines: ({h, i, j}) => [range("q", baseOf(i, h)), range("k", keyBaseOf(j, h))],
    sentence: ({i, j}) => say("Query {0} has a vector q, and key {1} a vector k, of {2} numbers each in this head.",
        `${i}${quoted(i)}`, `${j}${quoted(j)}`, D)
}, {
    name: "q·k", panel: "trace",
    strips: ({products}) => [products],
    lines: ({masked, sum}) => masked ? [say("not computed")] : [say("Σ of {0} products", D), `= ${textOf(sum)}`],
    sentence: () => say("Their products are added: the sum is large when q and k have large numbers of the " +
        "same sign in the same places.")
}, {
    name: CAP ? "scale, cap" : "scale", panel: "trace",
    strips: () => [],
    lines: ({masked, h, i, j, sum, score}) => masked ? ["—"] : [
        ...(CAP ? [`${textOf(scaled(sum))}, ${say("capped at {0}", textOf(CAP))}`] : [`${textOf(sum)} ${scaleText}`]),
        `= ${score}`, `scores.data[${offsetOf(h, i, j)}]`],
    sentence: () => say((dump.attnScale ? "The model’s own factor takes the place of 1/√D"
        : "Divided by √D = √{0}, so that scores of many channels are not larger than those of few") +
        (CAP ? ", and a cap keeps the result between -cap and cap." : "."), D)
}, {
    name: "mask", panel: "cell",
    strips: () => [],
    lines: ({masked, layer, i, j}) => [maskRows({layer, i, j})[0][2], say(masked ? "masked" : "seen")],
    sentence: ({layer}) => say("A query looks at itself and at keys before it, not at those after it" +
        (windowOf(layer) < Infinity ? "; a window of {0} hides the others in this layer." : "."), windowOf(layer))
}, {
    name: "softmax", panel: "row",
    strips: ({row}) => [row.probs.subarray(row.first)],
    lines: ({masked, e, row, prob, h, i, j}) => [...(masked ? ["0"] : [`${textOf(e)} / ${textOf(row.sum)}`,
        `= ${prob}`]), `probs.data[${offsetOf(h, i, j)}]`],
    sentence: ({i}) => say("The scores of query {0} become shares of 1: each exp(score - max), divided by the sum " +
        "of these exponentials.", i)
}, {
    name: "Σ p·v", panel: "sum", needs: dump.values,
    strips: ({weighted, att}) => [weighted, att],
    lines: ({h, i, j}) => [say("key {0}, then all", j), range("att", baseOf(i, h))],
    sentence: ({i}) => say("Each key’s v is multiplied by its share, and all are added: what this head gives to " +
        "query {0}, before the output projection.", i)
}, {
    name: "projection", panel: "out", needs: dump.weights,
    strips: ({layer, h, i}) => [ofHead(layer, h, i), wholeOf(layer, i).out],
    lines: ({h, i}) => [say("head {0}, then all", h), range("out", channelAt(i, 0), C)],
    sentence: ({h}) => say("The sums of all heads, one after another, are multiplied with one matrix: out. Head {0} has {1} " +
        "rows of it.", h, D)
}, {
    name: "residual", panel: "stream", needs: dump.weights && dump.residual,
    strips: ({layer, i}) => {
        const x = streamOf(layer, i), {added} = wholeOf(layer, i);
        return [x, added, added.map((y, c) => x[c] + y)];
    },
    lines: ({i}) => [range("resid", channelAt(i, 0), C)],
    sentence: () => say("What attention made (the second strip) is added to the residual stream (the first), which each part " +
        "of the model reads, and adds to.")
}, {
    name: "logits", panel: "next", needs: dump.ids && dumps.every(({next}) => next),
    strips: ({i}) => [nextOf(i).map(({prob}) => prob)],
    lines: ({i}) => {
        const [{id, text, logit, prob}] = nextOf(i);
        return [`${textOf(prob, 4)} ${shownText(text) || id}`, `logits.data[${logitAt(i, id)}]`, `= ${storedText(logit)}`];
    },
    sentence: ({i}) => say("After the last layer, each token of the vocabulary has a logit: softmax makes them the " +
        "probabilities of what follows query {0}.", i)
}, {
    name: "gradient", panel: "gradient", needs: hasGradient,
    strips: ({row, gradient}) => [gradient.dscores.subarray(row.first)],
    lines: ({masked, gradient, h, i, j}) => [masked ? "0" : `= ${textOf(gradient.dscores[j])}`,
        `dscores.data[${offsetOf(h, i, j)}]`],
    sentence: ({layer}) => lossOf(layer) === undefined
        ? say("How channel {0} of the weighted sum changes with each score: p·(dp - Σ p·dp), with dp its change with p.",
            view.channel)
        : say("How the loss of predicting token {0} changes with each score: p·(dp - Σ p·dp), with dp its change with p.",
            targetText())
}].filter((card) => !("needs" in card) || card.needs);

// The numbers of the chosen cell.
function partsOf(row) {
    const {layer, head: h, i, j} = view, masked = cellMasked(view), data = layerOf(layer);
    const q = data.q.subarray(localBase(i, h), localBase(i, h) + D);
    const k = data.k.subarray(localKeyBase(j, h), localKeyBase(j, h) + D);
    const products = masked ? [] : Array.from(q, (x, d) => x * k[d]);
    return {
        layer, h, i, j, masked, row, q, k, products, sum: products.reduce((sum, x) => sum + x, 0),
        score: cellScore(row, view), prob: cellProb(row, view),
        e: masked ? 0 : Math.exp(row.scores[j] - row.max),
        gradient: hasGradient ? gradientOf(view, row) : null,
        att: dump.values ? attOf(data, h, row, i) : [],
        weighted: dump.values ? Array.from(vOf(layer, j, h), (x) => (masked ? 0 : row.probs[j]) * x) : []
    };
}

// The last cell, with numbers as long as most: what a card has room for from the start, so that it stays as it is
// when numbers change.
const usualParts = () => ({layer: view.layer, h: H - 1, i: T - 1, j: T - 1, masked: false, sum: -12.3456789, score: "-12.3456789",
    e: 1.23456789e-05, row: {sum: T + 0.123456789}, prob: "1.23456789e-05", gradient: {dscores: {[T - 1]: -1.23456789e-05}}});

const cardTitle = (card) => `${cards.indexOf(card) + 1}  ${say(card.name)}`;
const pen = document.createElement("canvas").getContext("2d"); // which measures texts

const CARD_SIDES = 14; // pixels of a card on both sides of its texts, as in page.css

// Make a card wide enough for these lines, but for a token at the end of one, which may be cut.
function widen(card, lines) {
    pen.font = card.font;
    const width = Math.ceil(Math.max(...lines.slice(card.panel === "next" ? 1 : 0).map((line) => pen.measureText(line).width), 0));
    if (width > card.width && card.font)
        card.button.style.minWidth = `${(card.width = width) + CARD_SIDES}px`;
}

// Anew, for another language or size of letters.
function sizeCards() {
    const fontIn = (part) => (({fontWeight, fontSize, fontFamily}) => `${fontWeight} ${fontSize} ${fontFamily}`)(window.getComputedStyle(part));
    for (const card of cards) {
        const [title, lines] = card.button.querySelectorAll("strong, .lines");
        card.width = 0;
        card.font = fontIn(title);
        widen(card, ["", cardTitle(card)]);
        card.font = lines.offsetParent ? fontIn(lines) : ""; // a projector's letters leave no room for them
        widen(card, card.lines(usualParts()));
    }
}

// A card's nth strip.
const stripOf = ({button}, n) => button.querySelectorAll("canvas")[n]
    ?? button.insertBefore(element("canvas", "", {class: "strip"}), button.lastChild);

function showCard(card, parts) {
    const strips = card.strips(parts), most = Math.max(...strips.map(greatest), 0);
    strips.forEach((numbers, n) => paintStrip(stripOf(card, n), numbers, card.apart ? greatest(numbers) : most));
    card.button.firstChild.textContent = cardTitle(card);
    const texts = card.lines(parts), text = texts.join("\n"), lines = card.button.lastChild;
    if (lines.textContent !== text) {
        lines.textContent = text;
        widen(card, texts);
    }
    card.button.setAttribute("aria-pressed", String(cards[view.card] === card));
}

function showCards(parts) {
    cards.forEach((card) => showCard(card, parts));
    byId("sentence").textContent = cards[view.card].sentence(parts);
}

// ---- which part the panel shows

const PANELS = ["cell", "way", "trace", "row", "sum", "out", "stream", "next", "gradient", "lens", "logit", "patch", "ablation", "edit", "quiz"];
// Grids, which need room, and what they are of.
const WIDE = {lens: dump.lens, logit: dump.attribution, patch: dump.patches, ablation: dump.ablations};
const panels = PANELS.filter((panel) => panel in WIDE ? WIDE[panel] : !isBare && (["cell", "quiz"].includes(panel) ||
    (panel === "edit" ? isSmall : cards.some((card) => card.panel === panel))));

function setPanel(panel) {
    view.panel = panel;
    for (const name of PANELS) {
        byId(`of-${name}`).hidden = name !== panel;
        byId(`tab-${name}`).setAttribute("aria-pressed", String(name === panel));
    }
    refresh();
}

function goToCard(n) {
    view.card = clamp(n, 0, cards.length - 1);
    cards[view.card].button.scrollIntoView({block: "nearest", inline: "nearest"});
    setPanel(cards[view.card].panel);
}

function setChannel(d) {
    view.channel = clamp(Number.isInteger(d) ? d : 0, 0, D - 1);
    refresh();
}

function makeTabs() {
    for (const panel of PANELS) {
        byId(`tab-${panel}`).hidden = !panels.includes(panel);
        byId(`tab-${panel}`).addEventListener("click", () => setPanel(panel));
    }
}

function makeCards() {
    cards.forEach((card, n) => {
        card.button = element("button", "", {type: "button", class: "card", "aria-pressed": "false"});
        card.button.append(element("strong", ""), element("span", "", {class: "lines"}));
        card.button.addEventListener("click", () => goToCard(n));
        byId("card-list").append(card.button);
    });
    byId("step").addEventListener("click", () => goToCard((view.card + 1) % cards.length));
    makeTabs();
    byId("channel").max = D - 1;
    byId("channel").addEventListener("input", (event) => setChannel(event.target.valueAsNumber));
    byId("keys").addEventListener("scroll", refresh);
    byId("keys").addEventListener("pointermove", onKeys);
    byId("keys").addEventListener("click", onKeys);
    byId("keys").addEventListener("pointerleave", (event) => point(event, null));
}
