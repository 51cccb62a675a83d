-- The two commands. Everything else is loaded when one of them is used.
if vim.g.loaded_gno or vim.fn.has("nvim-0.7") == 0 then
  return
end
vim.g.loaded_gno = true

vim.api.nvim_create_user_command("Gno", function(command)
  require("gno").search(command.args)
end, { nargs = "*", desc = "Search your documents as you type" })

vim.api.nvim_create_user_command("GnoStatus", function()
  require("gno").status()
end, { desc = "Say whether the index equals the disk" })
