// Grids: rows by columns of cells, each with a colour and a short text: a row for each layer, and a column for each
// position, or head.  Of the columns only those in sight exist.

const GRID_ROW = 19; // pixels, as in page.css

// A place in a palette as a cell has it: a step, or -1: no colour.
const stepAt = (place) => Number.isNaN(place) ? -1 : stepOf(clamp(place, 0, 1));

class Grid {
    // id: of the box that scrolls; rows, columns: how many; width: of a column, in pixels.  What depends on the view:
    // name(): of the whole; row(r), column(c): headings; cell(r, c): {place, text, title}; palette(); state(): a text
    // that changes when any of these do; chosen(c): whether the column is the view's; show(r, c): tell more of a
    // cell; go(r, c): where a click leads; first(): the cell {r, c} to begin with.
    constructor(what) {
        Object.assign(this, what, {box: byId(what.id), at: null, here: null, drawn: "", left: 0});
        this.table = this.box.appendChild(element("table", "", {role: "grid", tabindex: 0}));
        this.table.createTHead().insertRow().append(element("td", "", {class: "corner"}));
        this.table.createTBody();
        this.table.style.setProperty("--column", `${this.width}px`);
        this.listen();
    }

    // Another shape, {rows, columns, width}; the cell stays, as far as there is one.
    become(shape) {
        Object.assign(this, shape, {here: null, drawn: ""});
        this.table.style.setProperty("--column", `${this.width}px`);
        if (this.at)
            this.at = {r: clamp(this.at.r, 0, this.rows - 1), c: clamp(this.at.c, 0, this.columns - 1)};
    }

    listen() {
        this.box.addEventListener("scroll", refresh);
        this.table.addEventListener("pointerover", (event) => this.point(event));
        this.table.addEventListener("pointerleave", () => this.point(null));
        this.table.addEventListener("click", (event) => this.choose(this.under(event)));
        this.table.addEventListener("keydown", (event) => this.onKey(event));
    }

    // ---- what is in sight

    get span() {
        return this.width * largeness();
    }

    // The columns to make: {first, n}.
    inSight() {
        const most = Math.ceil(this.box.clientWidth / this.span) + 1;
        const first = clamp(Math.floor(this.box.scrollLeft / this.span), 0, Math.max(this.columns - most, 0));
        return {first, n: Math.min(most, this.columns - first)};
    }

    draw() {
        const {first, n} = this.inSight();
        const key = [this.state(), first, n, language, isDark(), largeness()].join();
        if (key !== this.drawn) {
            this.drawn = key;
            this.fill(first, n);
        }
        if (!this.at) {
            this.at = this.first();
            this.keepInSight(); // its column may be made only now that the box has scrolled
        }
        this.mark();
        const {r, c} = this.here ?? this.at;
        this.show(r, c);
    }

    fill(first, n) {
        const {table, columns, rows, span} = this;
        this.left = first;
        table.setAttribute("aria-label", this.name());
        table.setAttribute("aria-rowcount", rows + 1);
        table.setAttribute("aria-colcount", columns + 1);
        table.style.marginLeft = `${first * span}px`;
        table.style.marginRight = `${(columns - first - n) * span}px`;
        table.tHead.rows[0].cells[0].textContent = say("layer");
        this.fillHead(table.tHead.rows[0], n);
        const body = table.tBodies[0];
        while (body.rows.length < rows)
            body.insertRow().append(element("th", "", {scope: "row"}));
        while (body.rows.length > rows)
            body.lastChild.remove();
        for (let r = 0; r < rows; r++)
            this.fillRow(body.rows[r], r, n);
    }

    // As many cells after the first one as there are columns in sight.
    resize(line, n, make) {
        while (line.cells.length > n + 1)
            line.lastChild.remove();
        while (line.cells.length < n + 1)
            line.append(make());
    }

    fillHead(line, n) {
        this.resize(line, n, () => element("th", "", {scope: "col"}));
        for (let c = 0; c < n; c++) {
            const cell = line.cells[c + 1];
            cell.textContent = cell.title = this.column(this.left + c);
            cell.setAttribute("aria-colindex", this.left + c + 2);
        }
    }

    fillRow(line, r, n) {
        const {colors, inks} = this.palette();
        this.resize(line, n, () => element("td", ""));
        line.cells[0].textContent = this.row(r);
        for (let c = 0; c < n; c++) {
            const cell = line.cells[c + 1], {place, text} = this.cell(r, this.left + c), step = stepAt(place);
            cell.textContent = text;
            cell.id = `${this.id}-${r}-${this.left + c}`;
            cell.setAttribute("aria-colindex", this.left + c + 2);
            cell.style.backgroundColor = step < 0 ? "" : colors[step];
            cell.style.color = step < 0 ? "" : inks[step];
            cell.removeAttribute("title"); // it is made when the pointer comes
        }
    }

