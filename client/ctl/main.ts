#!/usr/bin/env node
import { CommanderError } from 'commander';
import { describeError } from './exit.js';
import { exitWhenReaderLeaves } from './output.js';
import { createProgram } from './program.js';

exitWhenReaderLeaves();
try {
  await (await createProgram(process.argv.slice(2))).parseAsync();
} catch (error) {
  if (error instanceof CommanderError && error.exitCode === 0) process.exitCode = 0;
  else {
    const { line, status } = describeError(error);
    process.stderr.write(`${line}\n`);
    process.exitCode = status;
  }
}
