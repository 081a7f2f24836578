// Guided tours: a few sentences and a state for each step, one tour for each idea of the lectures.

import { axes, byId, esc, fixed, path, scale, shown, svg } from "./draw.js";
import { pointsOf, random, targetsAgain } from "./problems.js";
import { LOSSES, fresh } from "./state.js";

const base = (problem, more = {}) => ({ ...fresh(problem), ...more });

// A state whose first point is a further one.
const withOne = (problem, x, y, more) => {
  const state = base(problem, more);
  const others = pointsOf(problem, state.n, state.noise, state.seed);
  return { ...state, edited: { x: [x, ...others.x], y: [y, ...others.y] } };
};
const farOff = (loss) => withOne("sinusoid", [4.5], 4, { n: 30, noise: 0.15, alpha: 0.2, loss });

export const TOURS = {
  alpha: {
    title: "Overfitting and alpha",
    steps: [
      { text: "Forty points around a sine. The curve minimizes the squared errors plus alpha times the squared length of the function. With this alpha it is close to the truth, the dashed line.", state: base("sinusoid", { kernel: "Gaussian(width=0.5)", alpha: 0.5 }) },
      { text: "Now alpha is tiny. The curve runs after every point: the training error falls, and the leave-one-out error, which asks each point while it is left out, rises. The effective degrees of freedom say how many parameters the curve spends.", state: base("sinusoid", { kernel: "Gaussian(width=0.5)", alpha: 1e-6 }) },
      { text: "Now alpha is large, and the curve hardly moves. Both errors are large: this is underfitting. Move the slider of alpha and watch the dot on the curve of errors: the valley is where to be.", state: base("sinusoid", { kernel: "Gaussian(width=0.5)", alpha: 100 }) },
      { text: "Here is little noise. Add some with its slider, and look for the valley again: with more noise the best alpha is larger.", state: base("sinusoid", { noise: 0.1, seed: 5, alpha: 0.02 }) },
    ],
  },
  width: {
    title: "Width",
    steps: [
      { text: "The width of the Gaussian says how far a point reaches. Here it is narrow: away from its diagonal the kernel matrix is nearly 0, and every point speaks for its closest neighbours alone.", state: base("sinusoid", { kernel: "Gaussian(width=0.1)", alpha: 0.1 }) },
      { text: "Here it is wide: all points look alike, the matrix is nearly constant, and a few eigenvalues carry everything. The curve is stiff.", state: base("sinusoid", { kernel: "Gaussian(width=6)", alpha: 0.1 }) },
      { text: "Width and alpha act together: look at the surface of left-out errors. A yellow band of good settings runs across it: a wider kernel with a smaller alpha is about as good.", state: base("sinusoid", { kernel: "Gaussian(width=1.5)", alpha: 0.05 }) },
      { text: "Real data: the noise of these accidents changes with time, and no width is right everywhere. Hover over a point to see the curve without it.", state: base("motorcycle") },
    ],
  },
  variance: {
    title: "Bias and variance",
    extra: "draws",
    steps: [
      { text: "The same places, new noise: draw many data sets and watch the thin curves. Where they spread, there is variance; where their mean (orange) misses the truth (grey dashes), there is bias.", state: base("sinusoid", { kernel: "Gaussian(width=0.4)", alpha: 0.3 }) },
      { text: "A tiny alpha, the same width: the curves scatter widely, around a mean that is nearly right. Low bias, high variance. Draw again.", state: base("sinusoid", { kernel: "Gaussian(width=0.4)", alpha: 1e-4 }) },
      { text: "A large alpha: all curves are alike, and all are wrong in the same way. High bias, low variance. The error on new points is the sum of both and of the noise.", state: base("sinusoid", { kernel: "Gaussian(width=0.4)", alpha: 30 }) },
    ],
  },
  features: {
    title: "Kernel trick and feature map",
    extra: "features",
    steps: [
      { text: "One ring inside another: in the plane no line separates them. The kernel (x·z)² is a dot product too, but in three dimensions, of the features x1², √2 x1 x2 and x2². Turn the picture below, which shows these features: there a plane separates the rings.", state: base("rings") },
      { text: "The model never writes these features down. It needs their dot products alone, and these are the numbers of the kernel matrix. A linear kernel on the two numbers fails, as you see.", state: base("rings", { kernel: "Linear()", alpha: 0.1 }) },
      { text: "The Gaussian's feature map has infinitely many dimensions, and costs the same: one number for each pair of points.", state: base("rings", { kernel: "Gaussian(width=0.7)", alpha: 0.1 }) },
    ],
  },
  curse: {
    title: "Curse of dimensionality",
    extra: "distances",
    steps: [
      { text: "Kernels compare points by distance. Below are the distances of all pairs of 100 random points in a cube: in few dimensions there are near and far ones.", state: base("sinusoid"), dimensions: 2 },
      { text: "In many dimensions all distances are about the same, and the nearest point is hardly nearer than the farthest: a Gaussian then cannot tell neighbours from strangers, unless few columns matter or the width is chosen per column.", state: base("sinusoid"), dimensions: 100 },
    ],
  },
  loss: {
    title: "What the loss does to an outlier",
    steps: [
      { text: "Thirty points around a sine, and one far off: the red one. The squared loss of an error of 4 is sixteen times that of an error of 1, so the curve bends towards the red point. Drag the red point down to the dashed curve and up again, and watch the curve.", marked: 0, state: farOff("squared") },
      { text: "The same points with the Huber loss. It is squared for small errors and linear for large ones, so it matters little how far off a point is. The curve follows the other points. Drag the red point up and down: the curve moves only when the red point comes near it.", marked: 0, state: farOff("huber") },
      { text: "Here the noise grows from left to right. The pinball loss fits quantiles: the curve is the median, and the band reaches from the 5 % to the 95 % quantile. The band widens with the noise. Press Squared: the band of the squared loss has nearly the same width everywhere.", losses: ["quantile", "squared"], state: base("growing", { loss: "quantile", alpha: 0.3 }) },
      { text: "Two groups of labels, and one wrong label: the orange point with a red ring. The line turns towards it, with the squared loss about twice as far as with the logistic loss: press Squared and Logistic. Now drag the ringed point to the upper right corner, where its label is correct. With the squared loss the line still turns, because a prediction above 1 for a label of 1 counts as an error; with the logistic loss it does not.", losses: ["logistic", "squared"], marked: 0, state: withOne("groups", [-4.7, 1.5], 1, { loss: "logistic" }) },
    ],
  },
  nested: {
    title: "Why nested cross-validation",
    extra: "selection",
    steps: [
      { text: "Here the targets are noise: nothing can be learned, and the best possible error on new points is 0.5. A search still finds some setting whose leave-one-out error looks better than that: see the least value of the curve below.", state: base("nothing", { seed: 4, kernel: "Gaussian(width=1)" }) },
      { text: "Repeat it: draw new noise, take the best of 299 settings by its leave-one-out error, and compare with the error of this very setting on new points. The chosen one flatters itself on average: that difference is the optimism. Nested cross-validation, under Select, measures it with your data.", state: base("nothing", { n: 20, seed: 4 }) },
    ],
  },
  valid: {
    title: "What makes a kernel valid",
    steps: [
      { text: "A kernel must be a dot product of features. Then its matrix never has a negative eigenvalue, whatever the points. Open the certificate to see the argument for this kernel.", state: base("sinusoid", { kernel: "Gaussian(width=1) + 0.5 * Linear()", n: 20 }) },
      { text: "The sigmoid tanh(x z + 1) is often used as a kernel, and is not one. For these two points both eigenvalues are positive all the same. Drag the left point slowly towards the right one, and watch the eigenvalues.", state: base("sinusoid", { kernel: "Sigmoid(scale=1, offset=1)", alpha: 0.1, intercept: false, edited: { x: [[0.05], [1.2]], y: [0.5, -0.5] } }) },
      { text: "Here it has happened: the orange triangle is a negative eigenvalue. There are no features whose dot products these numbers could be, squared lengths would be negative, and the model has no minimum to find.", state: base("sinusoid", { kernel: "Sigmoid(scale=1, offset=1)", alpha: 0.1, intercept: false, edited: { x: [[0.7], [1.2]], y: [0.5, -0.5] } }) },
      { text: "The squared distance is no kernel either: its matrix has zeros on the diagonal, and at least one eigenvalue is below zero for any points that differ.", state: base("sinusoid", { kernel: "SquaredDistance()", alpha: 10, n: 12 }) },
    ],
  },
};

