/** A client in a process of its own: `generate-once.js SOCKET JSON` prints the events and the result of one text.generate as JSON. */
import { connect, type GenerateParams } from '../../client/index.js';

const [path = '', params = '{}'] = process.argv.slice(2);
const client = await connect({ path });
const generation = client.generate(JSON.parse(params) as GenerateParams);
const tokens: number[] = [];
for await (const event of generation) tokens.push(event.token);
const result = await generation.result;
const info = await client.serverInfo();
await client.close();
process.stdout.write(`${JSON.stringify({ streamed: tokens, tokens: result.tokens, isa: info.isa })}\n`);
