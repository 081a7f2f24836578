// A search with nested cross-validation on the server: progress, a stop button, and what was found.

import { byId, errorText, esc, shown } from "./draw.js";

const PAUSE = 150;

export class Select {
  constructor(app) {
    this.app = app;
    byId("run").addEventListener("click", () => this.run());
    byId("stop").addEventListener("click", () => this.stop());
    byId("use").addEventListener("click", () => this.use());
    byId("take-report").addEventListener("click", () => app.play.take("report", "report.html", this.job));
  }

  async run() {
    if (byId("run").getAttribute("aria-disabled") === "true") return;
    byId("select-error").textContent = "";
    byId("found").hidden = true;
    byId("progress").value = 0;
    byId("progress-words").textContent = "starting";
    try {
      ({ job: this.job } = await this.app.engine.ask("search", this.app.question()));
      byId("run").setAttribute("aria-disabled", "true");
      byId("stop").disabled = false;
      await this.watch(this.job);
    } catch (error) {
      byId("select-error").textContent = error.message;
      byId("progress-words").textContent = "";
    } finally {
      byId("run").removeAttribute("aria-disabled");
      byId("stop").disabled = true;
    }
  }

  async watch(job) {
    for (;;) {
      const told = await this.app.engine.ask("progress", { job });
      byId("progress").value = told.share;
      byId("progress-words").textContent = told.stopped ? "stopped" : told.told;
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
    byId("stop").disabled = true;
    await this.app.engine.ask("stop", { job: this.job }).catch(() => undefined);
  }

  show(result) {
    this.result = result;
    this.points = this.app.data.points;
    const say = (value) => errorText(value, this.app.data.labels);
    const list = [
      ["Chosen kernel", esc(result.kernel)],
      ["Chosen alpha", shown(result.alpha, 3)],
      ["Leave-one-out error of the choice", say(result.best)],
      ["Error on new points, nested (± standard error)", `${say(result.nested)} ± ${say(result.standard_error)}`],
      ["Optimism of the choice", say(result.optimism)],
    ];
    byId("found-numbers").innerHTML = list.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("");
    byId("found-numbers").dataset.nested = result.nested;
    byId("found-numbers").dataset.best = result.best;
    byId("found").hidden = false;
    byId("take-report").hidden = typeof this.app.data.points.x[0] === "string";
    if (result.errors.length > 1) {
      this.app.surface = result;
      this.app.drawSurface();
    }
  }

  // What was found belongs to other points as soon as these change.
  stale() {
    if (!this.result || this.points === this.app.data.points) return;
    this.result = null;
    byId("found").hidden = true;
    byId("progress").value = 0;
    byId("progress-words").textContent = "";
  }

  use() {
    const { kernel, alpha } = this.result;
    this.app.change({ kernel, alpha }, true);
    this.app.play.certify();
  }
}
