// For those who learn: numbers to change, and a quiz.

// ---- q, k and v of a small dump, as numbers to change; all that follows from them changes with them

const EDITABLE = 64; // numbers of a head's q, at most
const isSmall = T * D <= EDITABLE && !dump.ids; // of a model, what follows the head would stay the dump's
const VECTORS = dump.values ? ["q", "k", "v"] : ["q", "k"];

// The numbers of layers that were changed, as they were: by "layer.dump".
const asDumped = new Map();

const isEdited = () => asDumped.size > 0;

const placeOfVector = (name, t) => (name === "q" ? localBase : localKeyBase)(t, view.head);

// What was computed from the numbers before is computed again.
function forgetRows() {
    kept.length = 0;
    group = null;
    question = null; // another: its row was that of the numbers before
    norms.clear();
    keysOrder.name = whole.name = baseKey = drawn = "";
    thumbs.forEach((thumb) => thumb.begin());
    later(workOnThumbs);
    byId("heads").classList.toggle("edited", isEdited());
    for (const what of ["row", "command", "link"])
        byId(`copy-${what}`).disabled = isEdited(); // which would be those of the dump
    refresh();
}

function edit(name, t, d, number) {
    const data = layerOf(view.layer), key = `${view.layer}.${which}`;
    if (!Number.isFinite(number))
        return;
    if (!asDumped.has(key))
        asDumped.set(key, VECTORS.map((vector) => data[vector].slice()));
    data[name][placeOfVector(name, t) + d] = number;
    forgetRows();
}

function undoEdits() {
    for (const [key, arrays] of asDumped)
        VECTORS.forEach((name, n) => layers.get(key)[name].set(arrays[n]));
    asDumped.clear();
    forgetRows();
}

// What k and v make of the chosen query, as a column of numbers that cannot be changed.
const MADE = {k: {name: "score", numbers: "scores"}, v: {name: "probability", numbers: "probs"}};

function makeVector(name) {
    const table = element("table", "", {class: "vector"}), head = table.createTHead().insertRow(), made = MADE[name];
    head.append(element("th", name), ...Array.from({length: D}, (_, d) => element("th", String(d), {scope: "col"})));
    if (made)
        head.append(element("th", made.name, {scope: "col"}));
    const body = table.createTBody();
    for (let t = 0; t < T; t++) {
        const row = body.insertRow();
        row.append(element("th", axisLabel(t), {scope: "row"}));
        for (let d = 0; d < D; d++) {
            const input = row.insertCell().appendChild(element("input", "", {type: "number", step: "any"}));
            input.addEventListener("input", () => edit(name, t, d, input.valueAsNumber));
        }
        if (made)
            row.append(element("td", ""));
    }
    if (name === "v")
        table.createTFoot().insertRow().append(element("th", "att", {scope: "row"}), ...Array.from({length: D}, () => element("td", "")));
    return table;
}

// The scores and probabilities of the chosen query, and its weighted sum below v.
function showMade() {
    const row = rowOf(view.layer, view.head, view.i), tables = [...byId("vectors").children];
    byId("edited").textContent = say("Scores, probabilities and att are those of query {0}.", `${view.i}${quoted(view.i)}`);
    VECTORS.forEach((name, n) => [...tables[n].tBodies[0].rows].forEach((line, t) => {
        line.classList.toggle("chosen", t === (name === "q" ? view.i : view.j));
        if (MADE[name])
            line.lastChild.textContent = isMasked(view.layer, view.i, t) ? say("masked") : storedText(row[MADE[name].numbers][t]);
    }));
    if (dump.values)
        attOf(layerOf(view.layer), view.head, row, view.i).forEach((x, d) => { tables[2].tFoot.rows[0].cells[d + 1].textContent = storedText(x); });
}

function showVectors() {
    const data = layerOf(view.layer);
    VECTORS.forEach((name, n) => {
        const inputs = byId("vectors").children[n].querySelectorAll("input");
        inputs.forEach((input, at) => {
            const t = Math.floor(at / D), d = at % D, number = storedText(data[name][placeOfVector(name, t) + d]);
            input.setAttribute("aria-label", `${name}[${t},${d}]`);
            if (input !== document.activeElement && input.value !== number)
                input.value = number;
        });
    });
    showMade();
    byId("undo").disabled = !isEdited();
}

// ---- the quiz: a number of a cell is asked for, while the page hides it

// D numbers from there; the scores that a query sees, as one writes them by hand.
const listed = (numbers, at) => Array.from(numbers.subarray(at, at + D), (x) => storedText(x)).join(", ");
const rounded4 = ({scores, first}) => Array.from(scores.subarray(first), (x) => textOf(x, 4));

