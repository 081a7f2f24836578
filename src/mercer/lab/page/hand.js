// The hand in the plot: points are dragged, added, removed and looked at, by pointer or by keys.

import { byId, shown } from "./draw.js";
import { placeOf } from "./views.js";

const NEAR = 14;
const MOST = 300;

export class Hand {
  constructor(app) {
    this.app = app;
    this.over = -1;
    const plot = byId("plot");
    plot.addEventListener("pointerdown", (event) => this.down(event));
    plot.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) plot.addEventListener(end, (event) => this.up(event));
    plot.addEventListener("pointerleave", (event) => { if (!this.dragged && event.pointerType !== "touch") this.hover(-1); });
    plot.addEventListener("dblclick", (event) => {
      const row = this.near(event);
      if (row >= 0) this.remove(row);
    });
    plot.addEventListener("keydown", (event) => this.key(event));
  }

  place(event) {
    const { scales } = this.app;
    const edges = byId("plot").getBoundingClientRect();
    return [((event.clientX - edges.left) / edges.width) * scales.width, ((event.clientY - edges.top) / edges.height) * scales.height];
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
      byId("plot").setPointerCapture(event.pointerId);
      this.dragged = this.editable;
      this.app.held = this.dragged ? this.app.layout : null; // axes stay while a point is dragged
      event.preventDefault();
      byId("plot").focus({ preventScroll: true });
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
      if (layout.kind !== "words") byId("data-error").textContent = `There are ${MOST} points, which is the most.`;
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
      byId("said").textContent = last ? "The last point of a label stays." : "Three points at least stay.";
      return;
    }
    points.x.splice(row, 1);
    points.y.splice(row, 1);
    this.app.chosen = Math.min(row, points.y.length - 1);
    this.over = -1;
    this.app.withoutCurve = null;
    this.app.change({ edited: points }, true);
    byId("said").textContent = `Point ${row + 1} is removed; ${points.y.length} are left.`;
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
    if (row < 0 || app.state.loss !== "squared") return; // leaving one out takes a refit for other losses
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
    const squared = this.app.state.loss === "squared";
    if (row < 0 || !fit?.residuals || row >= fit.residuals.length) {
      const how = data.labels && this.editable ? " (with Shift one of the other label)" : "";
      byId("said").textContent = this.editable && typeof data.points.x[0] !== "string"
        ? `Click to add a point${how}, drag to move one, double-click to remove it${squared ? "; hover to see the fit without it" : ""}.`
        : squared ? "Hover over a point to see the fit without it." : "";
      return;
    }
    const x = data.points.x[row];
    const unit = (column, value) => { const by = data.scale?.[column]; return shown(by ? by[0] + by[1] * value : value, 3); };
    const place = typeof x === "string" ? `“${x}”` : `(${[...x.slice(0, data.axes ?? 9).map((each, j) => unit(j, each)), ...(data.labels ? [] : [shown(data.points.y[row], 3)])].join(", ")})`;
    const parts = [`Point ${row + 1} ${place}: the others miss it by ${shown(Math.abs(fit.residuals[row]), 3)}`];
    if (fit.leverage) parts.push(`its own share in the fit there (leverage) is ${shown(fit.leverage[row], 2)}`);
    if (fit.error_without) parts.push(`without it the leave-one-out error is ${shown(fit.error_without[row], 4)}`);
    byId("said").textContent = `${parts.join("; ")}.${squared ? " Orange dashes: the fit without it." : ""}`;
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
}
