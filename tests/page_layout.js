/* Measures the page it stands in and tells the page around it. */
addEventListener("load", function () {
  function all(selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); }
  function shown(element) { return element.getClientRects().length > 0; }
  function words(element) { return element.textContent.trim().replace(/\s+/g, " ").slice(0, 60); }
  var root = document.documentElement;
  var told = { name: NAME };
  told.folds = all("details.fold").length;
  told.open = all("details.fold[open]").length;
  told.folded = root.scrollHeight;
  told.hidden_rows = all("details.fold tbody tr").filter(function (row) { return !row.checkVisibility(); }).length;
  all("details").forEach(function (fold) { fold.open = true; });
  told.unfolded = root.scrollHeight;
  told.overflow = root.scrollWidth - root.clientWidth;
  told.wide = all("body *").filter(function (e) {
    return !e.closest(".scroll, .panels, .forest, pre") && e.getBoundingClientRect().right > root.clientWidth + 1;
  }).map(function (e) { return e.tagName + "." + e.getAttribute("class"); }).slice(0, 5);

  told.clipped = all(".summary td, .summary th, details.data td, details.data th, .matrix td").filter(function (cell) {
    return shown(cell) && getComputedStyle(cell).position !== "absolute" && !cell.closest("thead") && cell.scrollWidth > cell.clientWidth + 1;
  }).map(words).slice(0, 5);

  told.overprinted = [];
  all("figure .panels svg").forEach(function (drawing) {
    var scale = drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
    var texts = all("text", drawing).filter(function (t) { return t.textContent.trim(); });
    texts.forEach(function (one, at) {
      var a = one.getBoundingClientRect();
      texts.slice(at + 1).forEach(function (two) {
        var b = two.getBoundingClientRect();
        var across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        var down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 3 * scale && down > 5 * scale) told.overprinted.push(words(one) + " | " + words(two));
      });
    });
  });

  told.scrolled = all(".scroll").filter(function (s) { return s.querySelector(".matrix") && s.scrollWidth > s.clientWidth + 1; }).length;
  told.unnamed = all(".summary td").filter(function (cell) { return shown(cell) && !cell.closest("thead") && !cell.dataset.judge; }).length;
  told.headings = all("h1, h2, h3, h4, h5").filter(shown).map(function (h) { return Number(h.tagName[1]); });
  told.nameless = all("a, button, summary, [tabindex='0']").filter(function (e) {
    return !words(e) && !e.getAttribute("aria-label");
  }).map(function (e) { return e.outerHTML.slice(0, 80); });

  function numbers(colour) { return (colour.match(/[\d.]+/g) || []).map(Number); }
  function light(colour) {
    return numbers(colour).slice(0, 3).map(function (part) {
      var share = part / 255;
      return share <= 0.04045 ? share / 12.92 : Math.pow((share + 0.055) / 1.055, 2.4);
    }).reduce(function (sum, part, at) { return sum + part * [0.2126, 0.7152, 0.0722][at]; }, 0);
  }
  function ground(element) {
    for (var e = element; e; e = e.parentElement) {
      var colour = getComputedStyle(e).backgroundColor, parts = numbers(colour);
      if (parts.length === 3 || parts[3] > 0.5) return colour;
    }
    return "rgb(255, 255, 255)";
  }
  told.faint = all("body *").filter(function (e) {
    if (e.closest("svg") || !shown(e) || e.matches("script, style, option")) return false;
    if (!Array.prototype.some.call(e.childNodes, function (n) { return n.nodeType === 3 && n.textContent.trim(); })) return false;
    var a = light(getComputedStyle(e).color), b = light(ground(e));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(function (e) { return e.tagName + "." + e.className + ": " + words(e); }).slice(0, 5);

  var longest = all("details.fold table.summary").sort(function (a, b) { return b.offsetHeight - a.offsetHeight; })[0];
  told.header = [0, 1];
  if (longest) {
    var box = longest.getBoundingClientRect();
    scrollTo({ top: scrollY + box.top + box.height / 2, behavior: "instant" });
    var head = (longest.querySelector("thead th") || longest).getBoundingClientRect();
    told.header = [head.top, head.bottom];
  }
  parent.postMessage(JSON.stringify(told), "*");
});
