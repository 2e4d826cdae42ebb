import { element, picture, text } from '../../bench/charts/svg.js';

const red = '#c0182b';

/** A picture of an experiment; one that shows what no meter measured has a red band across its top that says so. */
export function page(
  [width, height]: readonly [number, number],
  title: string,
  subtitle: string,
  simulated: boolean,
  ...content: string[]
): string {
  return picture(width, height, shorten(title, (width - 48) / 11.5), subtitle, ...content, simulated ? stamp(width) : ''); // prettier-ignore
}

function stamp(width: number): string {
  const words = { 'text-anchor': 'middle', fill: '#ffffff', 'font-size': 10, 'font-weight': 'bold' };
  return element(
    'g',
    { class: 'simulated' },
    element('rect', { width, height: 13, fill: red }),
    text(width / 2, 10, 'SIMULATED: no meter measured this', words),
  );
}

/** At most so many characters, the last of them an ellipsis where something is left out. */
export function shorten(words: string, most: number): string {
  return words.length <= most ? words : `${words.slice(0, Math.max(1, Math.floor(most) - 1))}…`;
}

/** Of what does not count. */
export const invalidColour = red;

/** An x, at the place of something that does not count. */
export function cross(x: number, y: number, size = 5): string {
  const at = (value: number) => value.toFixed(1);
  return `<path class="invalid" d="M${at(x - size)} ${at(y - size)}L${at(x + size)} ${at(y + size)}M${at(x - size)} ${at(y + size)}L${at(x + size)} ${at(y - size)}" stroke="${red}" stroke-width="2" fill="none"/>`; // prettier-ignore
}

/** Whole words in lines of at most so many characters. */
export function wrap(sentence: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of sentence.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
