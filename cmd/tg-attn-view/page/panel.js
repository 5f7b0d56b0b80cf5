// The panel: facts about a cell, its trace, and what can be copied.

// Rows of a table: the first cell is a heading.  They are kept, and only their texts change.
function setRows(table, rows) {
    const body = table.tBodies[0];
    while (body.rows.length > rows.length)
        body.deleteRow(-1);
    rows.forEach((cells, r) => {
        const row = body.rows[r] || body.insertRow();
        cells.forEach((text, c) => {
            const cell = row.cells[c] || row.appendChild(element(c === 0 ? "th" : "td", ""));
            if (cell.textContent !== text)
                cell.textContent = text;
        });
    });
}

// ---- facts

// "offset" and its formula in symbols, then in numbers: the second line spans the table.
function basesOf({i, j, head: h}) {
    const formula = (t, letter) => dump.layout === "bhtd"
        ? [`((b·H + h)·T + ${letter})·D`, `((${b}·${H} + ${h})·${T} + ${t})·${D}`]
        : [`((b·T + ${letter})·H + h)·D`, `((${b}·${T} + ${t})·${H} + ${h})·${D}`];
    return [["q_base", i, "i"], ["k_base", j, "j"]].flatMap(([name, t, letter]) => {
        const [symbols, numbers] = formula(t, letter);
        return [[name, String(baseOf(t, h)), `= ${symbols}`], ["", `= ${numbers}`]];
    });
}

const cellScore = (row, {i, j}) => j > i ? MASKED : storedText(row.scores[j]);
const cellProb = (row, {i, j}) => j > i ? "0" : storedText(row.probs[j]);

function showFacts(row) {
    const {i, j, head: h, layer} = view, masked = j > i, table = byId("facts");
    const about = (t) => (dump.ids ? `id ${dump.ids[t]} ` : "") + quoted(t).trim() + sharedBy(t);
    setRows(table, [
        ["query i", String(i), about(i)],
        ["key j", String(j), about(j)],
        ["layer, head", `${layer}, ${h}`, `h.${layer}` + (B > 1 ? `; b = ${b}, B = ${B}` : "")],
        ...basesOf(view),
        ["offset", String(offsetOf(h, i, j)), "= ((b·H + h)·T + i)·T + j"],
        ["", `= ((${b}·${H} + ${h})·${T} + ${i})·${T} + ${j}`],
        ["score", cellScore(row, view), masked ? "stands for “not looked at”" : ""],
        ["mask", masked ? "1" : "0", masked ? "j > i" : "j ≤ i"],
        ["probability", cellProb(row, view), ""]
    ]);
    for (const line of table.rows) {
        if (line.cells[0].textContent === "")
            line.cells[1].colSpan = 2;
        else
            line.cells[2].title = line.cells[2].textContent; // a long token may be cut, after its numbers
    }
}

// ---- the trace

const TERM_HEIGHT = 15, TERMS = 10; // pixels of a row, as in page.css; rows in sight, at most
let termsTop = 0; // how far they are scrolled

// Every product, with where both factors lie and what they are; a masked cell has none.  Only the rows in
// sight exist: hundreds would make each movement slow.
function showTerms() {
    const {i, j, head: h, layer} = view, {q, k} = layerOf(layer), masked = j > i, rows = [];
    const table = byId("terms").querySelector("table"), body = table.tBodies[0];
    const first = clamp(Math.floor(termsTop / TERM_HEIGHT), 0, Math.max(D - TERMS, 0));
    let sum = 0;
    for (let d = 0; d < D; d++) {
        const x = q[localBase(i, h) + d], y = k[localBase(j, h) + d];
        sum += x * y;
        if (d >= first && d < first + TERMS)
            rows.push([String(d), String(baseOf(i, h) + d), storedText(x), String(baseOf(j, h) + d),
                storedText(y), masked ? "—" : textOf(x * y), masked ? "—" : textOf(sum)]);
    }
    body.style.height = `${D * TERM_HEIGHT}px`;
    body.style.paddingTop = `${first * TERM_HEIGHT}px`;
    setRows(table, rows);
    return sum;
}

function onTermsScroll() {
    termsTop = byId("terms").scrollTop;
    showTerms();
}

