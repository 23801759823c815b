// Pointing at a token of the summary colours the dialogue, and the other way round.
(() => {
  const { page, axis, row, column, shown, number } = explained;
  const $ = (id) => document.getElementById(id);
  const target = [...$("target").querySelectorAll(".tok")];
  const labels = [...$("target").querySelectorAll(".label")];
  const source = []; // by place: what --utterances leaves out of maps is in the text all the same
  $("source").querySelectorAll(".tok").forEach((tok) => (source[Number(tok.dataset.i)] = tok));
  const turns = [...$("source").querySelectorAll("li[data-u]")];
  const likeliest = ({ alternatives }) => alternatives.map(({ text, probability }) => [text, probability]);
  const hint = $("detail").firstElementChild;
  const touched = new Set();
  let held = null;

  const views = (roles) =>
    page.maps.filter((map) => roles.includes(map.role)).flatMap((map) => map.names.map((name, head) => ({ map, head, name })));
  const forTokens = views(["copy", "cross", "copied utterances", "coverage"]);
  const forLabels = views(["leader cross"]);
  function fill(select, found) {
    let group = null;
    found.forEach(({ map, name }, i) => {
      if (!group || group.label !== map.title) {
        group = document.createElement("optgroup");
        group.label = map.title;
        select.append(group);
      }
      group.append(new Option([map.short, map.label, map.names.length > 1 ? name : ""].filter(Boolean).join(", "), i));
    });
  }
  const called = ({ map, name }) => [map.label || map.short.toLowerCase(), map.names.length > 1 ? name : ""].filter(Boolean).join(", ");
  const view = () => forTokens[Number($("view").value) || 0];
  const leaderView = () => forLabels[Number($("leader-view").value) || 0];

  function paint(element, share) {
    if (!element) return;
    element.style.setProperty("--w", share.toFixed(3));
    element.classList.toggle("strong", share > 0.6);
    touched.add(element);
  }
  function clear() {
    touched.forEach((element) => {
      element.style.setProperty("--w", 0);
      element.classList.remove("strong", "held", "origin");
    });
    touched.clear();
  }
  const outlined = (element, name) => (element.classList.add(name), touched.add(element));

  // Colour what a map's row lies on; the strongest is wholly coloured.
  function colour(map, weights, side, elements) {
    const strongest = weights.reduce((a, b) => Math.max(a, b), 0) || 1;
    axis(map, side).places.forEach((place, i) => paint(elements[place], weights[i] / strongest));
  }
  const elementsOf = (kind) => ({ source, utterances: turns, target, "key points": labels })[kind];

  function best(map, weights, side) {
    const { kind, places } = axis(map, side);
    return [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, 5).filter((i) => weights[i] > 0.0005)
      .map((i) => [described(kind, places[i]), weights[i]]);
  }
  function described(kind, place) {
    const text = shown(page.labels[kind][place], 32);
    if (kind === "source") {
      const turn = page.utterance[place];
      return turn < 0 ? text : `${text} (${turn + 1})`;
    }
    if (kind !== "utterances") return text;
    const words = [...turns[place].querySelectorAll(".tok")].map((t) => t.textContent).slice(1, 12).join(" ");
    return `${text}: ${shown(words, 32)}`;
  }

  function node(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function list(title, pairs, own = "") {
    const box = node("div");
    const lines = node("ol");
    pairs.forEach(([text, weight]) => {
      const line = node("li", text.trim() === own.trim() ? "own" : "");
      line.style.setProperty("--v", Math.min(1, weight));
      line.append(node("span", "text", shown(text, 60)), node("span", "number", number(weight)));
      lines.append(line);
    });
    box.append(node("h3", "", title), lines);
    return box;
  }
  function tell(what, line, lists) {
    const pairs = node("div", "pairs"), parts = [node("p", "what text", what)];
    pairs.append(...lists);
    if (line) parts.push(node("p", "", line));
    if (held) {
      const close = node("button", "quiet close", "Release");
      close.type = "button";
      close.addEventListener("click", letGo);
      parts.push(close);
    }
    $("detail").replaceChildren(...parts, pairs);
  }

  function showTarget(i) {
    const token = page.tokens[i], now = view();
    const facts = [`probability ${number(token.probability)}`];
    const lists = [];
    if (now) {
      const r = axis(now.map, "rows").places.indexOf(i), weights = row(now.map, now.head, r);
      const columns = axis(now.map, "columns").kind;
      colour(now.map, weights, "columns", elementsOf(columns));
      lists.push(list(`Looks at (${called(now)})`, best(now.map, weights, "columns")));
    }
    if (token.p_gen !== undefined) {
      facts.push(`p_gen ${number(token.p_gen)}`, `${Math.round(100 * token.copied)} % by copying`);
      if (token.copied > 0.5) token.origins.forEach(({ place }) => outlined(source[place], "origin"));
      if (token.origins.length) lists.push(list("Same word in the dialogue", token.origins.map(({ place, weight }) => [described("source", place), weight])));
    }
    if (token.repeated !== undefined) facts.push(`looks again: ${number(token.repeated)}`);
    lists.push(list("Likeliest here", likeliest(token), token.text));
    outlined(target[i], "held");
    tell(shown(page.labels.target[i], 80), facts.join(" · "), lists);
  }
  function showLabel(k) {
    const now = leaderView(), point = page.plan[k], lists = [];
    if (now) {
      const weights = row(now.map, now.head, k);
      colour(now.map, weights, "columns", turns);
      lists.push(list(`Looks at (${called(now)})`, best(now.map, weights, "columns")));
    }
    lists.push(list("Likeliest here", likeliest(point), point.label));
    outlined(labels[k], "held");
    tell(point.label, `key point ${k + 1} · probability ${number(Math.exp(point.log_prob))}`, lists);
  }
  function showSource(place) {
    const now = view();
    outlined(source[place], "held");
    if (!now) return tell(shown(page.labels.source[place], 80), "", []);
    const { kind, places } = axis(now.map, "columns");
    const c = places.indexOf(kind === "source" ? place : page.utterance[place]);
    if (c < 0) return tell(shown(page.labels.source[place], 80), "not in this map", []);
    const weights = column(now.map, now.head, c);
    colour(now.map, weights, "rows", target);
    const what = kind === "source" ? page.labels.source[place] : described(kind, places[c]);
    return tell(shown(what, 80), "", [list("Looked at most by", best(now.map, weights, "rows"))]);
  }
  function show(element) {
    clear();
    if (element.classList.contains("label")) showLabel(Number(element.dataset.k));
    else if ($("target").contains(element)) showTarget(Number(element.dataset.i));
    else showSource(Number(element.dataset.i));
  }
  function rest() {
    clear();
    if (held) show(held);
    else $("detail").replaceChildren(hint);
  }
  function letGo() {
    held = null;
    rest();
  }
  // What is looked at most comes into sight, if it is not.
  function bring() {
    const strongest = [...touched].filter((e) => $("source").contains(e))
      .sort((a, b) => b.style.getPropertyValue("--w") - a.style.getPropertyValue("--w"))[0];
    if (!strongest) return;
    const box = strongest.getBoundingClientRect();
    const phone = getComputedStyle($("detail")).position === "fixed";
    const top = phone ? document.querySelector(".summary").getBoundingClientRect().bottom : 0;
    const bottom = phone ? $("detail").getBoundingClientRect().top : innerHeight;
    if (box.top < top || box.bottom > bottom) scrollBy(0, (box.top + box.bottom - top - bottom) / 2);
  }

  const thing = (event) => event.target.closest(".tok, .label");
  function follow(container, things) {
    things.forEach((one) => {
      one.tabIndex = -1;
      if (one.tagName !== "BUTTON") one.setAttribute("role", "button");
    });
    if (things.length) things[0].tabIndex = 0;
    container.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse" && !held && thing(event)) show(thing(event));
    });
    container.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !held) rest();
    });
    container.addEventListener("click", (event) => {
      const one = thing(event);
      if (!one) return;
      held = held === one ? null : one;
      rest();
      if (held && container === $("target")) bring();
    });
    container.addEventListener("focusin", (event) => {
      if (!thing(event) || !thing(event).matches(":focus-visible")) return;
      things.forEach((one) => (one.tabIndex = -1));
      thing(event).tabIndex = 0;
      held = null;
      show(thing(event));
    });
    container.addEventListener("keydown", (event) => {
      const at = things.indexOf(thing(event)), last = things.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
      if (at < 0 || to === undefined) {
        if (at >= 0 && (event.key === "Enter" || event.key === " ") && thing(event).tagName !== "BUTTON") thing(event).click();
        else return;
      } else if (things[to]) {
        things[to].focus();
      }
      event.preventDefault();
    });
  }
  follow($("target"), [...$("target").querySelectorAll(".tok, .label")]);
  follow($("source"), source.filter(Boolean));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    letGo();
  });
  fill($("view"), forTokens);
  fill($("leader-view"), forLabels);
  $("view-label").hidden = !forTokens.length;
  $("leader-label").hidden = !forLabels.length;
  document.querySelector(".controls").hidden = !forTokens.length && !forLabels.length;
  $("view").addEventListener("change", rest);
  $("leader-view").addEventListener("change", rest);
})();
