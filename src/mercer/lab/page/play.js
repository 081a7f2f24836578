// Controls, and the hand in the plot: points are dragged, added and removed, by pointer or by keys.

import { esc, shown } from "./draw.js";
import { KERNELS, forWords, readKernel, slidersOf, writeKernel } from "./kernels.js";
import { PROBLEMS } from "./problems.js";
import { fresh } from "./state.js";
import { placeOf } from "./views.js";

const element = (id) => document.getElementById(id);
const NEAR = 14;
const MOST = 300;

export class Play {
  constructor(app) {
    this.app = app;
    this.tables = [];
    element("problem").innerHTML = Object.entries(PROBLEMS).map(([key, each]) => `<option value="${key}">${esc(each.title)}</option>`).join("");
    element("problem").addEventListener("change", (event) => this.choose(event.target.value));
    for (const id of ["n", "noise"]) element(id).addEventListener("input", (event) => app.change({ [id]: Number(event.target.value), edited: null }));
    element("redraw").addEventListener("click", () => app.change({ seed: app.state.seed + 1, edited: null }, true));
    element("restore").addEventListener("click", () => app.change({ edited: null }, true));
    element("alpha").addEventListener("input", (event) => app.change({ alpha: 10 ** Number(event.target.value) }));
    element("intercept").addEventListener("change", (event) => app.change({ intercept: event.target.checked }, true));
    element("word").addEventListener("input", (event) => app.change({ words: event.target.value }));
    element("kernel").addEventListener("input", (event) => this.typed(event.target.value));
    this.tiles();
    this.wraps();
    this.files();
    this.exports();
    this.hand();
  }

  choose(problem) {
    const table = this.tables.find((each) => each.key === problem);
    if (table) this.useTable(table);
    else this.app.change({ ...fresh(problem), tab: this.app.state.tab, tour: "", step: 0 }, true);
  }

  // -- kernel ---------------------------------------------------------------------------------------------------------

  tiles() {
    const box = element("tiles");
    box.innerHTML = Object.keys(KERNELS).map((name) => `<button class="tile" data-name="${name}">${name}</button>`).join("");
    box.addEventListener("click", (event) => {
      const { name } = event.target.dataset ?? {};
      if (!name) return;
      const args = Object.fromEntries(Object.entries(KERNELS[name].args).map(([key, how]) => [key, how.value]));
      const tile = { type: "kernel", name, args };
      const how = document.querySelector("input[name=how]:checked").value;
      const before = this.tree();
      const node = how === "replace" || !before ? tile : { type: how === "+" ? "sum" : "product", parts: [before, tile] };
      this.setTree(node, true);
    });
  }

  wraps() {
    const wrap = (id, change) => element(id).addEventListener("click", () => {
      const tree = this.tree();
      if (tree) this.setTree(change(tree), true);
    });
    wrap("wrap-exp", (part) => ({ type: "exp", part }));
    wrap("wrap-scale", (part) => ({ type: "scaled", factor: 2, part }));
    wrap("wrap-norm", (part) => ({ type: "normalized", part }));
    wrap("wrap-on", (part) => ({ type: "on", part, columns: [0] }));
  }

  tree() {
    try {
      return readKernel(this.app.state.kernel);
    } catch {
      return null;
    }
  }

  setTree(tree, push) {
    this.app.change({ kernel: writeKernel(tree) }, push);
    this.certify();
  }

  // While somebody types: the certificate at once, and the picture as soon as the text is a kernel.
  async typed(typed) {
    const text = typed.replace(/\s+/g, " ").trim();
    const number = (this.typing = (this.typing ?? 0) + 1);
    try {
      const found = await this.app.engine.ask("kernel", { kernel: text });
      if (number !== this.typing) return;
      this.certificate(found);
      element("kernel-error").textContent = "";
      element("kernel").removeAttribute("aria-invalid");
      this.lastKernel = text;
      await this.app.change({ kernel: text });
    } catch (error) {
      if (number !== this.typing) return;
      element("kernel-error").textContent = error.message;
      element("kernel").setAttribute("aria-invalid", "true");
      element("certificate").textContent = "";
      element("because").textContent = "";
    }
  }

  async certify() {
    try {
      this.certificate(await this.app.engine.ask("kernel", { kernel: this.app.state.kernel }));
    } catch {
      element("certificate").textContent = "";
    }
  }

