// What axe need not look at twice.
//
// Takes repeated parts of a page away before axe looks at it, and gives them back. Rows, items and shapes that are
// alike in tag, class, attributes and emptiness break the same rules: one of each kind stays, two of landmarks, whose
// names axe compares, and every element that others refer to.
(() => {
  const PARTS = new Set(["TR", "LI", "OPTION", "DETAILS", "ARTICLE", "SECTION", "FIGURE", "DIV", "g", "path", "line", "circle", "rect", "text", "polyline"]);
  const VALUES = new Set(["class", "style", "role", "type", "fill", "stroke", "tabindex", "scope", "dir", "lang"]);
  const REFERRING = ["for", "aria-labelledby", "aria-describedby", "aria-controls", "headers", "list"];
  const LANDMARKS = new Set(["NAV", "SECTION", "ASIDE", "FORM"]);
  const isLandmark = (each) => each.getAttribute("role") === "region" || LANDMARKS.has(each.tagName);
  const taken = [];
  window.thinPage = () => {
    const named = new Set(REFERRING.flatMap((name) => [...document.querySelectorAll(`[${name}]`)].flatMap((each) => each.getAttribute(name).split(/\s+/))));
    const kinds = new Map();
    const kind = (each, inner) => {
      const own = [...each.attributes].map(({ name, value }) => `${name}=${VALUES.has(name) ? value : value.trim() === ""}`).sort();
      const words = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      const name = isLandmark(each) ? each.getAttribute("aria-label") : "";
      const key = `${each.tagName} ${own} ${name} ${words} ${inner}`;
      if (!kinds.has(key)) kinds.set(key, kinds.size);
      return kinds.get(key);
    };
    const thin = (each) => {
      const seen = new Map(), inner = [];
      for (const child of [...each.children]) {
        const found = thin(child), count = seen.get(found) ?? 0;
        seen.set(found, count + 1);
        const kept = child.id && named.has(child.id) || [...child.querySelectorAll("[id]")].some((one) => named.has(one.id));
        if (count >= (isLandmark(child) || child.querySelector("[role=region], nav, section, form") ? 2 : 1) && PARTS.has(child.tagName) && !kept) {
          taken.push([child, each, child.nextSibling]);
          child.remove();
        } else inner.push(found);
      }
      return kind(each, inner);
    };
    thin(document.body);
    return taken.length;
  };
  // Marks one text of each look: contrast is a matter of colours, size and weight, not of what a text says.
  const CONTROLS = new Set(["INPUT", "SELECT", "TEXTAREA", "BUTTON"]);
  const look = (each) => {
    const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(each);
    const parts = [color, fill, fontSize, fontWeight, textShadow, each.closest(":disabled, [aria-disabled], [aria-hidden]") !== null];
    for (let behind = each; behind; behind = behind.parentElement) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(behind);
      parts.push(opacity === "1" ? "" : opacity, backgroundImage === "none" ? "" : backgroundImage);
      if (!/^rgba.*, 0\)$/.test(backgroundColor)) parts.push(backgroundColor);
      if (backgroundColor.startsWith("rgb(")) break;
    }
    return parts.filter((part) => part !== "").join(" ");
  };
  window.markLooks = () => {
    document.querySelectorAll("[data-look]").forEach((each) => delete each.dataset.look);
    const looks = new Map();
    for (const each of document.body.querySelectorAll("*")) {
      const words = CONTROLS.has(each.tagName) || [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (words && each.checkVisibility()) looks.set(look(each), each);
    }
    looks.forEach((each) => { each.dataset.look = ""; });
  };
  window.fillPage = () => { while (taken.length) { const [child, parent, next] = taken.pop(); parent.insertBefore(child, next); } };
})();
