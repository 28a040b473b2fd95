/** Prints which installed programs were tested, and which were skipped because their packages are missing. */
export default class EnginesTested {
  onRunComplete(_contexts, { testResults }) {
    const tests = testResults.flatMap((file) => file.testResults);
    const namesAfter = (title, isMeant) => {
      const all = tests.flatMap(({ ancestorTitles: [name = ''], status }) =>
        name.startsWith(title) && isMeant(status) ? name.slice(title.length).split(' ') : [],
      );
      return [...new Set(all)].join(', ');
    };
    const tested = namesAfter("with Debian's ", (status) => status !== 'pending');
    const skipped = namesAfter("without Debian's ", () => true);
    if (tested + skipped)
      console.log(`Engines tested: ${tested || 'none'}. Not here, and skipped: ${skipped || 'none'}.`);
  }
}
