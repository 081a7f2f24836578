// Where points come from: drawn at random with a seed, or small data sets.

import { SAMPLES } from "./samples.js";

// A small generator of random numbers that is the same everywhere (mulberry32), and normal numbers from it.
export function random(seed) {
  let state = (seed * 2654435761) >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

const tidy = (value) => Number(value.toPrecision(6));

const sineWith = (spread) => (n, noise, seed) => {
  const { uniform, normal } = random(seed);
  const x = Array.from({ length: n }, () => [tidy(6 * uniform())]).sort((a, b) => a[0] - b[0]);
  return { x, y: x.map(([each]) => tidy(Math.sin(each) + spread(each) * noise * normal())) };
};
const same = () => 1;
const growing = (x) => 0.1 + 0.3 * x;

function groups(n, noise, seed) {
  const { normal } = random(seed);
  const y = Array.from({ length: n }, (_, i) => (i % 2 ? 1 : -1));
  return { x: y.map((each) => [tidy(each + noise * normal()), tidy(noise * normal())]), y };
}

function moons(n, noise, seed) {
  const { uniform, normal } = random(seed);
  const x = [];
  const y = [];
  for (let i = 0; i < n; i += 1) {
    const angle = Math.PI * uniform();
    const up = i % 2 === 0;
    const place = up ? [Math.cos(angle), Math.sin(angle)] : [1 - Math.cos(angle), 0.5 - Math.sin(angle)];
    x.push(place.map((each) => tidy(each + noise * normal())));
    y.push(up ? 1 : -1);
  }
  return { x, y };
}

function rings(n, noise, seed) {
  const { uniform, normal } = random(seed);
  const x = [];
  const y = [];
  for (let i = 0; i < n; i += 1) {
    const angle = 2 * Math.PI * uniform();
    const inner = i % 2 === 0;
    const radius = (inner ? 0.55 : 1.15) + 0.6 * noise * normal();
    x.push([tidy(radius * Math.cos(angle)), tidy(radius * Math.sin(angle))]);
    y.push(inner ? -1 : 1);
  }
  return { x, y };
}

function nothing(n, noise, seed) {
  const { uniform, normal } = random(seed);
  const x = Array.from({ length: n }, () => [tidy(6 * uniform())]).sort((a, b) => a[0] - b[0]);
  return { x, y: x.map(() => tidy(noise * normal())) };
}

const column = (list) => list.map((each) => [each]);

export const PROBLEMS = {
  sinusoid: {
    title: "Sinusoid",
    about: "Points around sin(x), between 0 and 6; the dashed curve is the truth.",
    draw: sineWith(same), n: 40, noise: 0.3, truth: Math.sin, kernel: "Gaussian(width=1)", alpha: 0.1, range: [[0, 6]], names: ["x", "y"],
  },
  growing: {
    title: "Noise that grows",
    about: "Points around sin(x), between 0 and 6, whose noise grows with x; the dashed curve is the truth.",
    draw: sineWith(growing), spread: growing, n: 100, noise: 0.4, truth: Math.sin, kernel: "Gaussian(width=1)", alpha: 0.1, range: [[0, 6]], names: ["x", "y"],
  },
  motorcycle: {
    title: "Motorcycle accidents",
    about: "Acceleration of a dummy's head (g) against milliseconds after the impact: 133 measurements, whose noise changes with time (Silverman 1985).",
    points: { x: column(SAMPLES.motorcycle.x), y: SAMPLES.motorcycle.y }, kernel: "Gaussian(width=5)", alpha: 0.5, names: ["milliseconds", "acceleration (g)"],
  },
  co2: {
    title: "Carbon dioxide",
    about: "Carbon dioxide over Mauna Loa (ppm), every second month from 1958 to 2001 (Keeling and Whorf).",
    points: { x: column(SAMPLES.co2.x), y: SAMPLES.co2.y }, kernel: "30 * Gaussian(width=30) + Gaussian(width=60) * Periodic(width=1, period=1)", alpha: 0.01, fine: 801, names: ["year", "ppm"],
  },
  moons: {
    title: "Two moons",
    about: "Two half circles that bend into one another; colours and shapes are the labels.",
    draw: moons, n: 100, noise: 0.2, labels: ["blue", "orange"], kernel: "Gaussian(width=0.5)", alpha: 0.1, names: ["x1", "x2"],
  },
  banana: {
    title: "Banana",
    about: "Two classes in the plane, 200 points of a benchmark set (Raetsch, Onoda and Mueller 2001).",
    points: { x: SAMPLES.banana.x, y: SAMPLES.banana.y }, labels: ["blue", "orange"], kernel: "Gaussian(width=0.5)", alpha: 0.3, names: ["x1", "x2"],
  },
  groups: {
    title: "Two groups",
    about: "Two round groups beside one another; colours and shapes are the labels.",
    draw: groups, n: 40, noise: 0.6, labels: ["blue", "orange"], kernel: "Linear()", alpha: 0.1, range: [[-5, 5], [-2.5, 2.5]], names: ["x1", "x2"],
  },
  rings: {
    title: "Two rings",
    about: "One ring inside another: no line separates them.",
    draw: rings, n: 80, noise: 0.12, labels: ["inner", "outer"], kernel: "Polynomial(degree=2, offset=0, scale=1)", alpha: 0.1, names: ["x1", "x2"],
  },
  nothing: {
    title: "Nothing but noise",
    about: "Targets that do not depend on x at all; the truth is 0.",
    draw: nothing, n: 40, noise: 0.5, truth: () => 0, kernel: "Gaussian(width=0.5)", alpha: 0.1, range: [[0, 6]], names: ["x", "y"],
  },
  greetings: {
    title: "Greetings (words)",
    about: "English greetings are +1, German ones −1. Bars are predictions; a short line is what the other words predict for a greeting: six words are too few to learn from.",
    points: { x: SAMPLES.greetings.x, y: SAMPLES.greetings.y }, words: "mornings hullo welcoming hallihallo wilkommen", kernel: "Spectrum(length=2).normalized()", alpha: 0.1, names: ["word", "English (+1) or German (-1)"],
  },
};

export const targetsAgain = (problem, x, noise, seed) => {
  const { normal } = random(seed);
  return x.map(([each]) => tidy(PROBLEMS[problem].truth(each) + (PROBLEMS[problem].spread ?? same)(each) * noise * normal()));
};

export function pointsOf(problem, n, noise, seed) {
  const found = PROBLEMS[problem];
  const { x, y } = found.draw ? found.draw(n, noise, seed) : found.points;
  return { x: x.map((each) => (Array.isArray(each) ? [...each] : each)), y: [...y] };
}