const DRAWS = 20;
const REPEATS = 8;

export class Tours {
  constructor(app) {
    this.app = app;
    this.box = byId("tours");
    this.extra = byId("extra");
    this.curves = null;
    this.box.addEventListener("click", (event) => {
      const { tour, go, loss } = event.target.dataset;
      if (loss) this.app.change({ loss }, true);
      if (tour) this.go(tour, 0);
      if (go !== undefined) this.go(this.app.state.tour, Number(go));
      if (event.target.dataset.list !== undefined) this.app.change({ tour: "", step: 0 }, true);
    });
  }

  get tour() {
    const { tab, tour } = this.app.state;
    return tab === "tours" && Object.hasOwn(TOURS, tour) ? TOURS[tour] : undefined;
  }

  // The point that the text is about, as long as it is there.
  get marked() {
    const { step, edited } = this.app.state;
    const shown = this.tour?.steps[Math.min(step, this.tour.steps.length - 1)];
    return shown?.marked !== undefined && edited?.y.length >= shown.state.edited.y.length ? shown.marked : -1;
  }

  async go(tour, step) {
    const { state } = TOURS[tour].steps[step];
    await this.app.change({ ...state, tab: "tours", tour, step }, true);
    this.box.querySelector("h2")?.focus();
  }

  sync() {
    this.show();
    for (const each of this.box.querySelectorAll("[data-loss]")) each.setAttribute("aria-pressed", String(each.dataset.loss === this.app.state.loss));
  }

