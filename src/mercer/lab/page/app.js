// The page: one state, the answers for it, and the pictures of these.

import { byId, errorText, shown } from "./draw.js";
import { Hand } from "./hand.js";
import { hasWidth } from "./kernels.js";
import { localEngine } from "./local.js";
import { Play } from "./play.js";
import { PROBLEMS, pointsOf } from "./problems.js";
import { remoteEngine } from "./remote.js";
import { Select } from "./select.js";
import { LOSSES, fresh, fromHash, lossesOf, toHash } from "./state.js";
import { Tours } from "./tours.js";
import { alphaPanel, dots, frame, gone, gramPanel, ground, layoutOf, lines, scalesOf, spectrumPanel, surfacePanel } from "./views.js";

const REST = 350; // milliseconds without a change before the surface is drawn

function legendOf(layout, data, loss) {
  const others = data.points.x[0].length > (data.axes ?? 9) ? " The other columns are at their medians." : "";
  if (layout.kind === "words") return "";
  if (data.labels) return `■ ${data.labels[0]}, ● ${data.labels[1]}. ${layout.kind === "map" ? "Colours are probabilities; on the line both labels are equally likely." : "The curve is a probability."}${others}`;
  if (layout.kind === "map") return `Colours are targets, of points and predicted: dark is small, yellow is large.${others}`;
  const blue = { squared: "the fit, with a band that holds about 90 % of new points (jackknife+)", huber: "the fit", quantile: "the median, with a band from the 5 % to the 95 % quantile" };
  return `Blue: ${blue[loss]}.${data.problem?.truth && data.points.y.length > 3 ? " Dashed: the truth." : ""}${others}`;
}

class App {
  constructor() {
    this.engine = document.documentElement.dataset.edition === "static" ? localEngine : remoteEngine;
    this.state = fresh();
    this.chosen = -1;
    this.version = 0;
  }

  async start() {
    this.hand = new Hand(this);
    this.play = new Play(this);
    this.select = new Select(this);
    this.tours = new Tours(this);
    for (const tab of document.querySelectorAll("[role=tab]")) tab.addEventListener("click", () => this.change({ tab: tab.dataset.tab }, true));
    document.querySelector("[role=tablist]").addEventListener("keydown", (event) => this.tabKey(event));
    addEventListener("popstate", () => this.open(fromHash(location.hash)));
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener?.("change", () => this.draw());
    const still = this.engine.name === "static";
    byId("footer").textContent = still
      ? "Everything is worked out in this browser; nothing is sent anywhere."
      : "Worked out by mercer on this machine; nothing is sent anywhere else.";
    for (const id of ["table-open", "take-model", "take-python", "tab-select"]) byId(id).hidden = still;
    if (!still) {
      const { tables, opened } = await this.engine.ask("start", {}).catch(() => ({ tables: [], opened: null }));
      tables.forEach((table) => this.play.tableOpened(table));
      const first = tables.find((table) => table.key === opened);
      if (first && !location.hash) {
        await this.play.useTable(first);
        return;
      }
    }
    await this.open(fromHash(location.hash));
  }

