// A search with nested cross-validation on the server: progress, a stop button, and what was found.

import { esc, shown } from "./draw.js";
import { surfacePanel } from "./views.js";

const part = (id) => document.getElementById(id);
const PAUSE = 150;

export class Select {
  constructor(app) {
    this.app = app;
    part("run").addEventListener("click", () => this.run());
    part("stop").addEventListener("click", () => this.stop());
    part("use").addEventListener("click", () => this.use());
    part("take-report").addEventListener("click", () => app.play.take("report", "report.html", this.job));
  }

  async run() {
    if (part("run").getAttribute("aria-disabled") === "true") return;
    part("select-error").textContent = "";
    part("found").hidden = true;
    part("progress").value = 0;
    part("progress-words").textContent = "starting";
    try {
      ({ job: this.job } = await this.app.engine.ask("search", this.app.question()));
      part("run").setAttribute("aria-disabled", "true");
      part("stop").disabled = false;
      await this.watch(this.job);
    } catch (error) {
      part("select-error").textContent = error.message;
      part("progress-words").textContent = "";
    } finally {
      part("run").removeAttribute("aria-disabled");
      part("stop").disabled = true;
    }
  }

  async watch(job) {
    for (;;) {
      const told = await this.app.engine.ask("progress", { job });
      part("progress").value = told.share;
      part("progress-words").textContent = told.stopped ? "stopped" : told.told;
      if (told.error) throw new Error(told.error);
      if (told.result) {
        this.show(told.result);
        return;
      }
      if (!told.running) return;
      await new Promise((done) => { setTimeout(done, PAUSE); });
    }
  }

  async stop() {
    part("stop").disabled = true;
    await this.app.engine.ask("stop", { job: this.job }).catch(() => undefined);
  }

  show(result) {
    this.result = result;
    this.points = this.app.data.points;
    const labels = this.app.data.labels;
    const say = labels ? (value) => `${(100 * value).toFixed(1)} %` : (value) => shown(value, 4);
    const list = [
      ["Chosen kernel", esc(result.kernel)],
      ["Chosen alpha", shown(result.alpha, 3)],
      ["Leave-one-out error of the choice", say(result.best)],
      ["Error on new points, nested (± standard error)", `${say(result.nested)} ± ${say(result.standard_error)}`],
      ["Optimism of the choice", say(result.optimism)],
    ];
    part("found-numbers").innerHTML = list.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("");
    part("found-numbers").dataset.nested = result.nested;
    part("found-numbers").dataset.best = result.best;
    part("found").hidden = false;
    part("take-report").hidden = typeof this.app.data.points.x[0] === "string";
    if (result.errors.length > 1) {
      const box = document.querySelector("#panel-surface .plot");
      const middle = (result.errors.length - 1) / 2;
      const factors = result.errors.map((_, i) => 16 ** ((i - middle) / middle));
      this.app.surface = { factors, alphas: result.alphas, errors: result.errors };
      box.innerHTML = surfacePanel(Math.max(220, box.clientWidth), this.app.surface, this.app.state.alpha, labels);
    }
  }

  // What was found belongs to other points as soon as these change.
  stale() {
    if (!this.result || this.points === this.app.data.points) return;
    this.result = null;
    part("found").hidden = true;
    part("progress").value = 0;
    part("progress-words").textContent = "";
  }

  use() {
    const { kernel, alpha } = this.result;
    this.app.change({ kernel, alpha }, true);
    this.app.play.certify();
  }
}
