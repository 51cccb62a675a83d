-- The state of the index, in words. Pure.
local M = {}

local function count(number, noun)
  return ("%d %s%s"):format(number, noun, number == 1 and "" or "s")
end

--- Return the note beside the hits of a search: whether the index is behind, and what was left out; nil if there is
--- none.
function M.remarks(result)
  if not result then
    return nil
  end
  local parts = result.freshness.current and {} or { result.freshness.state }
  vim.list_extend(parts, result.notes or {})
  return #parts > 0 and table.concat(parts, "; ") or nil
end

--- Return the result of `index.status` as lines.
function M.lines(status)
  local lines = {
    ("Index %s: %s, %s; %s"):format(
      status.index,
      count(status.documents, "document"),
      count(status.chunks, "chunk"),
      status.freshness.state
    ),
  }
  for _, each in ipairs(status.collections) do
    local on_disk = each.on_disk or each.indexed -- large folders are not counted
    local state = each.available and ("%d of %d indexed"):format(each.indexed, on_disk) or each.reason or "not there"
    local failed = each.failed > 0 and (", %s could not be read (gnoctl status --errors)"):format(count(each.failed, "file")) or ""
    table.insert(lines, ("  %s: %s%s  %s"):format(each.name, state, failed, each.path))
  end
  if status.embedding.state == "embedding" then
    table.insert(lines, "  embedding: " .. count(status.embedding.pending, "chunk") .. " left")
  elseif status.embedding.reason then
    table.insert(lines, ("  embedding is %s: %s"):format(status.embedding.state, status.embedding.reason))
  end
  return lines
end

return M
