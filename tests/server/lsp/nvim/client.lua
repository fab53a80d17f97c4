-- What the scenarios share: a client of `phasekeeper lsp`, waiting with a bound, and saying what was seen.
local M = {}
local BOUND_MS = 60000

local out = assert(io.open(os.getenv("PHASEKEEPER_SEEN"), "w"))

-- One line of JSON for the test to read.
function M.say(what, value)
  out:write(vim.json.encode({ what = what, value = value }) .. "\n")
  out:flush()
end

function M.wait(what, true_of)
  if not vim.wait(BOUND_MS, true_of, 10) then
    M.say("gave up", what .. ": " .. vim.inspect(M.diagnostics()))
    vim.cmd("cquit 1")
  end
end

-- The diagnostics of the current buffer, as far as a test looks at them.
function M.diagnostics()
  return vim.tbl_map(function(found)
    return { code = found.code, line = found.lnum, message = found.message, source = found.source }
  end, vim.diagnostic.get(0))
end

function M.has(code)
  return function()
    for _, found in ipairs(vim.diagnostic.get(0)) do
      if found.code == code then return true end
    end
    return false
  end
end

function M.start(root)
  local command = vim.json.decode(os.getenv("PHASEKEEPER_COMMAND"))
  M.id = vim.lsp.start_client({ name = "phasekeeper", cmd = command, root_dir = root,
    init_options = { trusted = true } })
  return M.id
end

function M.open(path)
  vim.cmd("edit " .. vim.fn.fnameescape(path))
  vim.lsp.buf_attach_client(0, M.id)
end

function M.request(method, more)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params() }, more or {})
  local answers, problem = vim.lsp.buf_request_sync(0, method, params, BOUND_MS)
  if problem or not answers or not answers[M.id] or answers[M.id].error then
    M.say("failed", method .. vim.inspect(problem or answers))
    vim.cmd("cquit 1")
  end
  return answers[M.id].result
end

-- The titles of the lenses of the current buffer, in order.
function M.lenses()
  return vim.tbl_map(function(lens) return lens.command.title end, M.request("textDocument/codeLens"))
end

function M.has_lens(part)
  return function()
    for _, title in ipairs(M.lenses()) do
      if title:find(part, 1, true) then return true end
    end
    return false
  end
end

-- Saves a buffer as a person does, and then dates the file: reports saved within two seconds have no order.
function M.write(path, lines, at)
  M.open(path)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  vim.cmd("silent write")
  vim.loop.fs_utime(path, at, at)
end

function M.stop()
  vim.lsp.stop_client(M.id)
  M.say("stopped", vim.wait(BOUND_MS, function() return vim.lsp.client_is_stopped(M.id) end, 10))
  vim.cmd("qa!")
end

return M
