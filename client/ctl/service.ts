import { Command } from 'commander';
import { install } from './service/install.js';
import { status } from './service/status.js';
import { uninstall } from './service/uninstall.js';

export function serviceCommand(): Command {
  const service = new Command('service').description('put the daemon under systemd, or take it away');
  const command = (name: string, description: string): Command =>
    service
      .command(name)
      .description(description)
      .option('--user', "the service of your own session, in place of the system's")
      .option('--root <dir>', 'files of another system, such as a mounted image: nothing is run')
      .option('--json', 'one JSON object');
  command('install', 'write units, user, rules and default configuration, and let systemd listen')
    .option('--prefix <dir>', 'package that the units name (default: the one of this command)')
    .option('--node <file>', 'Node that runs it (default: the one that runs this command)')
    .option('--checkout', 'accept a checkout in place of a package')
    .option('--force', 'overwrite also what somebody changed')
    .option('--dry-run', 'only say what would be done')
    .addHelpText(
      'after',
      `
A file that somebody changed, or that was there before, is kept. Where this version has another than the one that was changed, it
is written beside as FILE.new, and a line on standard error names it: compare, move it over and run systemctl daemon-reload, or
install with --force. That is no failure: exit status 0.`,
    )
    .action(install);
  command('uninstall', 'stop it and remove what install wrote; what was changed or added stays')
    .option('--dry-run', 'only say what would be done')
    .action(uninstall);
  command('status', 'say what is installed and what runs (exit 4 when nothing listens)').action(status);
  return service;
}
