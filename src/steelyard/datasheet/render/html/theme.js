(function () {
  try {
    var kept = localStorage.getItem("steelyard-theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch (error) { /* storage is closed to some local files; the system's theme serves */ }
})();