  show() {
    const { state } = this.app;
    const { tour } = this;
    const key = `${state.tab}/${state.tour}/${state.step}`;
    if (this.key === key) return;
    this.key = key;
    this.curves = null;
    if (!tour) {
      this.box.innerHTML = `<h2 tabindex="-1">Tours</h2><ul class="tour-list">${Object.entries(TOURS).map(([name, each]) => `<li><button data-tour="${name}">${esc(each.title)}</button></li>`).join("")}</ul>`;
      this.extra.hidden = true;
      this.extra.innerHTML = "";
      this.shownExtra = "";
      return;
    }
    const step = Math.min(state.step, tour.steps.length - 1);
    const move = (to, words, on) => `<button data-go="${to}"${on ? "" : " disabled"}>${words}</button>`;
    const { text, losses = [] } = tour.steps[step];
    const choices = losses.map((name) => `<button data-loss="${name}">${LOSSES[name].short}</button>`).join("");
    this.box.innerHTML = `<h2 tabindex="-1">${esc(tour.title)}</h2><p>${esc(text)}</p>${choices && `<p class="row" role="group" aria-label="Loss">${choices}</p>`}<p class="hint">Step ${step + 1} of ${tour.steps.length}. The controls below stay yours.</p><p class="row">${move(step - 1, "Back", step > 0)}${move(step + 1, "Next", step + 1 < tour.steps.length)}<button data-list>All tours</button></p>`;
    this.showExtra(tour, step);
  }

  showExtra(tour, step) {
    this.extra.hidden = !tour.extra;
    const key = `${tour.extra}${["distances", "selection"].includes(tour.extra) ? step : ""}`;
    if (tour.extra && this.shownExtra !== key) EXTRAS[tour.extra](this, tour.steps[step]);
    this.shownExtra = key;
  }

  // What a tour draws over the plot.
  over(layout, s) {
    if (!this.curves || !this.tour || layout.kind !== "curve") return "";
    const thin = this.curves.map((curve) => `<path class="thin" d="${path(layout.xs, curve, s.x, s.y)}"/>`).join("");
    const mean = layout.xs.map((_, i) => this.curves.reduce((sum, curve) => sum + curve[i], 0) / this.curves.length);
    return `${thin}<path class="gone" d="${path(layout.xs, mean, s.x, s.y)}"/>`;
  }

