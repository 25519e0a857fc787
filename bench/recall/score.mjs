/** Means over questions, by category and over all: the share of the evidence among the first 5, 10, 20, and the reciprocal rank of the first. */
export class Score {
  #groups = new Map();

  /** `found` are ids, best first. */
  add(category, evidence, found) {
    const share = (k) => evidence.filter((id) => found.slice(0, k).includes(id)).length / evidence.length;
    const first = found.findIndex((id) => evidence.includes(id));
    for (const name of [String(category), "all"]) {
      const group = this.#groups.get(name) ?? { questions: 0, r5: 0, r10: 0, r20: 0, mrr: 0 };
      group.questions += 1;
      group.r5 += share(5);
      group.r10 += share(10);
      group.r20 += share(20);
      group.mrr += first < 0 ? 0 : 1 / (first + 1);
      this.#groups.set(name, group);
    }
  }

  rows() {
    return [...this.#groups].sort().map(([category, { questions, ...sums }]) => ({
      category,
      questions,
      ...Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / questions])),
    }));
  }
}
