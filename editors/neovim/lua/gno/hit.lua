-- Show and open a hit. Must not depend on the picker.
local M = {}

-- The daemon converts these text formats, so their line numbers differ from those of the file.
local CONVERTED = { ["text/html"] = true, ["text/csv"] = true, ["text/tab-separated-values"] = true }
local DATA = { ["application/json"] = true, ["application/yaml"] = true, ["application/toml"] = true }

--- Return the line of the snippet that has the first match, and its matches as pairs of bytes.
function M.preview(hit)
  local first = hit.marks[1] and hit.marks[1][1] or 0
  local start = 0 -- in characters, like the marks
  for _, line in ipairs(vim.split(hit.snippet, "\n", { plain = true })) do
    local length = vim.fn.strchars(line)
    if first <= start + length then
      return line, M._bytes(line, hit.marks, start, length)
    end
    start = start + length + 1
  end
  return "", {}
end

function M._bytes(line, marks, start, length)
  local pairs_of_bytes = {}
  for _, mark in ipairs(marks) do
    local from, to = math.max(mark[1] - start, 0), math.min(mark[2] - start, length)
    if from < to then
      table.insert(pairs_of_bytes, { vim.fn.byteidxcomp(line, from), vim.fn.byteidxcomp(line, to) })
    end
  end
  return pairs_of_bytes
end

--- Return the other paths of the same file; "" without copies.
function M.also(hit)
  local paths = vim.tbl_map(function(copy)
    return copy.collection .. "/" .. copy.path
  end, hit.also or {})
  local more = (hit.also_left_out or 0) > 0 and (" and %d more"):format(hit.also_left_out) or ""
  return #paths > 0 and "  also: " .. table.concat(paths, ", ") .. more or ""
end

--- Return whether the file itself is text with the same lines as the hit.
function M.is_text(hit)
  return DATA[hit.mime] or (vim.startswith(hit.mime, "text/") and not CONVERTED[hit.mime])
end

--- Open the hit at its line: the file if it is text, else the indexed text.
-- `how`: edit, split, vsplit or tabedit. `failed(error_text)` is called when it cannot be opened, else `opened()`.
function M.open(client, hit, how, failed, opened)
  if M.is_text(hit) and vim.fn.filereadable(hit.source) == 1 then
    vim.cmd("normal! m'")
    local done, reason = pcall(vim.cmd, how .. " " .. vim.fn.fnameescape(hit.source))
    if not done then
      return failed((tostring(reason):gsub("^.-Vim%(.-%):", "")))
    end
    return M._go(hit.line, opened)
  end
  client:request("document.get", { ref = hit.uri }, function(error_text, document)
    if error_text then
      return failed(error_text)
    end
    vim.cmd("normal! m'")
    if how ~= "edit" then
      vim.cmd(({ split = "split", vsplit = "vsplit", tabedit = "tab split" })[how])
    end
    local done, reason = pcall(vim.api.nvim_win_set_buf, 0, M._buffer(document))
    if not done then
      return failed(tostring(reason))
    end
    M._go(hit.line, opened)
  end)
end

function M._buffer(document)
  local buffer
  for _, each in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(each) == document.uri then
      buffer = each
    end
  end
  if not buffer then
    buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(buffer, document.uri)
    vim.bo[buffer].filetype = "markdown"
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(document.text:gsub("\n$", ""), "\n", { plain = true }))
  vim.bo[buffer].modifiable = false
  return buffer
end

function M._go(line, opened)
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(0)), 0 })
  if opened then
    opened()
  end
  vim.cmd("normal! zvzz")
end

return M
