import { SpikedError } from '../../client/protocol/errors.js';
import { construct, isAllowedGlobal, persistentStorage } from './globals.js';
import { opcodeName, opcodes } from './opcodes.js';
import {
  describe,
  OrderedDict,
  PickleDict,
  PickleGlobal,
  PickleTuple,
  type PickleKey,
  type PickleValue,
} from './values.js';

export const limits = { stackDepth: 1_000_000, marks: 256, memo: 1_000_000, stringBytes: 1 << 20 };

const protocol = 2;

/**
 * The value in a protocol 2 pickle made of plain data and tensor references only.
 *
 * The pickle language can name and call anything in Python. Here it can build the values of values.ts and no others;
 * every other opcode and every other global is refused by name, and no name is ever looked up.
 *
 * @param label  the file's name, and the entry's, for errors
 * @throws SpikedError ERR_CHECKPOINT_UNSAFE for an opcode or a global outside that set
 * @throws SpikedError ERR_CHECKPOINT_INVALID for a malformed pickle or one beyond `limits`
 */
export function unpickle(label: string, bytes: Buffer): PickleValue {
  return new Unpickler(label, bytes).run();
}

class Unpickler {
  private position = 0;
  private opcodeAt = 0;
  private stack: PickleValue[] = [];
  private readonly marks: PickleValue[][] = []; // the stacks below each open MARK
  private readonly memo = new Map<number, PickleValue>();

  private readonly execute = new Map<number, () => void>([
    [opcodes.PROTO, () => this.proto()],
    [opcodes.MARK, () => this.mark()],
    [opcodes.NONE, () => this.push(null)],
    [opcodes.NEWTRUE, () => this.push(true)],
    [opcodes.NEWFALSE, () => this.push(false)],
    [opcodes.BININT, () => this.push(this.take(4).readInt32LE())],
    [opcodes.BININT1, () => this.push(this.u8())],
    [opcodes.BININT2, () => this.push(this.take(2).readUInt16LE())],
    [opcodes.LONG1, () => this.push(this.long(this.take(this.u8())))],
    [opcodes.BINFLOAT, () => this.push(this.take(8).readDoubleBE())],
    [opcodes.BINUNICODE, () => this.push(this.text(this.take(this.stringLength())))],
    [opcodes.EMPTY_TUPLE, () => this.push(new PickleTuple([]))],
    [opcodes.TUPLE1, () => this.push(new PickleTuple(this.popMany(1)))],
    [opcodes.TUPLE2, () => this.push(new PickleTuple(this.popMany(2)))],
    [opcodes.TUPLE3, () => this.push(new PickleTuple(this.popMany(3)))],
    [opcodes.TUPLE, () => this.push(new PickleTuple(this.popToMark()))],
    [opcodes.EMPTY_LIST, () => this.push([])],
    [opcodes.APPEND, () => this.append(this.popMany(1))],
    [opcodes.APPENDS, () => this.append(this.popToMark())],
    [opcodes.EMPTY_DICT, () => this.push(new PickleDict())],
    [opcodes.SETITEM, () => this.setItems(this.popMany(2))],
    [opcodes.SETITEMS, () => this.setItems(this.popToMark())],
    [opcodes.BINPUT, () => this.memoize(this.u8())],
    [opcodes.LONG_BINPUT, () => this.memoize(this.take(4).readUInt32LE())],
    [opcodes.BINGET, () => this.recall(this.u8())],
    [opcodes.LONG_BINGET, () => this.recall(this.take(4).readUInt32LE())],
    [opcodes.GLOBAL, () => this.global()],
    [opcodes.BINPERSID, () => this.push(persistentStorage(this.pop(), this.fail))],
    [opcodes.REDUCE, () => this.reduce()],
    [opcodes.BUILD, () => this.build()],
  ]);

  constructor(
    private readonly label: string,
    private readonly bytes: Buffer,
  ) {}

  run(): PickleValue {
    for (;;) {
      this.opcodeAt = this.position;
      const opcode = this.u8();
      if (opcode === opcodes.STOP) return this.result();
      const execute = this.execute.get(opcode) ?? this.unsafe(`opcode ${opcodeName(opcode)}`);
      execute();
      if (this.stack.length > limits.stackDepth)
        this.fail(`expected a stack of at most ${limits.stackDepth} values, found more`);
    }
  }

  private result(): PickleValue {
    if (this.marks.length > 0) this.fail('expected every MARK to be closed before STOP');
    const value = this.pop();
    if (this.stack.length > 0) this.fail(`expected one value at STOP, found ${this.stack.length + 1}`);
    if (this.position !== this.bytes.length)
      this.fail(`expected STOP at the end, found ${this.bytes.length - this.position} bytes after it`);
    return value;
  }

