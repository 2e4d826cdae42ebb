export type Attributes = Record<string, string | number | undefined>;

/** An SVG element as text. Numbers are cut to hundredths of a unit, which no eye sees. */
export function element(name: string, attributes: Attributes, ...children: string[]): string {
  const list = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escape(typeof value === 'number' ? cut(value) : (value ?? ''))}"`)
    .join('');
  return children.length === 0 ? `<${name}${list}/>` : `<${name}${list}>${children.join('')}</${name}>`;
}

export function text(x: number, y: number, content: string, attributes: Attributes = {}): string {
  return element('text', { x, y, fill: '#222', 'font-size': 13, ...attributes }, escape(content));
}

/** A whole picture with its title and the line below it. */
export function picture(
  width: number,
  height: number,
  title: string,
  subtitle: string,
  ...content: string[]
): string {
  return `${element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      'font-family': 'sans-serif',
      role: 'img',
    },
    element('title', {}, escape(title)),
    element('rect', { width, height, fill: '#ffffff' }),
    text(24, 32, title, { 'font-size': 19, 'font-weight': 'bold' }),
    text(24, 54, subtitle, { fill: '#555' }),
    ...content,
  )}\n`;
}

/** Far enough apart in lightness to be told apart in grey, too: the first four, and those after them from their neighbours. */
export const palette = [
  '#12355b',
  '#b5446e',
  '#e89f3c',
  '#8cc3ae',
  '#5e4b8b',
  '#4f8fc0',
  '#f0d78c',
  '#7a3b1d',
  '#9ab548',
  '#c9b6d9',
  '#2f6b4f',
  '#d9d9d9',
] as const;
export const dashes = [undefined, '7 4', '2 4', '10 3 2 3'] as const;

export function colour(i: number): string {
  return palette[i % palette.length] ?? palette[0];
}

/** Of text on `colour(i)`. */
export function textColour(i: number): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(colour(i).slice(at, at + 2), 16));
  return 0.3 * red + 0.59 * green + 0.11 * blue < 125 ? '#fff' : '#222';
}

function cut(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
