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
    print(json.dumps(s.recv(65536).decode()), flush=True)
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

  static async start(address = join(tempDir(), 'notify')): Promise<FakeManager> {
    const child = spawn('python3', ['-c', receiver, address], { stdio: ['ignore', 'pipe', 'inherit'] });
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