  fitted() {
    const { tour } = this;
    if (tour?.extra === "draws" && this.wanted) this.draws();
    if (tour?.extra === "features") drawFeatures(this);
  }

  async draws() {
    const { app } = this;
    const { state, data, layout } = app;
    if (!data.problem?.truth) return;
    const version = app.version;
    const draws = Array.from({ length: DRAWS }, (_, i) => targetsAgain(state.problem, data.points.x, state.noise, 1000 * this.wanted + i));
    const { curves } = await app.engine.ask("draws", app.question({ at: layout.at, draws }));
    if (version !== app.version) return;
    this.curves = curves;
    app.draw();
    const truth = layout.xs.map(data.problem.truth);
    const means = layout.xs.map((_, i) => curves.reduce((sum, curve) => sum + curve[i], 0) / curves.length);
    const bias = means.reduce((sum, each, i) => sum + (each - truth[i]) ** 2, 0) / truth.length;
    const spread = means.reduce((sum, each, i) => sum + curves.reduce((all, curve) => all + (curve[i] - each) ** 2, 0) / (curves.length - 1), 0) / truth.length;
    const own = Math.max(0, bias - spread / curves.length); // the mean of 20 curves varies, too
    byId("drawn-words").textContent = `Bias² ${shown(own, 2)}, variance ${shown(spread, 2)}, noise ${shown(state.noise ** 2, 2)}: expected squared error on new points ${shown(own + spread + state.noise ** 2, 2)}.${state.loss === "squared" ? "" : " These curves are fits with the squared loss."}`;
  }
}

function drawFeatures(tours) {
  const box = byId("turned");
  if (!box) return;
  const { data } = tours.app;
  const angle = (Number(byId("turn").value) * Math.PI) / 180;
  const width = Math.max(280, box.clientWidth);
  const height = Math.min(360, Math.max(240, width * 0.5));
  const middle = [0.6, 0, 0.6];
  const turned = ([u, v, w]) => {
    const [a, b, c] = [u - middle[0], v - middle[1], w - middle[2]];
    const x = a * Math.cos(angle) - c * Math.sin(angle);
    const z = a * Math.sin(angle) + c * Math.cos(angle);
    return [x, b * 0.94 - z * 0.34, z];
  };
  const s = Math.min(width / 3.6, height / 2.6);
  const on = (p) => [width / 2 + s * p[0], height / 2 - s * p[1]].map(fixed);
  const ends = [[[0, 0, 0], [1.8, 0, 0], "x1²"], [[0, 0, 0], [0, 1.1, 0], "√2 x1 x2"], [[0, 0, 0], [0, 0, 1.8], "x2²"]];
  const lines = ends.map(([from, to, name]) => {
    const [a, b] = [on(turned(from)), on(turned(to))];
    return `<line class="axis" x1="${a[0]}" y1="${a[1]}" x2="${b[0]}" y2="${b[1]}"/><text class="strong" x="${b[0]}" y="${b[1]}" dx="4">${name}</text>`;
  });
  const points = data.points.x.map(([x1, x2], i) => ({ at: turned([x1 * x1, Math.SQRT2 * x1 * x2, x2 * x2]), target: data.points.y[i] })).sort((a, b) => a.at[2] - b.at[2]);
  const shapes = points.map(({ at, target }) => {
    const [u, v] = on(at);
    return target < 0 ? `<rect class="point minus" x="${u - 4}" y="${v - 4}" width="8" height="8"/>` : `<circle class="point plus" cx="${u}" cy="${v}" r="4.5"/>`;
  });
  box.innerHTML = svg(width, height, "The points in three dimensions", lines.join("") + shapes.join(""));
}

