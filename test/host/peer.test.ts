import { createServer, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { addon } from '../../native/host/addon.js';
import { assert, suite, tempDir } from '../tools/suite.js';
import { failureOf } from './helpers/failure.js';

const test = suite('peer credentials');

/** Node has the descriptor, but no name for it. */
const fdOf = (socket: Socket): number => (socket as unknown as { _handle: { fd: number } })._handle.fd;

test('the peer of a Unix socket is this very process', async () => {
  const path = join(tempDir(), 's');
  const server = createServer();
  const connected = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = connect(path);
  const socket = await connected;
  const { pid, uid, gid, groups } = addon().peerCredentials(fdOf(socket));
  assert.equal([pid, uid, gid], [process.pid, process.getuid?.(), process.getgid?.()]);
  // Node's own list holds the effective group, too.
  const own = new Set([...groups, gid]);
  assert.equal(own, new Set([...(process.getgroups?.() ?? []), gid]));
  socket.destroy();
  client.destroy();
  server.close();
});

test('a TCP socket has no such peer', async () => {
  const server = createServer();
  const connected = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const client = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  const socket = await connected;
  const error = await failureOf(() => addon().peerCredentials(fdOf(socket)));
  assert.is(error.code, 'ERR_INVALID_ARGUMENT');
  assert.match(error.message, /expected a connected Unix socket, found a socket without such a peer/);
  socket.destroy();
  client.destroy();
  server.close();
});

test.run();
