// Making elements: properties by their names, "aria-" and "data-" ones as attributes.

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

/** An icon of the page's sprite; with a tone it is the glyph of a status. */
export function icon(name, tone = "") {
  const space = "http://www.w3.org/2000/svg";
  const node = document.createElementNS(space, "svg");
  node.setAttribute("class", tone ? `g t-${tone}` : "i");
  node.setAttribute("aria-hidden", "true");
  node.append(document.createElementNS(space, "use"));
  node.firstChild.setAttribute("href", `#${tone ? "g" : "i"}-${name}`);
  return node;
}
