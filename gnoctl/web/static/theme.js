// Sets the chosen theme, and whether the filters are open, before the first paint. A classic script: modules run later.
{
  let theme = "";
  let filters = "";
  try {
    theme = localStorage.getItem("theme") ?? "";
    filters = localStorage.getItem("filters") ?? "";
  } catch {
    // Storage is blocked: follow the system.
  }
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  root.classList.toggle("filtering", filters !== '"closed"' && matchMedia("(min-width: 1180px)").matches);
}
