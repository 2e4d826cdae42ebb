/**
 * Loaded into a private daemon before it starts: ends it when the command that started it is gone, however that ended.
 * The command holds the other end of this pipe, and the kernel closes it for a process that was killed.
 */
import { Socket } from 'node:net';

const pipe = new Socket({ fd: 0, readable: true, writable: false });
pipe.on('close', () => process.kill(process.pid, 'SIGTERM'));
pipe.on('error', () => undefined);
pipe.resume();
pipe.unref();
