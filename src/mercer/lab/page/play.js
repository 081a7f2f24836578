// Controls: problem, table, kernel, sliders, and what can be downloaded.

import { byId, esc, shown } from "./draw.js";
import { KERNELS, forWords, readKernel, slidersOf, writeKernel } from "./kernels.js";
import { PROBLEMS } from "./problems.js";
import { LOSSES, fresh, lossesOf } from "./state.js";


export class Play {
  constructor(app) {
    this.app = app;
    this.tables = [];
    byId("problem").innerHTML = Object.entries(PROBLEMS).map(([key, each]) => `<option value="${key}">${esc(each.title)}</option>`).join("");
    byId("problem").addEventListener("change", (event) => this.choose(event.target.value));
    for (const id of ["n", "noise"]) byId(id).addEventListener("input", (event) => app.change({ [id]: Number(event.target.value), edited: null }));
    byId("redraw").addEventListener("click", () => app.change({ seed: app.state.seed + 1, edited: null }, true));
    byId("restore").addEventListener("click", () => app.change({ edited: null }, true));
    byId("alpha").addEventListener("input", (event) => app.change({ alpha: 10 ** Number(event.target.value) }));
    byId("loss").addEventListener("change", (event) => app.change({ loss: event.target.value }, true));
    byId("intercept").addEventListener("change", (event) => app.change({ intercept: event.target.checked }, true));
    byId("word").addEventListener("input", (event) => app.change({ words: event.target.value }));
    byId("kernel").addEventListener("input", (event) => this.typed(event.target.value));
    this.tiles();
    this.wraps();
    this.files();
    this.exports();
  }

  choose(problem) {
    const table = this.tables.find((each) => each.key === problem);
    if (table) this.useTable(table);
    else this.app.change({ ...fresh(problem), loss: this.app.state.loss, tab: this.app.state.tab, tour: "", step: 0 }, true);
  }

  // -- kernel ---------------------------------------------------------------------------------------------------------

