/** The part of a service manager that a daemon talks to: a datagram socket, which Node cannot make. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { tempDir } from '../../tools/suite.js';

const receiver = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print(json.dumps("bound"), flush=True)
while True:
    said = s.recv(65536).decode()
    if said.startswith("READY=1") and len(sys.argv) > 2:
        c = socket.socket(socket.AF_UNIX)
        said += "\\nconnect: %d" % c.connect_ex(sys.argv[2])
    print(json.dumps(said), flush=True)
`;
const patienceMs = 30_000;

export class FakeManager {
  /** What came, one entry a datagram. */
  readonly messages: string[] = [];
  private changed: () => void = () => undefined;

  private constructor(
    readonly address: string,
    private readonly child: ChildProcess,
  ) {
    let rest = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      this.messages.push(...lines.map((line) => JSON.parse(line) as string));
      this.changed();
    });
  }

  /** @param connectTo  the socket to connect to as soon as READY comes; that message then has one more line, the error number */
  static async start(
    address = join(tempDir(), 'notify'),
    ...connectTo: [] | [path: string]
  ): Promise<FakeManager> {
    const args = ['-c', receiver, address, ...connectTo];
    const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => child.kill('SIGKILL'));
    const manager = new FakeManager(address, child);
    await manager.until('the socket', () => manager.messages.includes('bound'));
    manager.messages.length = 0;
    return manager;
  }

  /** Every line that has come. */
  get lines(): string[] {
    return this.messages.flatMap((message) => message.split('\n'));
  }

  count(line: string): number {
    return this.lines.filter((found) => found === line).length;
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const end = Date.now() + patienceMs;
    while (!holds()) {
      if (Date.now() > end)
        throw new Error(`expected ${what}; the manager heard ${JSON.stringify(this.messages)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }
}
