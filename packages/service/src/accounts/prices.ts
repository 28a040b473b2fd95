import { FormatCatalog, formatName } from '../formats';

/** vCredits of one conversion by format pair: `docx to pdf`, `docx to *`, `* to pdf` or `*`; the first that applies, in this order. */
export type PriceList = ReadonlyMap<string, number>;

const defaultPrices: Readonly<Record<string, number>> = { '*': 1 };

/** Every name that a request may use for a format; whether it is installed plays no role for its price. */
const catalog = new FormatCatalog(() => true);

/** Throws with the key that names no pair of formats. */
export function createPriceList(prices: Readonly<Record<string, number>> = defaultPrices): PriceList {
  return new Map(Object.entries(prices).map(([pair, vcredits]) => [normalizePair(pair), vcredits]));
}

/** What a conversion costs; 0 when no pair of the list applies. */
export function priceOf(prices: PriceList, input: string, output: string): number {
  const keys = [`${input} to ${output}`, `${input} to *`, `* to ${output}`, '*'];
  for (const key of keys) {
    const price = prices.get(key);
    if (price !== undefined) return price;
  }
  return 0;
}

function normalizePair(pair: string): string {
  if (pair === '*' || pair === '* to *') return '*';
  const [input = '', output = '', ...rest] = pair.split(' to ');
  if (output === '' || rest.length > 0) {
    throw new Error(`"${pair}" is no pair of formats: write "docx to pdf", "docx to *", "* to pdf" or "*"`);
  }
  return `${normalizeFormat(input)} to ${normalizeFormat(output)}`;
}

function normalizeFormat(name: string): string {
  if (name === '*') return name;
  const row = catalog.find(name);
  if (!row) throw new Error(`there is no format "${name}"; see: fileconv formats`);
  return formatName(row);
}
