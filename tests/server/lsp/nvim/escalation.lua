-- Reports that say FAIL, saved one after the other: the gate shuts at the verdict's line, and the third asks a person.
local client = dofile(os.getenv("PHASEKEEPER_CLIENT"))
local root = os.getenv("PHASEKEEPER_ROOT")
local run = root .. "/.orchestrator/tasks/reading-lists"
local at = tonumber(os.getenv("PHASEKEEPER_AT"))

local function write(name, lines)
  at = at + 60
  client.write(run .. "/reports/" .. name, lines, at)
end

local function check(number, iteration)
  write(("%02d-4b-phase-2.md"):format(number), {
    "## Phase Quality Gate: FAIL", "", "**Phase**: 2 (Tasks 03-06)",
    ("**Iteration**: %d of 3"):format(iteration), "**Overall Status**: FAIL", "",
    "### Fix Scope", "", "Only tasks [03] require fixes.",
  })
end

local function mend(number, iteration)
  write(("%02d-F1-phase-2.md"):format(number), {
    "## Failure Analysis", "", "**Phase**: 2", "**Failed Gate**: 4b", ("**Iteration**: %d of 3"):format(iteration), "",
    "### Root Cause", "", "- Task 03: the link checks for a session first.",
  })
  client.wait("the way to the fix", client.has_lens("next: go on to “Fix the failing tasks only”"))
  write(("%02d-4a-task-03.md"):format(number + 1), {
    "## Task Complete (Delegated Mode)", "", "**Task File**: 03-share-link.md", "**Status**: Complete",
    ("**Iteration**: %d"):format(iteration),
  })
  client.wait("the way to the check", client.has_lens("4b"))
end

client.start(root)
for iteration = 1, 3 do
  check(4 + 3 * iteration, iteration)
  client.wait("the gate to shut", client.has("gate-failed"))
  client.say("shut", client.diagnostics())
  if iteration < 3 then
    client.wait("the next step", client.has_lens("“Failure analysis”"))
    client.say("lenses", client.lenses())
    mend(5 + 3 * iteration, iteration)
  end
end
client.wait("the escalation", client.has("person-awaited"))
client.wait("the escalation in the lens", client.has_lens("escalation: "))
client.say("escalated", client.diagnostics())
client.say("lenses", client.lenses())

client.open(run .. "/MASTER_PLAN.md")
client.wait("the escalation on the plan", client.has_lens("escalation: "))
client.say("plan lenses", client.lenses())
client.stop()