    cellAt({r, c}) {
        return this.table.tBodies[0].rows[r]?.cells[c - this.left + 1] ?? null;
    }

    mark() {
        const {table, at, left} = this, now = at.c < left ? null : this.cellAt(at);
        table.querySelector("td.at")?.classList.remove("at");
        now?.classList.add("at");
        if (now)
            table.setAttribute("aria-activedescendant", now.id);
        else
            table.removeAttribute("aria-activedescendant");
        [...table.tHead.rows[0].cells].forEach((cell, n) =>
            cell.classList.toggle("chosen", n > 0 && this.chosen(left + n - 1)));
    }

    // ---- the pointer and keys

    // The cell of an event, or null.
    under(event) {
        const cell = event?.target.closest("tbody td");
        return cell ? {r: cell.parentNode.sectionRowIndex, c: this.left + cell.cellIndex - 1} : null;
    }

    point(event) {
        this.here = this.under(event);
        if (this.here)
            this.cellAt(this.here).title = this.cell(this.here.r, this.here.c).title;
        refresh();
    }

    choose(place) {
        if (!place)
            return;
        this.at = place;
        this.go(place.r, place.c);
        refresh();
    }

    onKey(event) {
        const {r, c} = this.at, step = event.shiftKey ? 10 : 1;
        const to = {ArrowUp: [r - step, c], ArrowDown: [r + step, c], ArrowLeft: [r, c - step], ArrowRight: [r, c + step],
            Home: [r, 0], End: [r, this.columns - 1], Enter: [r, c], " ": [r, c]}[event.key];
        if (!to || event.ctrlKey || event.altKey || event.metaKey)
            return;
        event.preventDefault();
        if (event.key === "Enter" || event.key === " ")
            this.choose(this.at);
        else
            this.moveTo(...to);
    }

    moveTo(r, c) {
        this.at = {r: clamp(r, 0, this.rows - 1), c: clamp(c, 0, this.columns - 1)};
        this.here = null;
        this.keepInSight();
        refresh();
    }

    // Of what the headings, which stay in sight, leave.
    keepInSight() {
        const {box, at, span} = this, {rows: [head], clientHeight: top} = this.table.tHead, height = GRID_ROW * largeness();
        const side = head.cells[0].offsetWidth;
        const scrolled = (now, place, size, room) => clamp(now, place + size - room, place);
        box.scrollLeft = scrolled(box.scrollLeft, at.c * span, span, box.clientWidth - side);
        box.scrollTop = scrolled(box.scrollTop, at.r * height, height, box.clientHeight - top);
    }
}

// The colours of a grid, from left to right, with what both ends stand for.
function showEnds(id, name, {colors}, low, high) {
    const canvas = byId(id).querySelector("canvas"), context = canvas.getContext("2d");
    const [from, to] = byId(id).querySelectorAll("span");
    canvas.width = colors.length;
    canvas.height = 1;
    colors.forEach((color, n) => {
        context.fillStyle = color;
        context.fillRect(n, 0, 1, 1);
    });
    from.textContent = low;
    to.textContent = high;
    canvas.setAttribute("aria-label", say("colours: {0} from {1} to {2}", name, low, high));
}

// ---- what grids say of tokens: those of the first dump, which the archives are of

const firstLabel = (t) => firstTokens.tokens ? firstTokens.tokens[t].replaceAll(" ", "·") : "";
const firstQuoted = (t) => firstTokens.tokens ? ` “${firstLabel(t)}”` : "";
const columnText = (t) => firstTokens.tokens ? `${t}\n${firstLabel(t)}` : String(t);

// How wide a column is for the longest of such texts: in pixels, at 0.68rem.
function columnWidth(texts) {
    const longest = texts.reduce((most, text) => Math.max(most, [...text].length), 0);
    return 10 + 7 * clamp(longest, 4, 8);
}

// Show a head's map, or only the query where the page lacks the layer, and there this key or the greatest; archives
// are of the first dump.
function goToMap(layer, head, i, j = NaN) {
    setDump(0);
    goTo(dump.layers.includes(layer) ? layer : view.layer, head);
    moveTo(i, Number.isNaN(j) ? greatestKey(i) : j);
}
