/** Runs a program to its end, without a shell, in the home folder. */

import { spawn } from "node:child_process";
import { homedir } from "node:os";

export interface Ended {
  /** null when it could not be started or was stopped. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface How {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

export function run(program: string, args: readonly string[], how: How = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: homedir(),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      timeout: how.timeoutMs,
      signal: how.signal,
    });
    const out = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        out[name] += text;
        for (const line of text.split(/\r?\n/).filter(Boolean)) how.onLine?.(line);
      });
    child.on("error", (error) => resolve({ code: null, stdout: out.stdout, stderr: out.stderr || error.message }));
    child.on("close", (code) => resolve({ code, ...out }));
  });
}
