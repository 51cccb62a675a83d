// Sets the chosen theme before the first paint. A classic script: modules run later.
{
  let theme = "";
  try {
    theme = localStorage.getItem("theme") ?? "";
  } catch {
    // Storage is blocked: follow the system.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
