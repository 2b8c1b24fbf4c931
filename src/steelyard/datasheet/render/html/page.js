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
  function each(selector, act) { Array.prototype.forEach.call(document.querySelectorAll(selector), act); }
  each("button.copy, button.copy-link", function (copy) {
    if (!navigator.clipboard) return;
    copy.hidden = false;
    copy.addEventListener("click", function () {
      var text = copy.dataset.text || new URL("#" + copy.dataset.anchor, location.href).href;
      navigator.clipboard.writeText(text).then(function () { copy.textContent = "Copied"; });
    });
  });
  function show() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (var box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", show);
  each('a[href^="#"]', function (link) {
    link.addEventListener("click", function () { if (link.hash === location.hash) show(); });
  });
  show();
  each("button.sort", function (button) {
    button.disabled = false;
    button.addEventListener("click", function () {
      var head = button.parentElement, body = head.closest("table").tBodies[0];
      var down = head.getAttribute("aria-sort") !== "descending", place = head.cellIndex;
      each("th[aria-sort]", function (th) { th.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      Array.prototype.slice.call(body.rows).sort(function (a, b) {
        var x = a.cells[place].dataset.sort, y = b.cells[place].dataset.sort;
        if (x === "" || y === "") return (x === "") - (y === "");
        var order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
        return down ? -order : order;
      }).forEach(function (row) { body.appendChild(row); });
    });
  });
  var opened = [];
  addEventListener("beforeprint", function () {
    opened = Array.prototype.filter.call(document.querySelectorAll("details.data, details.fold, details.part"), function (d) { return !d.open; });
    opened.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () { opened.forEach(function (d) { d.open = false; }); });
})();