  certificate(found) {
    const words = { true: "A Mercer kernel, and why", false: "Not a Mercer kernel, and why", null: "Not known to be a Mercer kernel" };
    const box = element("certificate");
    box.textContent = words[String(found.valid)];
    box.className = found.valid === true ? "good" : found.valid === false ? "bad" : "";
    element("because").textContent = found.because.join("\n");
  }

  sliders() {
    const tree = this.tree();
    const found = tree ? slidersOf(tree) : [];
    const box = element("sliders");
    const key = JSON.stringify(found.map((each) => [each.label, each.choices ?? each.low]));
    if (box.dataset.key !== key) {
      box.dataset.key = key;
      box.innerHTML = found.map((each, i) => {
        if (each.choices) return `<label for="slider-${i}">${esc(each.label)}</label><select id="slider-${i}">${each.choices.map((value) => `<option>${value}</option>`).join("")}</select>`;
        const [low, high] = each.log ? [Math.log10(each.low), Math.log10(each.high)] : [each.low, each.high];
        return `<label for="slider-${i}">${esc(each.label)} <output></output></label><input type="range" id="slider-${i}" min="${low}" max="${high}" step="${each.whole ? 1 : "any"}">`;
      }).join("");
      box.querySelectorAll("input, select").forEach((input, i) => input.addEventListener("input", () => this.slid(i, input)));
    }
    found.forEach((each, i) => {
      const input = element(`slider-${i}`);
      if (input !== document.activeElement || input.dataset.moving !== "yes") input.value = each.choices ? String(each.get()) : each.log ? Math.log10(each.get()) : each.get();
      const out = box.querySelectorAll("label")[i].querySelector("output");
      if (out) out.textContent = shown(each.get(), 3);
      input.setAttribute("aria-valuetext", shown(each.get(), 3));
    });
  }

  slid(i, input) {
    const tree = this.tree();
    const each = slidersOf(tree)[i];
    const value = Number(input.value);
    input.dataset.moving = "yes";
    each.set(each.choices || !each.log ? value : Number((10 ** value).toPrecision(4)));
    this.app.change({ kernel: writeKernel(tree) }).finally(() => { input.dataset.moving = ""; });
  }

  // -- tables -----------------------------------------------------------------------------------------------------------

