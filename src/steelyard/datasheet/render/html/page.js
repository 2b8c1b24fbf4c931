(function () {
  var root = document.documentElement;
  var button = document.getElementById("theme");
  function dark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function name() { button.textContent = dark() ? "Light" : "Dark"; }
  button.hidden = false;
  name();
  button.addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("steelyard-theme", root.dataset.theme); } catch (error) { /* kept for this view only */ }
    name();
  });
  Array.prototype.forEach.call(document.querySelectorAll("button.copy-link"), function (copy) {
    if (!navigator.clipboard) return;
    copy.hidden = false;
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(new URL("#" + copy.dataset.anchor, location.href).href)
        .then(function () { copy.textContent = "Link copied"; });
    });
  });
  var opened = [];
  addEventListener("beforeprint", function () {
    opened = Array.prototype.filter.call(document.querySelectorAll("details.data, details.fold"), function (d) { return !d.open; });
    opened.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () { opened.forEach(function (d) { d.open = false; }); });
})();
