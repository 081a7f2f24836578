// Matrices as rows of Float64Array: Cholesky factors, inverses, eigenvalues, singular values, condition numbers.

export const zeros = (n, m) => Array.from({ length: n }, () => new Float64Array(m));

export const dotOf = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};

// L with A = L L', or null where A is not positive definite.
export function cholesky(A) {
  const n = A.length;
  const L = zeros(n, n);
  for (let i = 0; i < n; i += 1) {
    const row = L[i];
    for (let j = 0; j <= i; j += 1) {
      const other = L[j];
      let sum = A[i][j];
      for (let k = 0; k < j; k += 1) sum -= row[k] * other[k];
      if (i === j) {
        if (!(sum > 0)) return null;
        row[i] = Math.sqrt(sum);
      } else row[j] = sum / other[j];
    }
  }
  return L;
}

// A^-1 b from A = L L'.
export function solveWith(L, b) {
  const n = L.length;
  const x = Float64Array.from(b);
  for (let i = 0; i < n; i += 1) {
    const row = L[i];
    let sum = x[i];
    for (let k = 0; k < i; k += 1) sum -= row[k] * x[k];
    x[i] = sum / row[i];
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    x[i] /= L[i][i];
    const row = L[i];
    for (let k = 0; k < i; k += 1) x[k] -= row[k] * x[i];
  }
  return x;
}

// The condition number of A, or of A scaled to a diagonal of ones if that is smaller, by power iteration.
export function conditionNumber(A, solve) {
  const n = A.length;
  const times = (v) => Float64Array.from(A, (row) => dotOf(row, v));
  const largest = (apply) => {
    let v = Float64Array.from({ length: n }, (_, i) => 1 + Math.SQRT2 * Math.sign(Math.sin((i + 1) ** 2 * 0.7071)));
    let best = 0;
    for (let step = 0; step < 6; step += 1) {
      const before = Math.hypot(...v);
      v = apply(v.map((each) => each / before));
      best = Math.max(best, Math.hypot(...v));
    }
    return best;
  };
  const scale = A.map((row, i) => 1 / Math.sqrt(row[i]));
  const plain = largest(times) * largest(solve);
  const by = (v) => v.map((each, i) => each * scale[i]);
  const over = (v) => v.map((each, i) => each / scale[i]);
  return Math.max(1, Math.min(plain, largest((v) => by(times(by(v)))) * largest((v) => over(solve(over(v))))));
}

// A^-1 from A = L L'.
export function inverseFrom(L) {
  const n = L.length;
  const M = zeros(n, n); // L^-1, column by column as rows: M[j][i] for i >= j
  for (let j = 0; j < n; j += 1) {
    const column = M[j];
    column[j] = 1 / L[j][j];
    for (let i = j + 1; i < n; i += 1) {
      const row = L[i];
      let sum = 0;
      for (let k = j; k < i; k += 1) sum -= row[k] * column[k];
      column[i] = sum / row[i];
    }
  }
  const G = zeros(n, n);
  for (let i = 0; i < n; i += 1)
    for (let j = 0; j <= i; j += 1) {
      const a = M[i];
      const b = M[j];
      let sum = 0;
      for (let k = i; k < n; k += 1) sum += a[k] * b[k];
      G[i][j] = sum;
      G[j][i] = sum;
    }
  return G;
}

// U, s and V of F = U diag(s) V', all as columns, by rotations of pairs of columns until all are orthogonal: small
// columns keep their digits beside large ones. Singular values that are rounding are left out.
export function singular(columns) {
  const F = columns.map((column) => Float64Array.from(column));
  const V = F.map((_, j) => Float64Array.from({ length: F.length }, (__, i) => Number(i === j)));
  const turn = (a, b, c, s) => {
    for (let k = 0; k < a.length; k += 1) {
      const kept = a[k];
      a[k] = c * kept - s * b[k];
      b[k] = s * kept + c * b[k];
    }
  };
  let turned = true;
  for (let sweep = 0; turned && sweep < 40; sweep += 1) {
    turned = false;
    for (let i = 0; i < F.length; i += 1)
      for (let j = i + 1; j < F.length; j += 1) {
        const [a, b, g] = [dotOf(F[i], F[i]), dotOf(F[j], F[j]), dotOf(F[i], F[j])];
        if (!(Math.abs(g) > 4 * Number.EPSILON * Math.sqrt(a) * Math.sqrt(b))) continue;
        const z = (b - a) / (2 * g);
        const t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.hypot(1, z));
        const c = 1 / Math.hypot(1, t);
        turn(F[i], F[j], c, c * t);
        turn(V[i], V[j], c, c * t);
        turned = true;
      }
  }
  const s = F.map((column) => Math.sqrt(dotOf(column, column)));
  const least = Number.EPSILON * Math.max(F.length, F[0]?.length ?? 0) * Math.max(...s, 0);
  const kept = [...s.keys()].filter((k) => s[k] > least);
  return { U: kept.map((k) => F[k].map((each) => each / s[k])), s: kept.map((k) => s[k]), V: kept.map((k) => V[k]) };
}

