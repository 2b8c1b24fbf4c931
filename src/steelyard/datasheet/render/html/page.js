(function () {
  var root = document.documentElement;
  var button = document.getElementById("theme");
  function dark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  function name() { button.textContent = dark() ? "Light" : "Dark"; }
  button.hidden = false;
  name();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
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
      var text = copy.dataset.text || location.protocol === "file:" && location.pathname.split("/").pop() + "#" + copy.dataset.anchor || new URL("#" + copy.dataset.anchor, location.href).href;
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
  // Files of a figure: its drawings in the colours of the page, and its data as a table.
  function save(name, text, kind) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }
  function drawing(figure) {
    var style = getComputedStyle(root), wide = 0, top = 0, parts = "";
    Array.prototype.forEach.call(figure.querySelectorAll(".panels svg, .forest svg"), function (svg) {
      if (!svg.checkVisibility()) return;
      var box = svg.viewBox.baseVal, copy = svg.cloneNode(true);
      copy.setAttribute("y", top);
      Array.prototype.forEach.call(copy.querySelectorAll("a"), function (a) { a.replaceWith.apply(a, a.childNodes); });
      parts += new XMLSerializer().serializeToString(copy);
      wide = Math.max(wide, box.width);
      top += box.height + 12;
    });
    var text = '<svg xmlns="http://www.w3.org/2000/svg" width="' + wide + '" height="' + top + '" font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="var(--paper)"/>' + parts + "</svg>";
    return text.replace(/var\((--[\w-]+)\)/g, function (_, role) {
      var probe = document.createElement("i");
      probe.style.color = "var(" + role + ")";
      root.appendChild(probe);
      var colour = style && getComputedStyle(probe).color;
      probe.remove();
      return colour;
    });
  }
  function table(figure) {
    return Array.prototype.map.call(figure.querySelectorAll("tr"), function (row) {
      return Array.prototype.map.call(row.cells, function (cell) {
        var text = cell.textContent.trim().replace(/\s+/g, " ");
        if (/^[=+@\t\r]|^-[^\d.]/.test(text)) text = "'" + text;
        return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
      }).join(",");
    }).join("\n") + "\n";
  }
  each("button.save", function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var figure = button.closest("figure"), name = figure.id.replace(/^fig-/, "");
      if (button.dataset.kind === "svg") save(name + ".svg", drawing(figure), "image/svg+xml");
      else save(name + ".csv", table(button.dataset.from ? document.getElementById(button.dataset.from) : figure), "text/csv");
    });
  });
  if (location.protocol === "file:") each(".folder", function (word) {
    var parts = location.pathname.split("/");
    var name = decodeURIComponent(parts[parts.length - 2] || "");
    if (/^[\w.][\w.-]*$/.test(name)) word.textContent = name;
  });
  var opened = [];
  addEventListener("beforeprint", function () {
    opened = Array.prototype.filter.call(document.querySelectorAll("details.fold, details.part"), function (d) { return !d.open; });
    opened.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () { opened.forEach(function (d) { d.open = false; }); });
})();
