-- Search as you type: waits a moment for the next key, and a new search cancels the previous one.
local uv = vim.uv or vim.loop -- vim.loop until Neovim 0.9

local Live = {}
Live.__index = Live

--- `show(state)` is called with the state to show: `hits`, their `result`, and a `message` or nil.
function Live.new(client, options, show)
  local self = { client = client, options = options, show = show, query = "", hits = {}, timer = uv.new_timer() }
  return setmetatable(self, Live)
end

--- Report the current content of the search field.
function Live:input(text)
  local query = vim.trim(text)
  if query == self.query then
    return
  end
  self.query = query
  self:_supersede()
  if query == "" then
    self:_show({}, nil)
    return
  end
  self.timer:start(self.options.debounce_ms, 0, vim.schedule_wrap(function()
    if self.timer and query == self.query then
      self:_ask(query)
    end
  end))
end

function Live:stop()
  self:_supersede()
  self.timer:close()
  self.timer, self.show = nil, function() end
end

function Live:_ask(query)
  self:_supersede()
  local params = { query = query, limit = self.options.limit, prefix_last_term = true }
  self.request = self.client:request("search.lexical", params, function(e, result)
    self.request = nil
    if e then
      -- Keep the hits while the query is incomplete (an open quotation mark).
      self:_show(self.hits, e)
    elseif #result.hits == 0 then
      self:_show({}, "nothing found")
    else
      self:_show(result.hits, nil, result)
    end
  end)
end

function Live:_supersede()
  self.timer:stop()
  if self.request then
    self.client:cancel(self.request)
    self.request = nil
  end
end

function Live:_show(hits, message, result)
  self.hits = hits
  self.show({ hits = hits, message = message, result = result })
end

return Live
