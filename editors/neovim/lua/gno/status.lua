-- The state of the index, in words. Pure.
local M = {}

local function count(number, noun)
  return ("%d %s%s"):format(number, noun, number == 1 and "" or "s")
end

--- Return a sentence when the index is not what the disk is, else nil.
function M.behind(freshness)
  if not freshness then
    return nil
  end
  local parts = {}
  if (freshness.pending or 0) > 0 then
    table.insert(parts, count(freshness.pending, "file") .. " not indexed yet")
  end
  if #(freshness.unavailable or {}) > 0 then
    table.insert(parts, "folder not there: " .. table.concat(freshness.unavailable, ", "))
  end
  if #(freshness.unwatched or {}) > 0 then
    table.insert(parts, "not watched: " .. table.concat(freshness.unwatched, ", "))
  end
  return #parts > 0 and table.concat(parts, "; ") or (not freshness.current and "not up to date" or nil)
end

--- Return what is to be said beside the hits of a search: that the index is behind, and what was left out; nil if nothing.
function M.remarks(result)
  if not result then
    return nil
  end
  local parts = { M.behind(result.freshness) }
  vim.list_extend(parts, result.notes or {})
  return #parts > 0 and table.concat(parts, "; ") or nil
end

--- Return what `index.status` answered, as lines.
function M.lines(status)
  local lines = {
    ("Index %s: %s, %s; %s"):format(
      status.index,
      count(status.documents, "document"),
      count(status.chunks, "chunk"),
      M.behind(status.freshness) or "up to date"
    ),
  }
  for _, each in ipairs(status.collections) do
    local on_disk = each.on_disk or each.indexed -- large folders are not counted
    local state = each.available and ("%d of %d indexed"):format(each.indexed, on_disk) or each.reason or "not there"
    local failed = each.failed > 0 and (", %d failed (gnoctl status --errors)"):format(each.failed) or ""
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
