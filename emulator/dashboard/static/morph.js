// Morphs a tree by changing only what differs, so that focus, selection, scroll and open elements stay.
//
// Children are matched by data-key or id, otherwise by order and tag. Unchanged: elements with data-keep, the value of
// inputs with data-keep-value, the open state of <details>, and the input the reader is typing into.

// Not node.id: in a form with a field named "id" that is the field.
const keyOf = (node) => node.dataset?.key || node.getAttribute?.("id") || null;

export function morph(from, to) {
  if (from.nodeType === 1 && from.hasAttribute("data-keep")) return;
  if (from.nodeType !== 1) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  attributes(from, to);
  if (from.tagName === "TEXTAREA" && (from === document.activeElement || from.dataset.touched)) return;
  children(from, to);
}

function attributes(from, to) {
  const typing = from === document.activeElement && /^(INPUT|TEXTAREA|SELECT)$/.test(from.tagName);
  const kept = from.hasAttribute("data-keep-value") || typing;
  for (const { name, value } of [...to.attributes]) {
    if (stays(from, name, kept)) continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !stays(from, name, kept)) from.removeAttribute(name);
  }
}

function stays(node, name, kept) {
  if (name === "open" && (node.tagName === "DETAILS" || node.tagName === "DIALOG")) return true;
  if (name === "aria-busy" || name === "aria-disabled") return true;
  if (name === "tabindex" && node === document.activeElement) return true;
  return kept && (name === "value" || name === "checked");
}

function children(from, to) {
  const known = new Map();
  for (const child of from.childNodes) {
    const key = keyOf(child);
    if (key !== null) known.set(key, child);
  }
  const wanted = new Set([...to.childNodes].map(keyOf).filter((key) => key !== null));
  let place = from.firstChild;
  for (const child of [...to.childNodes]) {
    const match = find(child, place, known, wanted);
    if (match === null) {
      from.insertBefore(document.importNode(child, true), place);
      continue;
    }
    if (match !== place) from.insertBefore(match, place);
    else place = place.nextSibling;
    morph(match, child);
  }
  while (place !== null) {
    const next = place.nextSibling;
    if (!(place.nodeType === 1 && place.hasAttribute("data-keep"))) place.remove();
    place = next;
  }
}

function find(child, place, known, wanted) {
  const key = keyOf(child);
  if (key !== null) {
    const same = known.get(key);
    return same && same.tagName === child.tagName ? same : null;
  }
  if (place === null || place.nodeType !== child.nodeType || place.nodeName !== child.nodeName) return null;
  const other = keyOf(place);
  return other !== null && wanted.has(other) ? null : other === null ? place : null;
}