  files() {
    element("file").addEventListener("change", (event) => event.target.files[0] && this.upload(event.target.files[0]));
    addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    addEventListener("dragleave", () => document.body.classList.remove("dropping"));
    addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      const file = event.dataTransfer?.files?.[0];
      if (file) this.upload(file);
    });
    for (const id of ["axis-1", "axis-2", "target", "others"]) element(id).addEventListener("change", () => this.columns());
  }

  async upload(file) {
    const said = element("data-error");
    said.textContent = "";
    if (!this.app.engine.open) {
      said.textContent = "Tables can be opened with mercer lab on your own machine.";
      return;
    }
    if (file.size > 20_000_000) {
      said.textContent = "A table may have at most 20 MB.";
      return;
    }
    try {
      const table = await this.app.engine.open(file);
      this.tableOpened(table);
      await this.useTable(table);
    } catch (error) {
      said.textContent = error.message;
    }
  }

  tableOpened(table) {
    if (!table || this.tables.some((each) => each.key === table.key)) return;
    this.tables.push(table);
    element("problem").insertAdjacentHTML("beforeend", `<option value="${esc(table.key)}">${esc(table.name)}</option>`);
  }

  async useTable(table) {
    const all = [...new Set([...table.columns, ...table.labels])];
    const target = all[all.length - 1];
    const axes = table.columns.filter((each) => each !== target).slice(0, 2);
    const chosen = axes.length ? { axes, target } : { axes: table.columns.slice(0, 1), target: all.find((each) => each !== table.columns[0]) };
    await this.app.change({ ...fresh(), tab: this.app.state.tab, problem: "table", kernel: "Gaussian(width=1)", alpha: 1, table: { key: table.key, others: false, ...chosen } }, true);
  }

  columns() {
    const axes = [element("axis-1").value, element("axis-2").value].filter(Boolean);
    this.app.change({ table: { ...this.app.state.table, axes, target: element("target").value, others: element("others").checked } }, true);
  }

  syncTable() {
    const { table } = this.app.state;
    element("table-controls").hidden = !table;
    if (!table) return;
    const known = this.tables.find((each) => each.key === table.key);
    const columns = known?.columns ?? [...table.axes];
    const targets = known ? [...new Set([...known.columns, ...known.labels])] : [table.target];
    const options = (list, chosen) => list.map((each) => `<option${each === chosen ? " selected" : ""}>${esc(each)}</option>`).join("");
    element("axis-1").innerHTML = options(columns, table.axes[0]);
    element("axis-2").innerHTML = `<option value="">none</option>${options(columns, table.axes[1])}`;
    element("target").innerHTML = options(targets, table.target);
    element("others").checked = Boolean(table.others);
  }

  // -- everything as the state says ---------------------------------------------------------------------------------------

  sync() {
    const { state, data } = this.app;
    const problem = PROBLEMS[state.problem];
    const moved = (id, value) => { if (document.activeElement !== element(id) || Number(element(id).value) !== value) element(id).value = value; };
    element("problem").value = state.problem === "table" ? state.table.key : state.problem;
    element("about").textContent = problem?.about ?? "Columns are standardized for the kernel; numbers on the axes are those of the table.";
    element("drawn-controls").hidden = !problem?.draw && !state.edited;
    for (const id of ["n", "noise"]) {
      element(id).hidden = !problem?.draw;
      document.querySelector(`label[for=${id}]`).hidden = !problem?.draw;
      moved(id, state[id]);
      element(`${id}-out`).textContent = id === "n" ? String(data.points.y.length) : shown(state[id], 3);
    }
    element("redraw").hidden = !problem?.draw;
    element("restore").hidden = !state.edited;
    element("word-controls").hidden = state.problem !== "greetings";
    if (document.activeElement !== element("word")) element("word").value = state.words;
    if (this.lastKernel !== state.kernel) { // a text that is not finished stays
      this.lastKernel = state.kernel;
      element("kernel").value = state.kernel;
      element("kernel").rows = Math.max(2, Math.min(6, Math.ceil(state.kernel.length / 26)));
      element("kernel").removeAttribute("aria-invalid");
      element("kernel-error").textContent = "";
      this.certify();
    }
    if (document.activeElement !== element("alpha")) element("alpha").value = Math.log10(state.alpha);
    element("alpha-out").textContent = shown(state.alpha, 3);
    element("alpha").setAttribute("aria-valuetext", shown(state.alpha, 3));
    element("intercept").checked = state.intercept;
    const words = typeof data.points.x[0] === "string";
    for (const tile of document.querySelectorAll(".tile")) tile.hidden = Boolean(KERNELS[tile.dataset.name].words) !== words;
    element("wrap-on").hidden = words || data.points.x[0].length < 2;
    const tree = this.tree();
    this.mismatch = tree && forWords(tree) !== words ? (words ? "These points are words: choose a kernel on words." : "These points are numbers: choose a kernel on numbers.") : "";
    if (this.over === -1 && this.app.fit) this.describe(-1);
    this.sliders();
    this.syncTable();
  }

  // What is wrong, beside the control that it is about.
  failed(words) {
    const points = words.startsWith("There must be");
    if (points || element("data-error").textContent.startsWith("There must be")) element("data-error").textContent = points ? words : "";
    if (element("kernel").getAttribute("aria-invalid") !== "true") element("kernel-error").textContent = this.mismatch || (points ? "" : words);
  }

  // -- the hand -----------------------------------------------------------------------------------------------------------

  hand() {
    const box = element("plot");
    box.addEventListener("pointerdown", (event) => this.down(event));
    box.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, (event) => this.up(event));
    box.addEventListener("pointerleave", (event) => { if (!this.dragged && event.pointerType !== "touch") this.hover(-1); });
    box.addEventListener("dblclick", (event) => {
      const row = this.near(event);
      if (row >= 0) this.remove(row);
    });
    box.addEventListener("keydown", (event) => this.key(event));
  }

  place(event) {
    const { scales } = this.app;
    const box = element("plot").getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * scales.width, ((event.clientY - box.top) / box.height) * scales.height];
  }

  near(event) {
    if (!this.app.scales) return -1;
    const [u, v] = this.place(event);
    let best = -1;
    let least = NEAR;
    this.app.data.points.y.forEach((_, row) => {
      const [a, b] = placeOf(this.app.layout, this.app.data, this.app.scales, row);
      const apart = Math.hypot(a - u, b - v);
      if (apart < least) [best, least] = [row, apart];
    });
    return best;
  }

  get editable() {
    return this.app.state.problem !== "table";
  }

  down(event) {
    const row = this.near(event);
    this.began = { row, at: this.place(event), moved: false };
    if (row >= 0) {
      element("plot").setPointerCapture(event.pointerId);
      this.dragged = this.editable;
      this.app.held = this.dragged ? this.app.layout : null; // axes stay while a point is dragged
      event.preventDefault();
      element("plot").focus({ preventScroll: true });
    }
  }

  move(event) {
    if (!this.app.scales) return;
    if (this.dragged && this.began.row >= 0) {
      const at = this.place(event);
      if (Math.hypot(at[0] - this.began.at[0], at[1] - this.began.at[1]) > 2) this.began.moved = true;
      if (this.began.moved) this.put(this.began.row, at);
      return;
    }
    this.hover(this.near(event));
  }

  up(event) {
    const { began } = this;
    const dragged = this.dragged;
    this.dragged = false;
    this.began = null;
    this.app.held = null;
    if (dragged && began?.moved) this.app.refresh().then(() => this.describe(this.app.chosen));
    else if (began?.row >= 0) this.hover(began.row);
    if (!began || event.type === "pointercancel") return;
    if (dragged && began.moved) this.app.remember(true);
    else if (began.row < 0 && this.editable) {
      const at = this.place(event);
      if (Math.hypot(at[0] - began.at[0], at[1] - began.at[1]) < 4) this.add(at, event.shiftKey);
    }
  }

  copy() {
    const { x, y } = this.app.data.points;
    return { x: x.map((each) => (Array.isArray(each) ? [...each] : each)), y: [...y] };
  }

  put(row, [u, v]) {
    const { scales, layout } = this.app;
    const points = this.copy();
    const tidy = (value) => Number(value.toPrecision(5));
    const inside = (s, place) => s.back(Math.min(Math.max(s.from, s.to), Math.max(Math.min(s.from, s.to), place)));
    if (layout.kind !== "words") points.x[row][0] = tidy(inside(scales.x, u));
    if (layout.kind === "map") points.x[row][1] = tidy(inside(scales.y, v));
    else points.y[row] = tidy(inside(scales.y, v));
    this.app.chosen = row;
    this.over = -1;
    this.app.withoutCurve = null;
    return this.app.change({ edited: points });
  }

  add([u, v], other = false) {
    const { scales, layout, data } = this.app;
    if (layout.kind === "words" || data.points.y.length >= MOST) {
      if (layout.kind !== "words") element("data-error").textContent = `There are ${MOST} points, which is the most.`;
      return;
    }
    const inside = u >= scales.x.from && u <= scales.x.to && v <= scales.y.from && v >= scales.y.to;
    if (!inside) return;
    const points = this.copy();
    const tidy = (value) => Number(value.toPrecision(5));
    if (layout.kind === "map") {
      points.x.push([tidy(scales.x.back(u)), tidy(scales.y.back(v))]);
      points.y.push(data.labels ? (other ? -1 : 1) : points.y[points.y.length - 1]);
    } else {
      points.x.push([tidy(scales.x.back(u))]);
      points.y.push(tidy(scales.y.back(v)));
    }
    this.app.chosen = points.y.length - 1;
    this.over = -1;
    this.app.withoutCurve = null;
    this.app.change({ edited: points }, true).then(() => this.describe(this.app.chosen));
  }

  remove(row) {
    const points = this.copy();
    const label = points.y[row];
    const last = this.app.data.labels && points.y.filter((each) => each === label).length < 2;
    if (!this.editable || points.y.length <= 3 || last) {
      element("said").textContent = last ? "The last point of a label stays." : "Three points at least stay.";
      return;
    }
    points.x.splice(row, 1);
    points.y.splice(row, 1);
    this.app.chosen = Math.min(row, points.y.length - 1);
    this.over = -1;
    this.app.withoutCurve = null;
    this.app.change({ edited: points }, true);
    element("said").textContent = `Point ${row + 1} is removed; ${points.y.length} are left.`;
  }

  // The curve without the point under the hand, and what the point changes.
  async hover(row) {
    const { app } = this;
    if (row === this.over) return;
    this.over = row;
    app.chosen = row;
    app.withoutCurve = null;
    app.draw();
    this.describe(row);
    if (row < 0) return;
    const version = app.version;
    try {
      const { curve } = await app.engine.ask("without", app.question({ at: app.layout.at, row }));
      if (this.over !== row || version !== app.version) return;
      app.withoutCurve = curve;
      app.draw();
    } catch {
      // the fit itself has said what is wrong
    }
  }

  // What a point is and changes; without one, what the hand can do.
  describe(row) {
    const { fit, data } = this.app;
    if (row < 0 || !fit?.residuals || row >= fit.residuals.length) {
      const how = data.labels && this.editable ? " (with Shift one of the other label)" : "";
      element("said").textContent = this.editable && typeof data.points.x[0] !== "string"
        ? `Click to add a point${how}, drag to move one, double-click to remove it; hover to see the fit without it.`
        : "Hover over a point to see the fit without it.";
      return;
    }
    const x = data.points.x[row];
    const at = (column, value) => { const by = data.scale?.[column]; return shown(by ? by[0] + by[1] * value : value, 3); };
    const place = typeof x === "string" ? `“${x}”` : `(${[...x.slice(0, data.axes ?? 9).map((each, j) => at(j, each)), ...(data.labels ? [] : [shown(data.points.y[row], 3)])].join(", ")})`;
    const parts = [`Point ${row + 1} ${place}: the others miss it by ${shown(Math.abs(fit.residuals[row]), 3)}`];
    if (fit.leverage) parts.push(`its own share in the fit there (leverage) is ${shown(fit.leverage[row], 2)}`);
    if (fit.error_without) parts.push(`without it the leave-one-out error is ${shown(fit.error_without[row], 4)}`);
    element("said").textContent = `${parts.join("; ")}. Orange dashes: the fit without it.`;
  }

  key(event) {
    const { app } = this;
    const n = app.data.points.y.length;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step && event.shiftKey && app.chosen >= 0 && this.editable) {
      const [u, v] = placeOf(app.layout, app.data, app.scales, app.chosen);
      const row = app.chosen;
      this.put(row, [u + 6 * step[0], v + 6 * step[1]]).then(() => this.hover(row));
    } else if (step) this.hover((app.chosen + (step[0] || -step[1]) + n) % n);
    else if (event.key === "Delete" && app.chosen >= 0) this.remove(app.chosen);
    else if (event.key.toLowerCase() === "a" && !event.ctrlKey && !event.metaKey && this.editable) this.add([(app.scales.x.from + app.scales.x.to) / 2, (app.scales.y.from + app.scales.y.to) / 2], event.shiftKey);
    else return;
    event.preventDefault();
  }

  // -- exports --------------------------------------------------------------------------------------------------------------

  exports() {
    element("take-svg").addEventListener("click", () => save(new Blob([this.picture()], { type: "image/svg+xml" }), "mercer.svg"));
    element("take-png").addEventListener("click", () => this.png());
    element("take-model").addEventListener("click", () => this.take("model", "model.mercer"));
    element("take-python").addEventListener("click", () => this.take("python", "model.py"));
  }

  async take(what, name, job) {
    const said = element(what === "report" ? "select-error" : "export-error");
    said.textContent = "";
    try {
      save(await this.app.engine.take({ ...this.app.question(), what, job }), name);
    } catch (error) {
      said.textContent = error.message;
    }
  }

  // The plot with its colours written into it, so that it looks the same elsewhere.
  picture() {
    const source = document.querySelector("#plot svg");
    const copy = source.cloneNode(true);
    const wanted = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "font-family", "font-size"];
    const originals = source.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((each, i) => {
      const look = getComputedStyle(originals[i]);
      for (const name of wanted) if (look.getPropertyValue(name)) each.setAttribute(name, look.getPropertyValue(name));
    });
    const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ground.setAttribute("width", "100%");
    ground.setAttribute("height", "100%");
    ground.setAttribute("fill", getComputedStyle(element("plot-box")).backgroundColor);
    copy.prepend(ground);
    copy.removeAttribute("aria-hidden");
    return new XMLSerializer().serializeToString(copy);
  }

  png() {
    const { width, height } = this.app.scales;
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "mercer.png"));
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.picture())}`;
  }
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
