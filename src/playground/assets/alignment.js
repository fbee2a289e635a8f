// Aligns the words of two variants: equal words share a column, others have columns of their own.
const Alignment = (function () {
  // Longest common subsequence; a common beginning and end is matched first.
  function matches(first, second) {
    const size = Array.from({ length: first.length + 1 }, () => new Array(second.length + 1).fill(0));
    for (let a = first.length - 1; a >= 0; a--) {
      for (let b = second.length - 1; b >= 0; b--) {
        size[a][b] = first[a] === second[b] ? size[a + 1][b + 1] + 1 : Math.max(size[a + 1][b], size[a][b + 1]);
      }
    }
    const found = [];
    let a = 0, b = 0;
    while (a < first.length && b < second.length) {
      if (first[a] === second[b] && size[a][b] === size[a + 1][b + 1] + 1) found.push([a++, b++]);
      else if (size[a + 1][b] >= size[a][b + 1]) a++;
      else b++;
    }
    return found;
  }

  // Returns columns: each has the place of a word in each variant, or null, and whether both are the same word.
  // Where as many words differ in one variant as in the other, they stand below each other.
  function columns(sentences) {
    if (sentences.length < 2) return sentences[0].map((_, place) => ({ words: [place], same: true }));
    const [first, second] = sentences;
    const found = [];
    let a = 0, b = 0;
    for (const [nextA, nextB] of [...matches(first, second), [first.length, second.length]]) {
      const paired = nextA - a === nextB - b;
      if (paired) for (; a < nextA; a++) found.push({ words: [a, b++], same: false });
      // In the order in which the chart has them.
      for (; b < nextB; b++) found.push({ words: [null, b], same: false });
      for (; a < nextA; a++) found.push({ words: [a, null], same: false });
      if (nextA < first.length && nextB < second.length) found.push({ words: [a++, b++], same: true });
    }
    return found;
  }

  return { columns };
})();