  tabKey(event) {
    const tabs = [...document.querySelectorAll("[role=tab]:not([hidden])")];
    const now = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = tabs[(to + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  // Take over a whole state: from the address, a tour, or a table.
  async open(state) {
    const still = this.engine.name === "static"; // which has no tables and no searches
    this.state = still && (state.problem === "table" || state.tab === "select") ? { ...fresh(state.problem === "table" ? "sinusoid" : state.problem), tab: "play" } : state;
    this.hand.over = -1;
    this.withoutCurve = null;
    this.chosen = -1;
    if (!(await this.loadPoints())) return;
    this.sync();
    await this.refresh();
  }

  // Change some of the state. With `push` it is a step that the back button undoes.
  async change(patch, push = false) {
    const before = this.state;
    this.state = { ...before, ...patch };
    const anew = ["problem", "n", "noise", "seed", "edited", "table", "words"].some((key) => key in patch && patch[key] !== before[key]);
    if (anew && !(await this.loadPoints(before))) return; // a later change has taken over
    this.remember(push);
    this.sync();
    await this.refresh();
  }

  remember(push) {
    clearTimeout(this.later);
    if (push) {
      if (this.pending) history.replaceState(null, "", this.pending); // what the sliders had reached before this step
      this.pending = "";
      history.pushState(null, "", toHash(this.state));
      return;
    }
    this.pending = toHash(this.state);
    this.later = setTimeout(() => {
      history.replaceState(null, "", this.pending);
      this.pending = "";
    }, 250);
  }

  // Take over the points of the state, and the squared loss where another one does not apply to them; false if the state
  // has changed while a table was asked for.
  async loadPoints(before = null) {
    const loaded = await this.readPoints(before);
    if (loaded && !lossesOf(this.data.labels).includes(this.state.loss)) this.state = { ...this.state, loss: "squared" };
    return loaded;
  }

  async readPoints(before) {
    const { state } = this;
    const said = byId("data-error");
    said.textContent = "";
    if (state.problem === "table") {
      try {
        const { key, axes, target, others } = state.table;
        this.loading = (this.loading ?? 0) + 1;
        const found = await this.engine.ask("columns", { key, axes, target, others }).finally(() => { this.loading -= 1; });
        if (state !== this.state) return false;
        this.data = { points: { x: found.x, y: found.y }, names: [...found.names.slice(0, found.axes), found.target], axes: found.axes, labels: found.labels, scale: found.scale, words: "", problem: null };
        const known = this.play.tables.find((each) => each.key === key);
        byId("notes").textContent = [...found.notes, ...(known?.notes ?? [])].join(" ");
        return true;
      } catch (error) {
        if (state !== this.state) return false;
        said.textContent = error.message;
        if (before?.problem === "table" && this.data) {
          this.state = before; // the columns that were shown
          return true;
        }
        this.state = { ...fresh(), tab: state.tab };
      }
    }
    const problem = PROBLEMS[this.state.problem];
    byId("notes").textContent = "";
    const points = this.state.edited ?? pointsOf(this.state.problem, this.state.n, this.state.noise, this.state.seed);
    this.data = { points, names: problem.names, labels: problem.labels ?? null, words: this.state.words, problem };
    return true;
  }

  question(more = {}) {
    const { state, data } = this;
    return {
      points: { x: data.points.x, y: data.points.y, labels: Boolean(data.labels) },
      kernel: state.kernel, alpha: state.alpha, intercept: state.intercept, loss: state.loss, ...more,
    };
  }

  sync() {
    const { tab, loss } = this.state;
    for (const id of ["panel-alpha", "panel-surface"]) byId(id).hidden = loss !== "squared";
    for (const id of ["panels-note", "select-loss"]) byId(id).hidden = loss === "squared";
    document.body.dataset.tab = tab;
    for (const each of document.querySelectorAll("[role=tab]")) {
      each.setAttribute("aria-selected", String(each.dataset.tab === tab));
      each.tabIndex = each.dataset.tab === tab ? 0 : -1;
    }
    byId("side").setAttribute("aria-labelledby", `tab-${tab}`);
    byId("select").hidden = tab !== "select";
    byId("tours").hidden = tab !== "tours";
    this.play.sync();
    this.tours.sync();
  }

  // Ask for what the state needs. While an answer is on its way only the last change is remembered.
  async refresh() {
    this.version += 1;
    this.select.stale();
    if (this.busy) return this.done;
    this.busy = true;
    this.done = this.answerAll();
    await this.done;
    return undefined;
  }

  async answerAll() {
    try {
      let version;
      do {
        version = this.version;
        await this.answer(version);
      } while (version !== this.version);
    } finally {
      this.busy = false;
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.surfaceNow(), REST);
  }

  async answer(version) {
    const layout = layoutOf(this.data, this.held);
    try {
      const fit = await this.engine.ask("fit", this.question({ at: layout.at }));
      if (version !== this.version) return;
      Object.assign(this, { fit, layout });
      this.play.failed(fit.converged === false ? "Newton's method has not converged. Use a larger alpha." : "");
      byId("stage").classList.remove("stale");
      this.draw();
      if (this.chosen < 0) this.hand.describe(-1);
      this.tours.fitted();
      this.overviewNow();
    } catch (error) {
      if (version !== this.version) return;
      this.play.failed(error.message);
      byId("stage").classList.add("stale"); // the pictures are those of before
    }
  }

  // What does not depend on alpha: behind the fit, and one at a time, so that the next fit need not wait.
  async overviewNow() {
    const key = () => JSON.stringify([this.data.points, this.state.kernel, this.state.intercept, Boolean(this.data.labels)]);
    if (this.looking) return;
    this.looking = true;
    try {
      for (let now = key(); now !== this.matrixKey; now = key()) {
        const overview = await this.engine.ask("overview", this.question());
        Object.assign(this, { overview, matrixKey: now, surface: null });
        this.drawPanels();
      }
    } catch {
      // the fit of the same kernel and points says what is wrong
    } finally {
      this.looking = false;
    }
  }

  async surfaceNow() {
    if (this.surface || !this.fit || this.state.loss !== "squared") return;
    const version = this.version;
    const box = document.querySelector("#panel-surface .plot");
    const tree = this.play.tree();
    if (tree && !hasWidth(tree)) {
      box.textContent = "This kernel has no width, so there is no surface of errors.";
      return;
    }
    try {
      const found = await this.engine.ask("surface", this.question());
      if (version !== this.version) return;
      this.surface = found;
      this.drawSurface();
    } catch (error) {
      if (version === this.version) box.textContent = error.message;
    }
  }

  draw() {
    const { data, layout, fit } = this;
    if (!fit || !layout) return;
    const box = byId("plot");
    const s = scalesOf(layout, data, Math.max(280, box.clientWidth));
    this.scales = s;
    if (!box.firstElementChild || box.dataset.size !== `${s.width}x${s.height}`) {
      box.innerHTML = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${s.width} ${s.height}" width="${s.width}" height="${s.height}" aria-hidden="true"><clipPath id="inside"><rect/></clipPath><g></g><g clip-path="url(#inside)"></g><g clip-path="url(#inside)"></g><g clip-path="url(#inside)"></g><g></g></svg>`;
      box.dataset.size = `${s.width}x${s.height}`;
    }
    const [clip, ...groups] = box.firstElementChild.children;
    const inside = { x: s.x.from, y: s.y.to, width: s.x.to - s.x.from, height: s.y.from - s.y.to };
    for (const [name, value] of Object.entries(inside)) clip.firstElementChild.setAttribute(name, value);
    const [first, second, line, without, points] = groups;
    const map = layout.kind === "map"; // whose colours lie below the grid
    const [below, lined] = [ground(layout, data, s, fit), frame(layout, data, s)];
    first.innerHTML = map ? below + lined : lined;
    second.innerHTML = map ? "" : below;
    line.innerHTML = lines(layout, data, s, fit) + this.tours.over(layout, s);
    without.innerHTML = this.withoutCurve && this.chosen >= 0 ? gone(layout, data, s, this.withoutCurve) : "";
    points.innerHTML = dots(layout, data, s, this.chosen, this.tours.marked);
    this.drawNumbers();
    byId("legend").textContent = legendOf(layout, data, this.state.loss);
    const page = document.documentElement.dataset;
    page.drawn = String(Number(page.drawn ?? 0) + 1);
    if (this.overview) this.drawPanels();
  }

  // The panels follow as soon as their numbers are there; the matrix is drawn again only if it is another one.
  drawPanels() {
    const { data, fit, overview, state } = this;
    const width = (id) => Math.max(220, document.querySelector(`#${id} .plot`).clientWidth);
    const put = (id, picture) => { document.querySelector(`#${id} .plot`).innerHTML = picture; };
    put("panel-alpha", alphaPanel(width("panel-alpha"), overview, state.alpha, fit.left_out, data.labels));
    put("panel-spectrum", spectrumPanel(width("panel-spectrum"), overview, state.alpha));
    const key = `${width("panel-gram")}`;
    if (this.gramShown !== overview.gram || this.gramKey !== key) put("panel-gram", gramPanel(width("panel-gram"), overview.gram));
    Object.assign(this, { gramShown: overview.gram, gramKey: key });
    this.drawSurface();
    const page = document.documentElement.dataset;
    page.panels = String(Number(page.panels ?? 0) + 1);
  }

  drawSurface() {
    const box = document.querySelector("#panel-surface .plot");
    if (this.surface) box.innerHTML = surfacePanel(Math.max(220, box.clientWidth), this.surface, this.state.alpha, this.data.labels);
  }

  drawNumbers() {
    const { fit, data } = this;
    const other = LOSSES[this.state.loss].error;
    const how = other ?? (data.labels ? "share of wrong labels" : "root mean squared error");
    const error = (value) => errorText(value, data.labels && !other);
    const left = !other ? how : fit.left_out === null ? "not computed for quantiles, since it takes refits" : `${other}, approximate (one Newton step)`;
    const list = [
      ["training", "Training error", fit.training, error, how],
      ["left-out", "Leave-one-out error", fit.left_out, error, left],
      ["degrees", "Effective degrees of freedom", fit.degrees, (value) => shown(value, 4), `of ${data.points.y.length} points`],
      ["digits", "Correct digits", fit.digits, (value) => String(Math.floor(value)), "of about 15, in predictions"],
    ].slice(0, other ? 2 : 4); // the others are of squared errors
    byId("numbers").innerHTML = list.map(([id, name, value, say, more]) => `<div><dt>${name}</dt><dd id="number-${id}" data-value="${value}">${say(value)} <span class="hint">${more}</span></dd></div>`).join("");
  }
}

const app = new App();
globalThis.mercerLab = app;
app.start();
