import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { Command } from 'commander';
import { SpikedError, type ChatMessage, type Client, type ErrorCode, type Session } from '../index.js';
import { reachDaemon } from './daemon/reach.js';
import { describeError, exitCode } from './exit.js';
import { printJson, print, remark } from './output.js';
import { samplingParams, withSampling, type SamplingOptions } from './sampling.js';
import { streamGeneration } from './stream-generation.js';

interface ChatOptions extends SamplingOptions {
  socket?: string;
  system?: string;
  json?: true;
}

/** What ends a turn and not the conversation. */
const passing = new Set<ErrorCode>(['ERR_CONTEXT_FULL', 'ERR_TEXT_TOO_LONG', 'ERR_BUSY', 'ERR_TIMEOUT']);
/** A person may think for a day. */
const idleTimeoutMs = 24 * 60 * 60 * 1000;

export function chatCommand(): Command {
  const command = new Command('chat')
    .description('talk with a model: on a terminal line by line, else one question from standard input')
    .argument('<model>', 'model file, or a name the daemon knows')
    .option(
      '--socket <path>',
      'socket of the daemon to use (default: the usual place, else a private daemon)',
    )
    .option('--system <text>', 'what the model is told before the first question')
    .option('--json', 'one JSON object a line: every token, then the summary of the answer');
  return withSampling(command)
    .addHelpText(
      'after',
      `
On a terminal each line is a message and the model remembers those before; Ctrl-C ends an answer, Ctrl-D the conversation, and /reset begins a
new one. Otherwise standard input is one message: echo 'Who was Ada Lovelace?' | spikectl chat model.gguf
The model must be one whose form of conversations is known (BitNet b1.58 2B4T); "spikectl run" continues any text with any model.`,
    )
    .action(chat); // prettier-ignore
}

async function chat(model: string, options: ChatOptions): Promise<void> {
  const daemon = await reachDaemon({ ...options, model });
  try {
    const conversation = new Conversation(daemon.client, daemon.model, options);
    await conversation.check();
    if (process.stdin.isTTY && process.stdout.isTTY) await converse(conversation);
    else await ask(conversation);
  } finally {
    await daemon.close();
  }
}

/** One message from a pipe or a file. */
async function ask(conversation: Conversation): Promise<void> {
  const question = await readAll(process.stdin);
  if (question.trim() === '')
    throw new SpikedError('ERR_PROMPT_EMPTY', 'standard input: expected a message, found none');
  process.on('SIGINT', () => {
    if (process.exitCode === exitCode.interrupted) process.exit();
    process.exitCode = exitCode.interrupted;
    conversation.stopAnswer();
  });
  await conversation.say(question);
}

/** Lines of a terminal, until Ctrl-D. */
async function converse(conversation: Conversation): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  // The terminal is in raw mode: Ctrl-C is a key here and no signal.
  lines.on('SIGINT', () => {
    if (conversation.stopAnswer()) return;
    lines.write(null, { ctrl: true, name: 'u' });
    remark('Ctrl-D ends the conversation');
    lines.prompt();
  });
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() === '/reset') {
      await conversation.reset();
      remark('a new conversation');
    } else if (line.trim() !== '') await turn(conversation, line);
    lines.prompt();
  }
  await print('\n');
}

async function turn(conversation: Conversation, line: string): Promise<void> {
  try {
    await conversation.say(line);
  } catch (error) {
    if (!(error instanceof SpikedError) || !passing.has(error.code)) throw error;
    const hint = error.code === 'ERR_CONTEXT_FULL' ? '; /reset begins a new conversation' : '';
    process.stderr.write(`${describeError(error).line}${hint}\n`);
  }
}

/** A session of the daemon, and what of it is under way. */
class Conversation {
  private session: Session | undefined;
  /** Of the answer under way; aborted before it began, the answer is still asked for, to be cancelled. */
  private stop: AbortController | undefined;
  private first = true;

  constructor(
    private readonly client: Client,
    private readonly model: string | undefined,
    private readonly options: ChatOptions,
  ) {}

  /** @throws SpikedError ERR_MODEL_UNSUPPORTED before anybody has typed a message */
  async check(): Promise<void> {
    const messages: ChatMessage[] = [{ role: 'user', content: '' }];
    await this.client.call('tokens.encode', { messages, ...this.named() });
  }

  /** Sends a message and prints the answer. */
  async say(content: string): Promise<void> {
    const { system, json } = this.options;
    const stop = (this.stop = new AbortController());
    try {
      this.session ??= await this.open();
      const messages: ChatMessage[] = [{ role: 'user', content }];
      if (this.first && system !== undefined) messages.unshift({ role: 'system', content: system });
      const appended = await this.session.append({ messages });
      this.first = false;
      if (json) await printJson({ event: 'appended', ...appended });
      const generation = this.session.generate(samplingParams(this.options));
      const cancel = (): void => void generation.cancel();
      if (stop.signal.aborted) cancel();
      stop.signal.addEventListener('abort', cancel);
      await streamGeneration(generation, json === true);
    } finally {
      this.stop = undefined;
    }
  }

  /** Whether there was an answer to stop. */
  stopAnswer(): boolean {
    this.stop?.abort();
    return this.stop !== undefined;
  }

  async reset(): Promise<void> {
    await this.session?.close();
    this.session = undefined;
    this.first = true;
  }

  private open(): Promise<Session> {
    const { seed } = this.options;
    return this.client.openSession({
      ...this.named(),
      idle_timeout_ms: idleTimeoutMs,
      ...(seed === undefined ? {} : { seed }),
    });
  }

  private named(): { model?: string } {
    return this.model === undefined ? {} : { model: this.model };
  }
}
