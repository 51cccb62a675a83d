-- The commands. Everything else is loaded when one of them is used.
if vim.g.loaded_gno or vim.fn.has("nvim-0.7") == 0 then
  return
end
vim.g.loaded_gno = true

vim.api.nvim_create_user_command("Gno", function(command)
  require("gno").search(command.args)
end, { nargs = "*", desc = "Search your documents as you type" })

local links = {
  GnoLink = { "follow", "Follow the link at the cursor" },
  GnoBacklinks = { "backlinks", "Choose one of the links to this file" },
  GnoMentions = { "mentions", "Choose one of the places that mention this file without a link" },
}
for name, command in pairs(links) do
  vim.api.nvim_create_user_command(name, function()
    require("gno")[command[1]]()
  end, { desc = command[2] })
end

vim.api.nvim_create_user_command("GnoStatus", function()
  require("gno").status()
end, { desc = "Show whether the index equals the disk" })
