// Small multiples, drawn when they come into sight, and one of them large with its tokens.
(() => {
  const { page, axis, row, most, shown, number, label } = explained;
  const $ = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll("button.map")];
  const byId = new Map(page.maps.map((map) => [String(map.id), map]));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const LARGEST = 12e6; // pixels of a canvas that phones still draw
  const RAMPS = {
    light: [[255, 255, 255], [255, 176, 32], [150, 40, 10], [60, 5, 20]],
    dark: [[29, 33, 38], [120, 70, 10], [240, 160, 30], [255, 240, 190]],
  };
  let onPaper = false;
  const ramp = () => RAMPS[dark.matches && !onPaper ? "dark" : "light"];

  function tint(share, stops) {
    const at = Math.sqrt(Math.min(1, share)) * (stops.length - 1), low = Math.min(stops.length - 2, Math.floor(at));
    return stops[low].map((from, i) => from + (stops[low + 1][i] - from) * (at - low));
  }
  // One pixel for each weight.
  function picture(map, head) {
    const rows = axis(map, "rows").places.length, columns = axis(map, "columns").places.length;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const image = new ImageData(columns, rows), largest = most(map, head) || 1, stops = ramp();
    const tints = Array.from({ length: 256 }, (_, i) => tint(i / 255, stops));
    for (let r = 0; r < rows; r++) {
      const weights = row(map, head, r);
      for (let c = 0, at = 4 * r * columns; c < columns; c++, at += 4) {
        const [red, green, blue] = tints[Math.round((255 * weights[c]) / largest)];
        image.data[at] = red;
        image.data[at + 1] = green;
        image.data[at + 2] = blue;
        image.data[at + 3] = 255;
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  function draw(button) {
    const map = byId.get(button.dataset.m), head = Number(button.dataset.h), canvas = button.firstElementChild;
    const made = picture(map, head);
    [canvas.width, canvas.height] = [made.width, made.height];
    canvas.getContext("2d").drawImage(made, 0, 0);
    button.parentElement.querySelector(".most").textContent = `≤ ${number(most(map, head))}`;
    button.dataset.drawn = "yes";
  }
  // Their size is known before they are drawn, so that nothing moves.
  buttons.forEach((button) => {
    const map = byId.get(button.dataset.m), canvas = button.firstElementChild;
    const rows = axis(map, "rows").places.length, columns = axis(map, "columns").places.length;
    const cell = Math.max(0.4, Math.min(14, 240 / columns, 200 / rows));
    canvas.style.width = `${Math.max(12, Math.round(cell * columns))}px`;
    canvas.style.height = `${Math.max(6, Math.round(cell * rows))}px`;
    canvas.classList.toggle("small", cell < 1);
    button.addEventListener("click", () => enlarge(map, Number(button.dataset.h)));
  });
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting && !e.target.dataset.drawn).forEach((e) => draw(e.target)),
    { rootMargin: "300px" },
  );
  buttons.forEach((button) => watcher.observe(button));
  const again = () => buttons.filter((button) => button.dataset.drawn).forEach(draw);
  dark.addEventListener("change", again);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    onPaper = true;
    buttons.forEach(draw);
  });
  addEventListener("afterprint", () => ((onPaper = false), again()));

  // Large: cells as wide as they may be, labels where they can be read, else utterances' borders.
  const zoom = { map: null, head: 0, r: 0, c: 0 };
  const FONT = "12px system-ui, sans-serif";
  function enlarge(map, head) {
    Object.assign(zoom, { map, head, r: 0, c: 0 });
    $("zoom-title").textContent = [map.title, map.label, map.names[head]].filter(Boolean).join(", ");
    if (!$("zoom").open) $("zoom").showModal();
    layOut();
    paint();
    $("readout").textContent = "Point at a cell, or use the arrow keys.";
    $("zoom-scroll").scrollTo(0, 0);
    $("zoom-scroll").focus();
  }
  function layOut() {
    const { map } = zoom, rows = axis(map, "rows"), columns = axis(map, "columns");
    const room = Math.min(innerWidth * 0.96 - 60, 1700);
    const names = (side) => side.places.map((place) => shown(label(side.kind, place)));
    [zoom.rowNames, zoom.columnNames] = [names(rows), names(columns)];
    const pen = $("zoom-canvas").getContext("2d");
    pen.font = FONT;
    const width = (texts) => Math.ceil(texts.reduce((a, t) => Math.max(a, pen.measureText(t).width), 0)) + 10;
    zoom.left = Math.min(width(zoom.rowNames), 170);
    zoom.top = Math.min(width(zoom.columnNames), 170);
    const fit = Math.floor((room - zoom.left) / columns.places.length);
    const wanted = fit >= 13 ? Math.min(fit, 30) : columns.places.length * rows.places.length > 40000 ? Math.max(fit, 3) : 14;
    const area = (cell) => cell * columns.places.length * cell * rows.places.length;
    zoom.cell = wanted;
    while (zoom.cell > 1 && area(zoom.cell) > LARGEST) zoom.cell -= 1;
    zoom.labelled = zoom.cell >= 11;
    if (!zoom.labelled) [zoom.left, zoom.top] = [4, 4];
    zoom.picture = picture(map, zoom.head);
  }
  function paint() {
    const { map, cell, left, top } = zoom, rows = axis(map, "rows"), columns = axis(map, "columns");
    const canvas = $("zoom-canvas"), width = left + cell * columns.places.length + 2, height = top + cell * rows.places.length + 2;
    const sharp = width * height * devicePixelRatio ** 2 < LARGEST ? devicePixelRatio : 1;
    [canvas.width, canvas.height] = [width * sharp, height * sharp];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.body);
    pen.scale(sharp, sharp);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(zoom.picture, left, top, cell * columns.places.length, cell * rows.places.length);
    pen.fillStyle = style.color;
    pen.font = FONT;
    pen.textBaseline = "middle";
    if (zoom.labelled) names(pen);
    borders(pen, rows, columns, style.getPropertyValue("--muted"));
    pen.strokeStyle = style.getPropertyValue("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + cell * zoom.c, top + cell * zoom.r, cell, cell);
  }
  function names(pen) {
    const { cell, left, top } = zoom;
    pen.textAlign = "right";
    zoom.rowNames.forEach((text, r) => pen.fillText(text, left - 5, top + cell * (r + 0.5), left - 6));
    pen.textAlign = "left";
    zoom.columnNames.forEach((text, c) => {
      pen.save();
      pen.translate(left + cell * (c + 0.5), top - 5);
      pen.rotate(-Math.PI / 2);
      pen.fillText(text, 0, 0, top - 6);
      pen.restore();
    });
  }
  // A thin line where an utterance begins.
  function borders(pen, rows, columns, colour) {
    const { cell, left, top } = zoom;
    const starts = (side) => (side.kind !== "source" ? [] : side.places.flatMap((place, i) =>
      i && page.utterance[place] !== page.utterance[side.places[i - 1]] ? [i] : []));
    pen.strokeStyle = colour;
    pen.globalAlpha = 0.5;
    pen.lineWidth = 1;
    pen.beginPath();
    starts(columns).forEach((c) => (pen.moveTo(left + c * cell, top), pen.lineTo(left + c * cell, top + cell * rows.places.length)));
    starts(rows).forEach((r) => (pen.moveTo(left, top + r * cell), pen.lineTo(left + cell * columns.places.length, top + r * cell)));
    pen.stroke();
    pen.globalAlpha = 1;
  }
  function read(r, c) {
    const rows = axis(zoom.map, "rows"), columns = axis(zoom.map, "columns");
    if (r < 0 || c < 0 || r >= rows.places.length || c >= columns.places.length) return false;
    [zoom.r, zoom.c] = [r, c];
    const turn = columns.kind === "source" && page.utterance[columns.places[c]] >= 0 ? ` (utterance ${page.utterance[columns.places[c]] + 1})` : "";
    const weight = row(zoom.map, zoom.head, r)[c];
    $("readout").textContent = `${zoom.rowNames[r]} → ${zoom.columnNames[c]}${turn}: ${number(weight)}`;
    paint();
    return true;
  }
  const at = (event) => [event.offsetY - zoom.top, event.offsetX - zoom.left].map((d) => Math.floor(d / zoom.cell));
  $("zoom-canvas").addEventListener("pointermove", (event) => {
    const [r, c] = at(event);
    if (r !== zoom.r || c !== zoom.c) read(r, c);
  });
  $("zoom-canvas").addEventListener("click", (event) => read(...at(event)));
  $("zoom-scroll").addEventListener("keydown", (event) => {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (step && read(zoom.r + step[0], zoom.c + step[1])) event.preventDefault();
  });
})();
