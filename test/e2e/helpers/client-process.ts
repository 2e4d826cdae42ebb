/** A process of several clients, to be killed: `client-process.js SOCKET SEED CLIENTS FILE`. Works until its standard input ends, then prints its tally. */
import { readFileSync } from 'node:fs';
import { Random } from '../../protocol/random-values.js';
import { addTallies } from './checks.js';
import { Actor, type Undisturbed } from './traffic.js';

const [path = '', seed = '0', clients = '1', file = ''] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(file, 'utf8')) as Undisturbed[];
const stop = new AbortController();
process.stdin.on('end', () => stop.abort()).resume();
const actors = Array.from(
  { length: Number(clients) },
  (_, i) => new Actor(path, new Random(Number(seed) * 1000 + i), expected),
);
process.stdout.write('started\n');
await Promise.all(actors.map((actor) => actor.run(stop.signal)));
process.stdout.write(`${JSON.stringify(addTallies(actors.map(({ tally }) => tally)))}\n`);
