-- The live search's two floating windows: a field to type in, and the hits below it. Must not depend on the wire.
local Hit = require("gno.hit")
local Live = require("gno.live")

local M = {}

local HIGHLIGHTS = vim.api.nvim_create_namespace("gno")
local LINES_OF_A_HIT = 2

local Picker = {}
Picker.__index = Picker

--- Open the windows with `query` in the field. Return the picker.
function M.open(client, options, query)
  local self = setmetatable({ client = client, hits = {}, selected = 1, head = 0 }, Picker)
  self:_open_windows()
  self.live = Live.new(client, options, function(state)
    self:_show(state)
  end)
  vim.api.nvim_buf_set_lines(self.field, 0, -1, false, { query })
  vim.cmd("startinsert!")
  self.live:input(query)
  return self
end

function Picker:_open_windows()
  local width = math.min(100, vim.o.columns - 4)
  local height = math.max(math.min(30, vim.o.lines - 8), 4)
  local place = { relative = "editor", style = "minimal", border = "rounded", width = width, col = (vim.o.columns - width) / 2 }
  self.list = vim.api.nvim_create_buf(false, true)
  self.list_window = vim.api.nvim_open_win(
    self.list,
    false,
    vim.tbl_extend("error", place, { row = 4, height = height, focusable = false })
  )
  vim.wo[self.list_window].winhighlight = "NormalFloat:Normal,CursorLine:PmenuSel"
  vim.wo[self.list_window].wrap = false
  self.field = vim.api.nvim_create_buf(false, true)
  vim.bo[self.field].filetype = "gno"
  self.field_window = vim.api.nvim_open_win(self.field, true, vim.tbl_extend("error", place, { row = 1, height = 1 }))
  vim.wo[self.field_window].winhighlight = "NormalFloat:Normal"
  self:_listen()
end

function Picker:_listen()
  local function map(mode, keys, action)
    for _, key in ipairs(keys) do
      vim.keymap.set(mode, key, action, { buffer = self.field, nowait = true })
    end
  end
  local both = { "i", "n" }
  for key, how in pairs({ ["<CR>"] = "edit", ["<C-s>"] = "split", ["<C-v>"] = "vsplit", ["<C-t>"] = "tabedit" }) do
    map(both, { key }, function()
      self:open(how)
    end)
  end
  map(both, { "<Down>", "<C-n>", "<C-j>" }, function()
    self:select(self.selected + 1)
  end)
  map(both, { "<Up>", "<C-p>", "<C-k>" }, function()
    self:select(self.selected - 1)
  end)
  map(both, { "<Esc>", "<C-c>" }, function()
    self:close()
  end)
  vim.api.nvim_create_autocmd({ "TextChangedI", "TextChanged", "TextChangedP" }, {
    buffer = self.field,
    callback = function()
      self.live:input(table.concat(vim.api.nvim_buf_get_lines(self.field, 0, -1, false), " "))
    end,
  })
  vim.api.nvim_create_autocmd({ "BufLeave", "WinLeave" }, {
    buffer = self.field,
    once = true,
    callback = function()
      self:close()
    end,
  })
end

--- Select the hit with this number; the last one comes before the first.
function Picker:select(number)
  if #self.hits == 0 then
    return
  end
  self.selected = (number - 1) % #self.hits + 1
  local row = self.head + (self.selected - 1) * LINES_OF_A_HIT + 1
  -- Show the snippet first, so that both lines of the hit are visible.
  vim.api.nvim_win_set_cursor(self.list_window, { row + 1, 0 })
  vim.api.nvim_win_set_cursor(self.list_window, { row, 0 })
end

--- Close, and open the selected hit.
function Picker:open(how)
  local hit = self.hits[self.selected]
  if not hit then
    return
  end
  self:close()
  -- Wait for the next turn of the event loop, when insert mode has ended.
  vim.schedule(function()
    Hit.open(self.client, hit, how, require("gno").say)
  end)
end

function Picker:close()
  if self.closed then
    return
  end
  self.closed = true
  self.live:stop()
  vim.cmd("stopinsert")
  for _, window in ipairs({ self.field_window, self.list_window }) do
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  for _, buffer in ipairs({ self.field, self.list }) do
    if vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
  end
end

function Picker:_show(state)
  self.hits = state.hits
  local lines, marks = {}, {}
  local function add(text, from, group)
    table.insert(lines, (text:gsub("\n", " ")))
    if group then
      table.insert(marks, { #lines - 1, from, #text, group })
    end
  end
  local message = state.message or require("gno.status").remarks(state.result)
  if message then
    add(message, 0, "WarningMsg")
  end
  self.head = #lines
  for _, hit in ipairs(state.hits) do
    local place = ("%s/%s:%s"):format(hit.collection, hit.path, hit.location and hit.location.label or hit.line)
    if hit.definition then
      place = place .. " in " .. hit.definition.label
    end
    add(hit.title .. "  " .. place .. Hit.also(hit), #hit.title + 2, "Comment")
    local text, found = Hit.preview(hit)
    add("    " .. text)
    for _, span in ipairs(found) do
      table.insert(marks, { #lines - 1, span[1] + 4, span[2] + 4, "Search" })
    end
  end
  vim.api.nvim_buf_set_lines(self.list, 0, -1, false, lines)
  vim.api.nvim_buf_clear_namespace(self.list, HIGHLIGHTS, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(self.list, HIGHLIGHTS, mark[1], mark[2], { end_col = mark[3], hl_group = mark[4] })
  end
  vim.wo[self.list_window].cursorline = #state.hits > 0
  self:select(1)
end

return M
