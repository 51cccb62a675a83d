"""Questions over long files: one passage of one long file answers each of them."""
