-- The connection to the daemon: JSON-RPC 2.0, one message a line, many requests at once. Must not depend on windows.
--
-- The first request connects. If nothing listens, gnoctl starts the daemon. If the connection is lost, open requests fail
-- with a message, and the next request connects again.
local uv = vim.uv or vim.loop -- vim.loop until Neovim 0.9

local Client = {}
Client.__index = Client

local LOST = "the connection to the daemon was lost: see `gnoctl daemon logs`"

function Client.new(options)
  local command = type(options.command) == "table" and options.command or { options.command }
  local gnoctl = vim.list_extend({}, command)
  if options.index then
    vim.list_extend(gnoctl, { "--index", options.index })
  end
  return setmetatable({ gnoctl = gnoctl, last_id = 0, waiting = {}, unsent = {}, unfinished = "" }, Client)
end

--- Send a request; `done(error_text, result)` is called in the main loop, once, unless it is cancelled.
function Client:request(method, params, done)
  self.last_id = self.last_id + 1
  local id = self.last_id
  self.waiting[id] = done
  local message = { jsonrpc = "2.0", id = id, method = method, params = params or vim.empty_dict() }
  if self.pipe then
    self:_write(message)
  else
    table.insert(self.unsent, message)
    self:_open()
  end
  return id
end

--- Cancel a request: its answer is ignored, and the daemon stops working on it.
function Client:cancel(id)
  if not self.waiting[id] then
    return
  end
  self.waiting[id] = nil
  if self.pipe then
    self:_write({ jsonrpc = "2.0", method = "$/cancelRequest", params = { id = id } })
  end
end

function Client:close()
  self:_fail("the connection was closed")
end

function Client:_write(message)
  self.pipe:write(vim.json.encode(message) .. "\n")
end

function Client:_open()
  if self.opening then
    return
  end
  self.opening = true
  self:_connect_where_it_listens(function()
    -- No daemon listens. Every command starts it, and says why if the config forbids it.
    self:_gnoctl({ "collection", "list" }, function(start_error)
      if start_error then
        return self:_fail(start_error)
      end
      self:_connect_where_it_listens(function(reason, path)
        self:_fail("no connection to the daemon at " .. path .. ": " .. reason)
      end)
    end)
  end)
end

function Client:_connect_where_it_listens(failed)
  self:_gnoctl({ "socket" }, function(error_text, path)
    if error_text then
      return self:_fail(error_text)
    end
    self:_connect(path, function(reason)
      failed(reason, path)
    end)
  end)
end

function Client:_connect(path, failed)
  -- gnoctl has checked this, but the socket may not have existed then.
  local found = uv.fs_lstat(path)
  if found and found.uid ~= uv.getuid() and found.uid ~= 0 then
    return failed("another user owns the socket")
  end
  local pipe = uv.new_pipe(false)
  pipe:connect(path, vim.schedule_wrap(function(reason)
    if reason or not self.opening then
      pipe:close()
      return reason and failed(reason)
    end
    self.pipe, self.opening = pipe, false
    pipe:read_start(vim.schedule_wrap(function(_, data)
      if pipe ~= self.pipe then
        return
      end
      if data then
        self:_receive(data)
      else
        self:_fail(LOST)
      end
    end))
    local unsent = self.unsent
    self.unsent = {}
    for _, message in ipairs(unsent) do
      if self.waiting[message.id] then
        self:_write(message)
      end
    end
  end))
end

function Client:_receive(data)
  local lines = vim.split(self.unfinished .. data, "\n", { plain = true })
  self.unfinished = table.remove(lines)
  for _, line in ipairs(lines) do
    local message = vim.json.decode(line, { luanil = { object = true } })
    local done = self.waiting[message.id]
    if done then
      self.waiting[message.id] = nil
      done(message.error and message.error.message, message.result)
    end
  end
end

function Client:_fail(text)
  local waiting, pipe = self.waiting, self.pipe
  self.waiting, self.unsent, self.unfinished = {}, {}, ""
  self.pipe, self.opening = nil, false
  if pipe then
    pipe:close()
  end
  for _, done in pairs(waiting) do
    done(text)
  end
end

--- Run gnoctl and call `done(error_text, what_it_printed)`.
function Client:_gnoctl(words, done)
  local command = vim.list_extend(vim.list_extend({}, self.gnoctl), words)
  local printed, complained = "", ""
  local started = pcall(vim.fn.jobstart, command, {
    stdin = "null",
    stdout_buffered = true,
    stderr_buffered = true,
    on_stdout = function(_, lines)
      printed = vim.trim(table.concat(lines, "\n"))
    end,
    on_stderr = function(_, lines)
      complained = vim.trim(table.concat(lines, "\n"))
    end,
    on_exit = function(_, status)
      done(status ~= 0 and (complained ~= "" and complained or "gnoctl ended with status " .. status) or nil, printed)
    end,
  })
  if not started then
    done(("%s cannot be run: install gnod, or name the program in require('gno').setup{command=…}"):format(command[1]))
  end
end

return Client
