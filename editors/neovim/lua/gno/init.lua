-- The functions for users: setup, search, follow, backlinks, mentions, status. Must not depend on the wire or windows.
local Client = require("gno.client")

local M = {}

M.options = {
  command = { "gnoctl" }, -- runs gnoctl, which finds the socket and starts the daemon
  index = nil, -- the name of an index; nil: GNO_INDEX, else the default one
  limit = 20, -- documents shown
  debounce_ms = 10, -- how long to wait for the next key
  browse = function(url) -- opens an address
    if vim.ui.open then
      return vim.ui.open(url)
    end
    vim.fn.jobstart({ vim.fn.has("mac") == 1 and "open" or "xdg-open", url }, { detach = true })
  end,
}

local client

--- Set options. Other options keep their values.
function M.setup(options)
  M.options = vim.tbl_extend("force", M.options, options or {})
  if client then
    client:close()
    client = nil
  end
end

--- Return the connection that the whole Neovim process shares. It connects on first use.
function M.client()
  client = client or Client.new(M.options)
  return client
end

--- Open the live search with `query` in its field.
function M.search(query)
  require("gno.picker").open(M.client(), M.options, query or "")
end

--- Follow the link at the cursor.
function M.follow()
  require("gno.links").follow(M.client(), M.options, M.say)
end

--- Choose one of the links to this file, and go there.
function M.backlinks()
  require("gno.links").backlinks(M.client(), M.say)
end

--- Choose one of the places that mention this file without a link, and go there.
function M.mentions()
  require("gno.links").mentions(M.client(), M.say)
end

--- Show in the message area whether the index equals the disk.
function M.status()
  M.client():request("index.status", nil, function(error_text, status)
    if error_text then
      M.say(error_text)
    else
      vim.api.nvim_echo({ { table.concat(require("gno.status").lines(status), "\n") } }, true, {})
    end
  end)
end

--- Report a failure without raising an error.
function M.say(text)
  vim.api.nvim_echo({ { "gno: " .. text, "WarningMsg" } }, true, {})
end

return M
