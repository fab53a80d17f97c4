-- A plan whose places disagree: the diagnostic is seen, an action is applied, and it clears.
local client = dofile(os.getenv("PHASEKEEPER_CLIENT"))
local root = os.getenv("PHASEKEEPER_ROOT")

client.start(root)
client.open(root .. "/.orchestrator/tasks/shop/MASTER_PLAN.md")
client.wait("the drift", client.has("status-drift"))
client.say("seen", client.diagnostics())
client.say("encoding", vim.lsp.get_client_by_id(client.id).offset_encoding)

local drift = vim.tbl_filter(function(found) return found.code == "status-drift" end, vim.diagnostic.get(0))[1]
local line = vim.fn.getline(drift.lnum + 1)
client.say("marked", line:sub(drift.col + 1, drift.end_col))

local place = { line = drift.lnum, character = 0 }
local offered = client.request("textDocument/codeAction",
  { range = { start = place, ["end"] = place }, context = { diagnostics = {} } })
client.say("offered", vim.tbl_map(function(action) return action.title end, offered))
vim.lsp.util.apply_workspace_edit(offered[1].edit, vim.lsp.get_client_by_id(client.id).offset_encoding)
client.wait("the drift to clear", function() return not client.has("status-drift")() end)
client.say("text", vim.api.nvim_buf_get_lines(0, 0, -1, false))
vim.cmd("silent write")
client.wait("it to stay clear", client.has_lens("1 of 2 done"))
client.say("left", client.diagnostics())
client.stop()
