// SPDX-License-Identifier: MIT
// node check.mjs PACKAGE SPEC CFG: runs the TLA+ checker, prints its answer.
// Deadlock is no error of its own: a scheduler that stands still with work in
// its queues breaks the liveness properties.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , dir, spec, cfg] = process.argv;
const tla = await import(pathToFileURL(resolve(dir, 'tla_checker.js')).href);
await tla.default({
    module_or_path: readFileSync(resolve(dir, 'tla_checker_bg.wasm'))
});
console.log(tla.check_spec_with_cfg(
    readFileSync(spec, 'utf8'), readFileSync(cfg, 'utf8'), '{}',
    5000000, 1000000, true, false));