// Each kind's question, its answer, and how it is found.
const QUESTIONS = [{
    ask: ({i, j, h, layer}) => say("Where in scores.data is score [{0},{1},{2},{3}] of layer {4}?", b, h, i, j, layer),
    answer: ({i, j, h}) => offsetOf(h, i, j),
    how: ({i, j, h}) => `((b·H + h)·T + i)·T + j = ((${b}·${H} + ${h})·${T} + ${i})·${T} + ${j}`
}, {
    ask: ({i, h}) => say("Where in q.data does the vector of query {0} begin, in head {1}?", i, h),
    answer: ({i, h}) => baseOf(i, h),
    how: ({i, h}) => `${baseText("b", "H", "h", "T", "i", "D")} ${baseText(b, H, h, T, i, D)}`
}, {
    byHand: true,
    ask: ({i, j, h, layer}) => say("Query {0} has q = ({1}), and key {2} has k = ({3}). What is the score?", i,
        listed(layerOf(layer).q, localBase(i, h)), j, listed(layerOf(layer).k, localKeyBase(j, h))),
    answer: ({row, j}) => row.scores[j],
    how: ({i, j, h, layer}) => {
        const {q, k} = layerOf(layer), at = localBase(i, h), to = localKeyBase(j, h);
        const sum = Array.from({length: D}, (_, d) => `${storedText(q[at + d])}·${storedText(k[to + d])}`);
        return `(${sum.join(" + ")}) ${scaleText}${CAP ? say(", capped at {0}", textOf(CAP)) : ""}`;
    }
}, {
    byHand: true,
    ask: ({row, i, j}) => say("Query {0} has the scores {1}. What is the probability of key {2}?", i,
        rounded4(row).join(", "), j),
    answer: ({row, j}) => row.probs[j],
    how: ({row, j}) => `exp(${rounded4(row)[j - row.first]}) / (${rounded4(row).map((x) => `exp(${x})`).join(" + ")})`
}];

let question = null; // {kind, layer, h, i, j, row}
const tally = {asked: 0, right: 0};

const randomBelow = (n) => Math.floor(Math.random() * n);

// Scores and probabilities are asked for where they can be worked out by hand.
const asked = QUESTIONS.filter(({byHand}) => !byHand || (D <= 8 && T <= 16));

function sayQuestion() {
    if (question)
        byId("question").textContent = question.kind.ask(question);
}

// Ask about a cell of the shown head that is not masked.
function askNext() {
    const kind = asked[randomBelow(asked.length)], least = kind.byHand && T > 1 ? 1 : 0; // query 0 has one key
    const i = least + randomBelow(T - least);
    const row = rowOf(view.layer, view.head, i), j = row.first + randomBelow(i + 1 - row.first);
    question = {kind, layer: view.layer, h: view.head, i, j, row};
    sayQuestion();
    byId("answer").value = byId("verdict").textContent = "";
    moveTo(i, j);
}

// Digits in groups of thousands: of an offset also 1.234 and 1,234, which of other numbers have a decimal point.
const GROUPED = /^[-+]?\d{1,3}(([,.\s'’_]\d{3})+|([,\s'’_]\d{3})+\.\d+|([.\s'’_]\d{3})+,\d+)$/;
const ONE_POINT = /^[-+]?\d*[.,]\d+$/;

// An answer as JavaScript reads numbers, whose decimal point may have been a comma; "": it has groups of thousands.
function plainNumber(text, {byHand}) {
    const plain = text.normalize("NFKC").trim().replace("−", "-");
    return GROUPED.test(plain) && !(byHand && ONE_POINT.test(plain)) ? "" : ONE_POINT.test(plain) ? plain.replace(",", ".") : plain;
}

// How an answer is judged: a number that is no offset as exactly as it was typed, but to two decimals at least.
function judge(typed, kind, answer) {
    const text = plainNumber(typed, kind), decimals = /\.(\d*)$/.exec(text)?.[1].length ?? 0;
    if (text === "" || Number.isNaN(Number(text)))
        return text === "" ? "grouped" : "none";
    if (Number.isInteger(answer))
        return Number(text) === answer ? "right" : "wrong";
    if (decimals < 2)
        return "rough";
    return Math.abs(Number(text) - answer) <= 0.5 * 10 ** -decimals * (1 + 1e-9) ? "right" : "wrong";
}

// What is said of an answer that is none.
const REFUSED = {rough: "Two decimals at least.", none: "{0} is not a number.",
    grouped: "{0} has groups of thousands: write the digits without separators."};

function checkAnswer(event) {
    event.preventDefault();
    const text = byId("answer").value.trim(), answer = question.kind.answer(question), found = judge(text, question.kind, answer);
    if (text === "")
        return;
    const refused = REFUSED[found];
    tally.asked += refused ? 0 : 1;
    tally.right += found === "right" ? 1 : 0;
    byId("verdict").textContent = refused ? say(refused, text)
        : (found === "right" ? say("Right: {0}.", textOf(answer)) : say("Not {0}.", text)) +
            say(" {0} of {1} right.", tally.right, tally.asked);
}

function showAnswer() {
    const {kind} = question;
    byId("verdict").textContent = `${kind.how(question)} = ${textOf(kind.answer(question))}`;
}

// While a number or an offset is asked for, the page shows neither.
const hidesNumbers = () => view.panel === "quiz" && question !== null;

function showQuiz() {
    if (!question || question.layer !== view.layer || question.h !== view.head)
        askNext();
}

function makeLearning() {
    if (isSmall)
        byId("vectors").append(...VECTORS.map(makeVector));
    byId("undo").addEventListener("click", undoEdits);
    byId("quiz-form").addEventListener("submit", checkAnswer);
    byId("show-answer").addEventListener("click", showAnswer);
    byId("next-question").addEventListener("click", askNext);
}
