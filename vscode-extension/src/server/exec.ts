/** Runs a program to its end, without a shell, in the home folder. */

import { spawn } from "node:child_process";
import { homedir } from "node:os";

export interface ExecResult {
  /** null when it could not be started or was stopped. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

export type Exec = typeof exec;

export function exec(program: string, args: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: homedir(),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      timeout: options.timeoutMs,
      signal: options.signal,
    });
    const out = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        out[name] += text;
        for (const line of text.split(/\r?\n/).filter(Boolean)) options.onLine?.(line);
      });
    child.on("error", (error) => resolve({ code: null, stdout: out.stdout, stderr: out.stderr || error.message }));
    child.on("close", (code) => resolve({ code, ...out }));
  });
}
