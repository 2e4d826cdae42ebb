/** What is wrong with an XML text of elements, attributes and escaped text alone; empty for a well-formed one. */
export function xmlFaults(text: string): string[] {
  const open: string[] = [];
  let roots = 0;
  let rest = text.trim();
  while (rest !== '') {
    const tag = /^<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/.exec(rest);
    if (tag === null) {
      const content = /^[^<]+/.exec(rest)?.[0];
      if (content === undefined || open.length === 0) return [`no element: ${rest.slice(0, 40)}`];
      if (badReference.test(content)) return [`a bare &: ${content}`];
      rest = rest.slice(content.length);
      continue;
    }
    const [whole, end, name = '', attributes = '', empty] = tag;
    if (badReference.test(attributes)) return [`a bare &: ${attributes}`];
    if (open.length === 0 && end === '') roots++;
    if (end !== '') {
      const expected = open.pop();
      if (expected !== name) return [`</${name}> where </${expected ?? ''}> is due`];
    } else if (empty === '') open.push(name);
    rest = rest.slice(whole.length);
  }
  if (open.length > 0) return [`<${open.join('><')}> not closed`];
  return roots === 1 ? [] : [`${roots} roots`];
}

const badReference = /&(?!(?:amp|lt|gt|quot|apos);)/;