  tiles() {
    const box = byId("tiles");
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
    const wrap = (id, change) => byId(id).addEventListener("click", () => {
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
      byId("kernel-error").textContent = "";
      byId("kernel").removeAttribute("aria-invalid");
      this.lastKernel = text;
      await this.app.change({ kernel: text });
    } catch (error) {
      if (number !== this.typing) return;
      byId("kernel-error").textContent = error.message;
      byId("kernel").setAttribute("aria-invalid", "true");
      byId("certificate").textContent = "";
      byId("because").textContent = "";
    }
  }

  async certify() {
    try {
      this.certificate(await this.app.engine.ask("kernel", { kernel: this.app.state.kernel }));
    } catch {
      byId("certificate").textContent = "";
    }
  }

  certificate(found) {
    const words = { true: "A Mercer kernel, and why", false: "Not a Mercer kernel, and why", null: "Not known to be a Mercer kernel" };
    const box = byId("certificate");
    box.textContent = words[String(found.valid)];
    box.className = found.valid === true ? "good" : found.valid === false ? "bad" : "";
    byId("because").textContent = found.because.join("\n");
  }

  sliders() {
    const tree = this.tree();
    const found = tree ? slidersOf(tree) : [];
    const box = byId("sliders");
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
      const input = byId(`slider-${i}`);
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
    byId("file").addEventListener("change", (event) => event.target.files[0] && this.upload(event.target.files[0]));
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
    for (const id of ["axis-1", "axis-2", "target", "others"]) byId(id).addEventListener("change", () => this.columns());
  }

  async upload(file) {
    const said = byId("data-error");
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
    byId("problem").insertAdjacentHTML("beforeend", `<option value="${esc(table.key)}">${esc(table.name)}</option>`);
  }

  async useTable(table) {
    const all = [...new Set([...table.columns, ...table.labels])];
    const target = all[all.length - 1];
    const axes = table.columns.filter((each) => each !== target).slice(0, 2);
    const chosen = axes.length ? { axes, target } : { axes: table.columns.slice(0, 1), target: all.find((each) => each !== table.columns[0]) };
    await this.app.change({ ...fresh(), loss: this.app.state.loss, tab: this.app.state.tab, problem: "table", kernel: "Gaussian(width=1)", alpha: 1, table: { key: table.key, others: false, ...chosen } }, true);
  }

  columns() {
    const axes = [byId("axis-1").value, byId("axis-2").value].filter(Boolean);
    this.app.change({ table: { ...this.app.state.table, axes, target: byId("target").value, others: byId("others").checked } }, true);
  }

  syncTable() {
    const { table } = this.app.state;
    byId("table-controls").hidden = !table;
    if (!table) return;
    const known = this.tables.find((each) => each.key === table.key);
    const columns = known?.columns ?? [...table.axes];
    const targets = known ? [...new Set([...known.columns, ...known.labels])] : [table.target];
    const options = (list, chosen) => list.map((each) => `<option${each === chosen ? " selected" : ""}>${esc(each)}</option>`).join("");
    byId("axis-1").innerHTML = options(columns, table.axes[0]);
    byId("axis-2").innerHTML = `<option value="">none</option>${options(columns, table.axes[1])}`;
    byId("target").innerHTML = options(targets, table.target);
    byId("others").checked = Boolean(table.others);
  }

  // -- everything as the state says ---------------------------------------------------------------------------------------

  sync() {
    const { state, data } = this.app;
    const problem = PROBLEMS[state.problem];
    const moved = (id, value) => { if (document.activeElement !== byId(id) || Number(byId(id).value) !== value) byId(id).value = value; };
    byId("problem").value = state.problem === "table" ? state.table.key : state.problem;
    byId("about").textContent = problem?.about ?? "Columns are standardized for the kernel; numbers on the axes are those of the table.";
    byId("drawn-controls").hidden = !problem?.draw && !state.edited;
    for (const id of ["n", "noise"]) {
      byId(id).hidden = !problem?.draw;
      document.querySelector(`label[for=${id}]`).hidden = !problem?.draw;
      moved(id, state[id]);
      byId(`${id}-out`).textContent = id === "n" ? String(data.points.y.length) : shown(state[id], 3);
    }
    byId("redraw").hidden = !problem?.draw;
    byId("restore").hidden = !state.edited;
    byId("word-controls").hidden = state.problem !== "greetings";
    if (document.activeElement !== byId("word")) byId("word").value = state.words;
    if (this.lastKernel !== state.kernel) { // a text that is not finished stays
      this.lastKernel = state.kernel;
      byId("kernel").value = state.kernel;
      byId("kernel").rows = Math.max(2, Math.min(6, Math.ceil(state.kernel.length / 26)));
      byId("kernel").removeAttribute("aria-invalid");
      byId("kernel-error").textContent = "";
      this.certify();
    }
    if (document.activeElement !== byId("alpha")) byId("alpha").value = Math.log10(state.alpha);
    byId("alpha-out").textContent = shown(state.alpha, 3);
    byId("alpha").setAttribute("aria-valuetext", shown(state.alpha, 3));
    byId("loss").innerHTML = lossesOf(data.labels).map((name) => `<option value="${name}"${name === state.loss ? " selected" : ""}>${LOSSES[name].title}</option>`).join("");
    byId("intercept").checked = state.intercept;
    const words = typeof data.points.x[0] === "string";
    for (const tile of document.querySelectorAll(".tile")) tile.hidden = Boolean(KERNELS[tile.dataset.name].words) !== words;
    byId("wrap-on").hidden = words || data.points.x[0].length < 2;
    const tree = this.tree();
    this.mismatch = tree && forWords(tree) !== words ? (words ? "These points are words: choose a kernel on words." : "These points are numbers: choose a kernel on numbers.") : "";
    if (this.app.hand.over === -1 && this.app.fit) this.app.hand.describe(-1);
    this.sliders();
    this.syncTable();
  }

  // What is wrong, beside the control that it is about.
  failed(words) {
    const points = words.startsWith("There must be");
    if (points || byId("data-error").textContent.startsWith("There must be")) byId("data-error").textContent = points ? words : "";
    if (byId("kernel").getAttribute("aria-invalid") !== "true") byId("kernel-error").textContent = this.mismatch || (points ? "" : words);
  }

  // -- exports --------------------------------------------------------------------------------------------------------------

  exports() {
    byId("take-svg").addEventListener("click", () => save(new Blob([this.picture()], { type: "image/svg+xml" }), "mercer.svg"));
    byId("take-png").addEventListener("click", () => this.png());
    byId("take-model").addEventListener("click", () => this.take("model", "model.mercer"));
    byId("take-python").addEventListener("click", () => this.take("python", "model.py"));
  }

  async take(what, name, job) {
    const said = byId(what === "report" ? "select-error" : "export-error");
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
    ground.setAttribute("fill", getComputedStyle(byId("plot-box")).backgroundColor);
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
