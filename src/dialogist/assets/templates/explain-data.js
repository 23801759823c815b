"use strict";
// What the page knows: labels, axes and weights; shared by explain-text.js and explain-maps.js.
const explained = (() => {
  const page = JSON.parse(document.getElementById("page").textContent);
  const decoded = new Map();

  function bytes(text) {
    const raw = atob(text), found = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
    return found;
  }
  // A map's weights are unpacked when they are first looked at.
  function unpacked(map) {
    if (!decoded.has(map)) {
      decoded.set(map, { shares: bytes(map.weights), scales: new Float32Array(bytes(map.scales).buffer) });
    }
    return decoded.get(map);
  }
  const axis = (map, side) => page.axes[map[side]];
  function row(map, head, r) {
    const { shares, scales } = unpacked(map), columns = axis(map, "columns").places.length;
    const at = head * axis(map, "rows").places.length + r, found = new Float32Array(columns);
    for (let c = 0; c < columns; c++) found[c] = (shares[at * columns + c] / 255) * scales[at];
    return found;
  }
  function column(map, head, c) {
    const { shares, scales } = unpacked(map), columns = axis(map, "columns").places.length;
    const rows = axis(map, "rows").places.length, found = new Float32Array(rows);
    for (let r = 0; r < rows; r++) {
      const at = head * rows + r;
      found[r] = (shares[at * columns + c] / 255) * scales[at];
    }
    return found;
  }
  function most(map, head) {
    const rows = axis(map, "rows").places.length;
    return unpacked(map).scales.subarray(head * rows, (head + 1) * rows).reduce((a, b) => Math.max(a, b), 0);
  }
  // A label in one line: white space shown, and short.
  function shown(text, length = 24) {
    const line = text.trim() === "" ? (text === "" ? "·" : "␣") : text.trim().replace(/\s+/g, " ");
    return [...line].length > length ? [...line].slice(0, length - 1).join("") + "…" : line;
  }
  const number = (w) => (w >= 0.0995 ? w.toFixed(2) : w >= 0.00095 ? w.toFixed(3) : w > 0 ? "< 0.001" : "≈ 0");
  const label = (kind, place) => page.labels[kind][place];
  return { page, axis, row, column, most, shown, number, label };
})();