function drawDistances(dimensions) {
  const box = byId("histogram");
  const { uniform } = random(7);
  const points = Array.from({ length: 100 }, () => Array.from({ length: dimensions }, uniform));
  const all = [];
  let ratio = 0;
  points.forEach((a, i) => {
    const mine = points.filter((_, j) => j !== i).map((b) => Math.hypot(...a.map((each, c) => each - b[c])));
    all.push(...mine);
    ratio += Math.min(...mine) / Math.max(...mine) / points.length;
  });
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length;
  const bins = new Array(40).fill(0);
  for (const each of all) bins[Math.min(39, Math.floor((each / mean) * 16))] += 1;
  const width = Math.max(280, box.clientWidth);
  const x = scale(0, 2.5, 52, width - 12);
  const y = scale(0, Math.max(...bins) / all.length, 190, 24);
  const bars = bins.map((count, i) => `<rect class="bar" x="${fixed(x(i / 16))}" width="${fixed(x(1 / 16) - x(0) - 1)}" y="${fixed(y(count / all.length))}" height="${fixed(190 - y(count / all.length))}"/>`);
  box.innerHTML = svg(width, 235, `Distances of pairs in ${dimensions} dimensions`, axes(x, y, ["distance, in units of the mean distance", "share of pairs"]) + bars.join(""));
  byId("distance-words").textContent = `In ${dimensions} dimension${dimensions === 1 ? "" : "s"} the nearest point is at ${Math.round(100 * ratio)} % of the distance of the farthest one, on average.`;
}

// The best of all settings on noise, and what that setting does on new points.
async function drawSelection(tours) {
  const { app } = tours;
  const list = byId("selection-list");
  const button = byId("repeat-search");
  button.disabled = true;
  list.innerHTML = "";
  const { n, noise } = app.state;
  const xs = Array.from({ length: 61 }, (_, i) => [(6 * i) / 60]);
  const found = [];
  for (let i = 0; i < REPEATS && document.body.contains(list); i += 1) {
    const points = pointsOf("nothing", n, noise, 100 + i + REPEATS * (tours.repeats ?? 0));
    const question = { points, kernel: "Gaussian(width=1)", alpha: 1, intercept: true };
    const surface = await app.engine.ask("surface", question);
    let best = { error: Infinity };
    surface.errors.forEach((row, a) => row.forEach((error, b) => { if (error < best.error) best = { error, width: surface.factors[a], alpha: surface.alphas[b] }; }));
    const { curve } = await app.engine.ask("fit", { ...question, kernel: `Gaussian(width=${best.width.toPrecision(6)})`, alpha: best.alpha, at: xs });
    const fresher = Math.sqrt(noise ** 2 + curve.reduce((sum, each) => sum + each * each, 0) / curve.length);
    found.push([best.error, fresher]);
    const mean = (k) => found.reduce((sum, each) => sum + each[k], 0) / found.length;
    list.innerHTML = `<p>After ${found.length} data sets: leave-one-out error of the chosen setting <strong>${shown(mean(0))}</strong>, its error on new points <strong>${shown(mean(1))}</strong>; optimism ${shown(mean(1) - mean(0), 2)}.</p>`;
  }
  tours.repeats = (tours.repeats ?? 0) + 1;
  button.disabled = false;
}

const EXTRAS = {
  draws: (tours) => {
    tours.extra.innerHTML = '<p class="row"><button id="draw-many">Draw 20 data sets</button></p><p id="drawn-words" role="status"></p>';
    tours.wanted = 0;
    byId("draw-many").addEventListener("click", () => {
      tours.wanted = (tours.wanted ?? 0) + 1;
      tours.draws();
    });
  },
  features: (tours) => {
    tours.extra.innerHTML = '<label for="turn">Turn the picture</label><input type="range" id="turn" min="0" max="360" value="40"><div id="turned"></div>';
    byId("turn").addEventListener("input", () => drawFeatures(tours));
    drawFeatures(tours);
  },
  distances: (tours, step) => {
    tours.extra.innerHTML = `<label for="dimensions">Dimensions <output id="dimensions-out">${step.dimensions}</output></label><input type="range" id="dimensions" min="1" max="200" value="${step.dimensions}"><p id="distance-words" role="status"></p><div id="histogram"></div>`;
    byId("dimensions").addEventListener("input", (event) => {
      byId("dimensions-out").textContent = event.target.value;
      drawDistances(Number(event.target.value));
    });
    drawDistances(step.dimensions);
  },
  selection: (tours) => {
    tours.extra.innerHTML = '<p class="row"><button id="repeat-search">Search on 8 new data sets</button></p><div id="selection-list" role="status"></div>';
    byId("repeat-search").addEventListener("click", () => drawSelection(tours));
  },
};