  private proto(): void {
    const version = this.u8();
    if (version !== protocol) this.fail(`expected pickle protocol ${protocol}, found ${version}`);
  }

  private mark(): void {
    if (this.marks.length === limits.marks)
      this.fail(`expected nesting of at most ${limits.marks}, found more`);
    this.marks.push(this.stack);
    this.stack = [];
  }

  private popToMark(): PickleValue[] {
    const items = this.stack;
    this.stack = this.marks.pop() ?? this.fail('expected a MARK before, found none');
    return items;
  }

  private append(items: PickleValue[]): void {
    const list = this.top();
    if (!Array.isArray(list)) return this.fail(`expected a list to append to, found ${describe(list)}`);
    for (const item of items) list.push(item);
  }

  private setItems(items: PickleValue[]): void {
    const dict = this.top();
    if (!(dict instanceof PickleDict)) return this.fail(`expected a dict to fill, found ${describe(dict)}`);
    if (items.length % 2 !== 0)
      return this.fail(`expected pairs of key and value, found ${items.length} values`);
    for (let i = 0; i < items.length; i += 2) {
      const key = items[i];
      if (!isKey(key)) return this.fail(`expected a string or number as dict key, found ${describe(key)}`);
      dict.set(key, items[i + 1] ?? null);
    }
  }

  private memoize(index: number): void {
    if (index >= limits.memo) this.fail(`expected a memo index below ${limits.memo}, found ${index}`);
    this.memo.set(index, this.top());
  }

  private recall(index: number): void {
    const value = this.memo.get(index);
    this.push(value === undefined ? this.fail(`expected a memoized value at ${index}, found none`) : value);
  }

  private global(): void {
    const name = `${this.line()}.${this.line()}`;
    if (!isAllowedGlobal(name)) this.unsafe(`global ${JSON.stringify(name)}`);
    this.push(new PickleGlobal(name));
  }

  private reduce(): void {
    const args = this.pop();
    this.push(construct(this.pop(), args, this.fail));
  }

  /** torch gives a state dict's OrderedDict an attribute `_metadata`, which nothing here needs. */
  private build(): void {
    this.pop();
    if (!(this.top() instanceof OrderedDict)) this.unsafe(`opcode BUILD on ${describe(this.top())}`);
  }

  private push(value: PickleValue): void {
    this.stack.push(value);
  }

  private pop(): PickleValue {
    const value = this.stack.pop();
    return value === undefined ? this.fail('expected a value on the stack, found none') : value;
  }

  private popMany(count: number): PickleValue[] {
    if (this.stack.length < count)
      this.fail(`expected ${count} values on the stack, found ${this.stack.length}`);
    return this.stack.splice(this.stack.length - count);
  }

  private top(): PickleValue {
    const value = this.stack.at(-1);
    return value === undefined ? this.fail('expected a value on the stack, found none') : value;
  }

  private u8(): number {
    return this.take(1)[0] ?? 0;
  }

  private take(length: number): Buffer {
    const end = this.position + length;
    if (end > this.bytes.length)
      this.fail(`expected ${length} more bytes, found ${this.bytes.length - this.position}`);
    const taken = this.bytes.subarray(this.position, end);
    this.position = end;
    return taken;
  }

  private line(): string {
    const end = this.bytes.indexOf(0x0a, this.position);
    if (end < 0 || end - this.position > limits.stringBytes)
      this.fail('expected a line with a name, found no end of it');
    const line = this.text(this.bytes.subarray(this.position, end));
    this.position = end + 1;
    return line;
  }

  private stringLength(): number {
    const length = this.take(4).readUInt32LE();
    if (length > limits.stringBytes)
      this.fail(`expected a string of at most ${limits.stringBytes} bytes, found ${length}`);
    return length;
  }

  private text(bytes: Buffer): string {
    try {
      return utf8.decode(bytes);
    } catch {
      return this.fail('expected UTF-8 text, found other bytes');
    }
  }

  /** Little-endian two's complement of any length. */
  private long(bytes: Buffer): number | bigint {
    const magnitude = BigInt(`0x0${Buffer.from(bytes).reverse().toString('hex')}`);
    const value = BigInt.asIntN(8 * bytes.length, magnitude);
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  private readonly fail = (text: string): never => {
    throw new SpikedError('ERR_CHECKPOINT_INVALID', `${this.label}: pickle byte ${this.opcodeAt}: ${text}`);
  };

  private unsafe(found: string): never {
    throw new SpikedError(
      'ERR_CHECKPOINT_UNSAFE',
      `${this.label}: pickle byte ${this.opcodeAt}: expected only what plain tensors need, found ${found}`,
    );
  }
}

// The BOM is kept: a key is its exact text.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function isKey(value: PickleValue | undefined): value is PickleKey {
  return value === null || ['boolean', 'number', 'bigint', 'string'].includes(typeof value);
}
