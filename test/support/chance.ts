/** Everything that a test leaves to chance: the same for the same seed. */
export function chanceOf(seed: number) {
  let state = seed * 7_919;
  /** Below 1. */
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
  return {
    random,
    mayBe: (probability: number) => random() < probability,
    pick: <Each>(all: readonly Each[]): Each => all[Math.floor(random() * all.length)] as Each,
  };
}
