-- The links of the current file: follow the one at the cursor, or choose one that leads here. Must not depend on windows.
local Hit = require("gno.hit")

local M = {}

local SAFE = { "^https?://", "^mailto:" } -- addresses that a text may make the browser open

--- Follow the link at the cursor. `options.browse(url)` opens an address; `say(text)` reports why it cannot.
function M.follow(client, options, say)
  local line, column = unpack(vim.api.nvim_win_get_cursor(0))
  local text = vim.api.nvim_get_current_line()
  M._ask(client, "document.links", { direction = "out", limit = 1000 }, say, function(found)
    local here = vim.tbl_filter(function(link)
      return link.line == line
    end, found.links)
    local link = M.at(here, text, column)
    if not link then
      return say("the index has no link in this line: save the file first if it is new")
    end
    M._go(client, options, link, say)
  end)
end

--- Return the link of a line that holds the column (in bytes, from 0), or the next one, or the last.
function M.at(links, text, column)
  local from = 1
  for number, link in ipairs(links) do
    local _, last = text:find(link.target, from, true)
    if last then
      -- The brackets that close a link follow its target, after the words that are shown.
      _, from = text:find("[%])]+", last + 1)
      from = (from or last) + 1
    end
    if number == #links or (last and column < from - 1) then
      return link
    end
  end
end

function M._go(client, options, link, say)
  if link.to then
    M._open(client, link.to, link.fragment, 1, say)
  elseif #link.candidates > 0 then
    M._choose("Which " .. link.target .. "?", link.candidates, tostring, function(uri)
      M._open(client, uri, link.fragment, 1, say)
    end)
  elseif link.state ~= "external" then
    say(link.target .. " does not lead to a document of the index")
  elseif not (link.target:find(SAFE[1]) or link.target:find(SAFE[2])) then
    say(link.target .. " was not opened: it is not a web or mail address")
  else
    options.browse(link.target)
  end
end

--- Choose one of the links to the current file, and go there.
function M.backlinks(client, say)
  M._ask(client, "document.links", { direction = "in", limit = 1000 }, say, function(found)
    M._list(client, "Links to " .. found.title, found.backlinks, "nothing links to " .. found.title, say)
  end)
end

--- Choose one of the places that mention the current file without a link, and go there.
function M.mentions(client, say)
  M._ask(client, "links.mentions", { limit = 1000 }, say, function(found)
    M._list(client, "Mentions of " .. found.title, found.mentions, "nothing mentions " .. found.title, say)
  end)
end

function M._list(client, prompt, places, nothing, say)
  if #places == 0 then
    return say(nothing)
  end
  M._choose(prompt, places, function(place)
    local passage = place.passage:gsub("%s+", " ")
    return ("%s:%d  %s"):format(place.uri:gsub("^gno://", ""), place.line, passage)
  end, function(place)
    M._open(client, place.uri, "", place.line, say)
  end)
end

function M._choose(prompt, items, format, chosen)
  vim.ui.select(items, { prompt = prompt, format_item = format }, function(item)
    if item then
      chosen(item)
    end
  end)
end

function M._ask(client, method, params, say, done)
  params.ref = vim.api.nvim_buf_get_name(0)
  if params.ref == "" then
    return say("this buffer has no file")
  end
  client:request(method, params, function(error_text, result)
    if error_text then
      return say(error_text)
    end
    done(result)
  end)
end

function M._open(client, uri, fragment, line, say)
  client:request("document.locate", { ref = uri }, function(error_text, place)
    if error_text then
      return say(error_text)
    end
    place.line = line
    Hit.open(client, place, "edit", say, function()
      if fragment ~= "" then
        local name = vim.fn.escape(fragment:gsub("^%^", ""), "\\")
        if vim.fn.search([[\c^\s*\(#\+\|=\+\|\*\+\)\s\+\V]] .. name, "cw") == 0 then
          vim.fn.search([[\c\V]] .. name, "cw") -- it is not a heading, but a block or a label
        end
      end
    end)
  end)
end

return M
