import { readFileSync } from 'node:fs';

/** Names of users and groups, by the local files; a number where they have none. */
function nameOf(file: string, id: number): string {
  try {
    const line = readFileSync(file, 'utf8')
      .split('\n')
      .find((row) => row.split(':')[2] === String(id));
    return line?.split(':')[0] ?? String(id);
  } catch {
    return String(id);
  }
}

export const userName = (uid: number): string => nameOf('/etc/passwd', uid);
export const groupName = (gid: number): string => nameOf('/etc/group', gid);
export const me = (): string => userName(process.getuid?.() ?? 0);

/** What gives this user a group's rights. */
export function joinGroup(gid: number): string {
  return `usermod -aG ${groupName(gid)} ${me()}, then log in again`;
}