function showSteps(row, sum) {
    const {i, j} = view, table = byId("steps");
    const names = ["sum", "scale", "score", "max", "exponential", "their sum", "probability"];
    if (j > i) {
        const said = [`not computed: masked, ${j} > ${i}`, "—", `${MASKED} (dump/mask)`, "—", "—", "—", "0"];
        setRows(table, names.map((name, n) => [name, said[n]]));
        return;
    }
    const greatest = row.scores.indexOf(row.max), e = Math.exp(row.scores[j] - row.max);
    const said = [
        textOf(sum),
        `1/√D = 1/√${D} = ${textOf(1 / Math.sqrt(D))}`,
        `sum/√D = ${storedText(row.scores[j])}`,
        `of the row: ${storedText(row.max)}, at key ${greatest}${quoted(greatest)}`,
        `exp(score - max) = ${textOf(e)}`,
        `over j = 0 to ${i}: ${textOf(row.sum)}`,
        `${textOf(e)} / ${textOf(row.sum)} = ${storedText(row.probs[j])}`
    ];
    setRows(table, names.map((name, n) => [name, said[n]]));
}

const placeText = ({i, j}) => `query ${i}${quoted(i)}, key ${j}${quoted(j)}`;

const numbersText = (row, at) => at.j > at.i ? "masked"
    : `score ${cellScore(row, at)}, probability ${cellProb(row, at)}`;

// The cell under the pointer, or else the chosen one: numbers first, since tokens may be long.
function showHere() {
    const at = pointed();
    byId("here").textContent = `${numbersText(rowOf(view.layer, view.head, at.i), at)} at ${placeText(at)}`;
}

function showCell() {
    const row = rowOf(view.layer, view.head, view.i);
    showFacts(row);
    showSteps(row, showTerms());
    byId("said").textContent = `${placeText(view)}: ${numbersText(row, view)}`;
}

// ---- copying

function valueText() {
    const row = rowOf(view.layer, view.head, view.i);
    return view.show === "probs" ? cellProb(row, view) : cellScore(row, view);
}

// As tg-attn-dump -f tsv prints a number: nine digits, whether they are needed or not.
function printedText(x) {
    const stored = Math.fround(x);
    return Object.is(stored, -0) ? "-0" : textOf(stored);
}

// A token's text as a value of tab-separated text: no reader takes \x22 for quoting.
const fieldOf = (t) => tokenAt(t).replaceAll('"', "\\x22");

// The query's row, byte for byte as tg-attn-dump -f tsv prints it.
function rowText() {
    const {layer, head: h, i} = view, row = rowOf(layer, h, i), named = Boolean(dump.tokens);
    const lines = Array.from({length: T}, (_, j) => [layer, h, b, i, j, baseOf(i, h), baseOf(j, h),
        offsetOf(h, i, j), ...(j > i ? [PRINTED_MASK, 1, 0]
            : [printedText(row.scores[j]), 0, printedText(row.probs[j])]),
        ...(named ? [fieldOf(i), fieldOf(j)] : [])].join("\t"));
    return ["layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\tprob"
        + (named ? "\ttoken_i\ttoken_j" : ""), ...lines].join("\n") + "\n";
}

// A file's name as one word for a shell, and not an option.
function shellWord(name) {
    const word = name.startsWith("-") ? `./${name}` : name;
    return /^[\w./+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// What named the dump's input, as a command line has it; "": the dump does not say.
function sourceText() {
    const [, option, name] = /^(-m|--qkv|--example) (.+)$/u.exec(dump.source) || [];
    if (!option || /\p{C}/u.test(name) || (option === "-m") !== (dump.ids !== null))
        return "";
    return option !== "--example" ? `${option} ${shellWord(name)}` : /^[a-z]+$/.test(name) ? dump.source : "";
}

// The tg-attn-dump that derives the score.
function commandText() {
    const {layer, head: h, i, j} = view, source = sourceText();
    const from = dump.ids ? `${source || "-m MODEL"} --ids '${dump.ids.join(" ")}' --layer ${layer}`
        : source || "--qkv ARRAYS";
    return `tg-attn-dump ${from} --heads ${H} --trace ${b},${h},${i},${j}`;
}

// A dump of standard input has no name to come back to.
function noteOf(what) {
    const missing = dump.ids ? "MODEL" : "ARRAYS";
    return what === "command" && sourceText() === "" ? ` (${missing}: your file)` : "";
}

async function copy(text, what) {
    try {
        await navigator.clipboard.writeText(text);
    } catch { // no permission, or an old browser
        const area = document.body.appendChild(element("textarea", text));
        area.select();
        document.execCommand("copy");
        area.remove();
    }
    byId("copied").textContent = `${what} copied${noteOf(what)}`;
    setTimeout(() => { byId("copied").textContent = ""; }, 1500);
}

const copies = {
    value: valueText,
    row: rowText,
    command: commandText,
    link: () => { keepAddress(); return window.location.href; }
};