// Eigenvalues, smallest first, and eigenvectors as rows: Householder reflections to three diagonals, then QL steps.
export function eigen(A) {
  const n = A.length;
  const V = A.map((row) => Float64Array.from(row));
  const d = new Float64Array(n);
  const e = new Float64Array(n);
  reduce(V, d, e);
  const Z = zeros(n, n); // rows are columns of V: rotations then touch two rows
  for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) Z[j][i] = V[i][j];
  rotate(Z, d, e);
  const order = Array.from(d.keys()).sort((a, b) => d[a] - d[b]);
  return { values: Float64Array.from(order, (i) => d[i]), vectors: order.map((i) => Z[i]) };
}

function reduce(V, d, e) {
  const n = d.length;
  for (let j = 0; j < n; j += 1) d[j] = V[n - 1][j];
  for (let i = n - 1; i > 0; i -= 1) {
    let scale = 0;
    let h = 0;
    for (let k = 0; k < i; k += 1) scale += Math.abs(d[k]);
    if (scale === 0) {
      e[i] = d[i - 1];
      for (let j = 0; j < i; j += 1) {
        d[j] = V[i - 1][j];
        V[i][j] = 0;
        V[j][i] = 0;
      }
    } else {
      for (let k = 0; k < i; k += 1) {
        d[k] /= scale;
        h += d[k] * d[k];
      }
      let f = d[i - 1];
      let g = f > 0 ? -Math.sqrt(h) : Math.sqrt(h);
      e[i] = scale * g;
      h -= f * g;
      d[i - 1] = f - g;
      for (let j = 0; j < i; j += 1) e[j] = 0;
      for (let j = 0; j < i; j += 1) {
        f = d[j];
        V[j][i] = f;
        g = e[j] + V[j][j] * f;
        for (let k = j + 1; k <= i - 1; k += 1) {
          g += V[k][j] * d[k];
          e[k] += V[k][j] * f;
        }
        e[j] = g;
      }
      f = 0;
      for (let j = 0; j < i; j += 1) {
        e[j] /= h;
        f += e[j] * d[j];
      }
      const hh = f / (h + h);
      for (let j = 0; j < i; j += 1) e[j] -= hh * d[j];
      for (let j = 0; j < i; j += 1) {
        f = d[j];
        g = e[j];
        for (let k = j; k <= i - 1; k += 1) V[k][j] -= f * e[k] + g * d[k];
        d[j] = V[i - 1][j];
        V[i][j] = 0;
      }
    }
    d[i] = h;
  }
  for (let i = 0; i < n - 1; i += 1) {
    V[n - 1][i] = V[i][i];
    V[i][i] = 1;
    const h = d[i + 1];
    if (h !== 0) {
      for (let k = 0; k <= i; k += 1) d[k] = V[k][i + 1] / h;
      for (let j = 0; j <= i; j += 1) {
        let g = 0;
        for (let k = 0; k <= i; k += 1) g += V[k][i + 1] * V[k][j];
        for (let k = 0; k <= i; k += 1) V[k][j] -= g * d[k];
      }
    }
    for (let k = 0; k <= i; k += 1) V[k][i + 1] = 0;
  }
  for (let j = 0; j < n; j += 1) {
    d[j] = V[n - 1][j];
    V[n - 1][j] = 0;
  }
  V[n - 1][n - 1] = 1;
  e[0] = 0;
}

function rotate(Z, d, e) {
  const n = d.length;
  for (let i = 1; i < n; i += 1) e[i - 1] = e[i];
  e[n - 1] = 0;
  let f = 0;
  let most = 0;
  for (let l = 0; l < n; l += 1) {
    most = Math.max(most, Math.abs(d[l]) + Math.abs(e[l]));
    let m = l;
    while (m < n - 1 && Math.abs(e[m]) > Number.EPSILON * most) m += 1;
    if (m > l) {
      let steps = 0;
      do {
        steps += 1;
        let g = d[l];
        let p = (d[l + 1] - g) / (2 * e[l]);
        let r = Math.hypot(p, 1);
        if (p < 0) r = -r;
        d[l] = e[l] / (p + r);
        d[l + 1] = e[l] * (p + r);
        const next = d[l + 1];
        let h = g - d[l];
        for (let i = l + 2; i < n; i += 1) d[i] -= h;
        f += h;
        p = d[m];
        let c = 1;
        let c2 = c;
        let c3 = c;
        const second = e[l + 1];
        let s = 0;
        let s2 = 0;
        for (let i = m - 1; i >= l; i -= 1) {
          c3 = c2;
          c2 = c;
          s2 = s;
          g = c * e[i];
          h = c * p;
          r = Math.hypot(p, e[i]);
          e[i + 1] = s * r;
          s = e[i] / r;
          c = p / r;
          p = c * d[i] - s * g;
          d[i + 1] = h + s * (c * g + s * d[i]);
          const a = Z[i];
          const b = Z[i + 1];
          for (let k = 0; k < n; k += 1) {
            const kept = b[k];
            b[k] = s * a[k] + c * kept;
            a[k] = c * a[k] - s * kept;
          }
        }
        p = (-s * s2 * c3 * second * e[l]) / next;
        e[l] = s * p;
        d[l] = c * p;
      } while (Math.abs(e[l]) > Number.EPSILON * most && steps < 60);
    }
    d[l] += f;
    e[l] = 0;
  }
}
