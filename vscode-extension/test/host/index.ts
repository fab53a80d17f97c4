/** VS Code calls `run` in its extension host. What mocha says goes to a file: the console is mixed with the workbench's. */

import { appendFileSync } from "node:fs";
import * as path from "node:path";
import { format } from "node:util";
import Mocha from "mocha";

export function run(): Promise<void> {
  const log = path.resolve(__dirname, "../test-output/host-tests.txt");
  Mocha.reporters.Base.consoleLog = (...values: unknown[]) => appendFileSync(log, `${format(...values)}\n`);
  const mocha = new Mocha({ ui: "tdd", color: false, timeout: 60_000 });
  mocha.addFile(path.join(__dirname, "suite.test.js"));
  return new Promise((resolve, reject) => {
    mocha.run((failures) => (failures ? reject(new Error(`${failures} tests failed`)) : resolve()));
  });
}
