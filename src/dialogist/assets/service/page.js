// What the page can do beyond plain HTML: files, evidence that lights up, editing, copying, keys.
// Text is only ever set as text; nothing that was said becomes HTML.

const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

let fading;
function say(text) {
  const toast = find("#toast");
  toast.textContent = text;
  toast.classList.add("on");
  clearTimeout(fading);
  fading = setTimeout(() => toast.classList.remove("on"), 1800);
}

// The first key comes behind "#", which no server and no log ever sees.
const login = find("#login");
if (login && location.hash.startsWith("#key=")) {
  find("#key").value = decodeURIComponent(location.hash.slice(5));
  history.replaceState(null, "", location.pathname);
  login.submit();
}

const ask = find("#ask");
if (ask) {
  const text = find("#text"), file = find("#file"), drop = find("#drop");
  const take = async (chosen) => {
    if (!chosen) return;
    text.value = await chosen.text();
    say(`${chosen.name} is read`);
    text.focus();
  };
  find("#choose").addEventListener("click", () => file.click());
  file.addEventListener("change", () => take(file.files[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
  }
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask.requestSubmit();
  });
}

// What is on its way is looked at again until it was tried.
if (find(".badge.waiting.new")) setTimeout(() => location.replace(location.pathname), 1500);

if (find("#statements")) review();

function review() {
  const statements = all(".statement"), marks = all("mark"), tools = find("#tools");
  const first = new Map(statements.map((one) => [one, said(one).textContent]));
  const kinds = new Map(statements.map((one) => [one, find(".kind", one)?.className]));
  const json = find("#as-json")?.value, draft = find("#after")?.value;
  const numbered = new Map(statements.map((one) => [one.dataset.number, one]));
  let current = null;

  function said(statement) { return find(".said", statement); }
  function isChanged(one) { return one.classList.contains("gone") || said(one).textContent !== first.get(one); }
  function citing(mark) { return mark.dataset.by.split(" ").map((number) => numbered.get(number)); }

  // Evidence, both ways. What was clicked or is focused stays lit; pointing shows more for a while.
  function light(lit, follow) {
    for (const one of statements) one.classList.toggle("lit", lit.includes(one));
    for (const mark of marks) mark.classList.toggle("lit", citing(mark).some((one) => lit.includes(one)));
    const shown = marks.find((mark) => mark.classList.contains("lit")), turns = find("#turns");
    if (!follow || !shown || turns.scrollHeight <= turns.clientHeight) return;
    const top = shown.getBoundingClientRect().top - turns.getBoundingClientRect().top;
    if (top < 0 || top > turns.clientHeight - 60) turns.scrollTop += top - turns.clientHeight / 3;
  }
  function choose(statement) {
    if (statement === current) return;
    current = statement;
    light([statement].filter(Boolean), true);
    if (tools) tools.hidden = !statement;
    if (!tools || !statement) return;
    statement.append(tools);
    find("[data-do=undo]").hidden = !isChanged(statement);
    find("#proof").replaceChildren(...all(".origin [href^='#u']", statement).map(({ hash }) => {
      const turn = find(hash).cloneNode(true), number = find(".number", turn);
      turn.removeAttribute("id");
      number.href = hash;
      number.ariaLabel = `In the transcript: ${number.textContent}`;
      return turn;
    }));
  }
  function show(statement) {
    const folded = statement.closest("details");
    if (folded) folded.open = true;
    statement.focus();
  }
  document.addEventListener("mouseover", ({ target }) => {
    const mark = target.closest("#turns mark"), one = target.closest(".statement");
    light(mark ? citing(mark) : [one ?? current].filter(Boolean), Boolean(one));
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.closest(".statement")) choose(target.closest(".statement"));
  });
  document.addEventListener("click", (event) => {
    const { target } = event;
    const mark = target.closest("#turns mark"), back = target.closest("#turns a.number");
    for (const menu of all(".menu[open]")) if (!menu.contains(target)) menu.open = false;
    if (back) event.preventDefault();
    if (mark || back) show(mark ? citing(mark)[0] : find(back.hash));
    else choose(target.closest(".statement"));
    const button = target.closest("[data-do]");
    if (button) act(button.dataset.do, current);
  });

  // Editing. The form's text is always what the statements say: it works without this script, too.
  function parts() {
    return all(".statement").filter((one) => said(one).textContent.trim() && !one.classList.contains("gone"))
      .map((one) => ({
        isValue: Boolean(find("h3", one)),
        heading: find("h3", one)?.textContent ?? one.closest("[data-heading]")?.dataset.heading ?? "",
        text: said(one).textContent.replace(/\s+/g, " ").trim(),
        behind: all(".origin > :not([href^='#p'])", one).map((line) => ` [${line.textContent}]`).join(""),
      }));
  }
  function titled(title, line, isTitled = (one) => !one.isValue) {
    return parts().flatMap((one, n, all) => {
      const isNew = one.heading && isTitled(one) && one.heading !== all[n - 1]?.heading;
      return isNew ? [title(one.heading), line(one)] : [line(one)];
    });
  }
  function keep() {
    const after = titled((heading) => `# ${heading}`, ({ text }) => text.replace(/^(\\*#)/, "\\$1"), () => true).join("\n");
    find("#after").value = after;
    find("#as-markdown").value = written().markdown;
    find("#as-json").value = after === draft ? json : JSON.stringify({ ...JSON.parse(json), edited: after });
    for (const one of statements) {
      const kind = find(".kind", one), isQuote = said(one).textContent === one.dataset.quote;
      if (!kind) continue;
      const name = said(one).textContent === first.get(one) ? kinds.get(one) : `kind ${isQuote ? "quoted" : "edited"}`;
      kind.className = name;
      kind.title = name.replace("kind ", "");
    }
    if (current) find("[data-do=undo]").hidden = !isChanged(current);
  }
  function edit(statement) {
    const text = said(statement);
    text.contentEditable = "plaintext-only";
    text.setAttribute("role", "textbox");
    text.setAttribute("aria-label", "Statement");
    text.focus();
    getSelection().selectAllChildren(text);
    getSelection().collapseToEnd();
  }
  const actions = {
    edit,
    quote(statement) { said(statement).textContent = statement.dataset.quote ?? first.get(statement); },
    remove(statement) { statement.classList.add("gone"); },
    up(statement) { statement.previousElementSibling?.before(statement); },
    undo(statement) {
      statement.classList.remove("gone");
      said(statement).textContent = first.get(statement);
    },
  };
  function act(name, statement) {
    actions[name](statement);
    if (name === "edit") return;
    keep();
    statement.focus();
  }
  document.addEventListener("focusout", ({ target }) => {
    if (!target.isContentEditable) return;
    target.textContent = target.textContent.replace(/\s+/g, " ").trim();
    for (const name of ["contenteditable", "role", "aria-label"]) target.removeAttribute(name);
    keep();
  });

  // Copying: the same parts as Markdown, as text, and as rich text for mail and tickets.
  function written() {
    const rich = document.createElement("div");
    const plain = (text) => text.replace(/[\\`*_{}[\]<>|#~]/g, "\\$&").replace(/&/g, "&amp;").replace(/^([-+=]|\d+(?=[.)]))/, "\\$1");
    const label = (one) => (one.isValue ? `${one.heading}: ` : "");
    const put = (name, text, within = rich) => within.appendChild(Object.assign(document.createElement(name), { textContent: text }));
    titled((heading) => put("h3", heading), (one) => {
      const item = put("li", "", rich.lastChild?.localName === "ul" ? rich.lastChild : put("ul", ""));
      if (one.isValue) put("b", label(one), item);
      item.append(one.text + one.behind);
    });
    return {
      rich: rich.innerHTML,
      text: titled((heading) => `\n${heading}`, (one) => `- ${label(one)}${one.text}${one.behind}`).join("\n").trim(),
      markdown: titled((heading) => `\n## ${plain(heading)}\n`, (one) => `- ${one.isValue ? `**${plain(one.heading)}:** ` : ""}${plain(one.text)}${one.behind}`).join("\n").trim(),
      json: find("#as-json")?.value,
    };
  }
  find("#copy")?.addEventListener("click", async ({ target }) => {
    const kind = target.dataset.copy, copies = written();
    if (!kind) return;
    try {
      const blob = (type, text) => ({ [type]: new Blob([text], { type }) });
      const both = { ...blob("text/plain", copies.text), ...blob("text/html", copies.rich) };
      if (kind === "rich") await navigator.clipboard.write([new ClipboardItem(both)]);
      else await navigator.clipboard.writeText(copies[kind]);
      say("Copied");
      find("#copy").open = false;
    } catch {
      const field = find("#as-markdown");
      if (!field) return say("This browser does not copy here");
      find("#plain").open = true;
      field.select();
      say("Press Ctrl+C to copy");
    }
  });

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const statement = target.closest(".statement");
    if (target.isContentEditable && (key === "Enter" || key === "Escape")) {
      event.preventDefault();
      if (key === "Escape") target.textContent = first.get(statement);
      return statement.focus();
    }
    if (key === "Escape") {
      for (const menu of all(".menu[open]")) menu.open = false;
      choose(null);
    }
    if (isTyping(event)) return;
    const order = all(".statement"), place = order.indexOf(current);
    if (key === "j") show(order[Math.min(place + 1, order.length - 1)]);
    else if (key === "k") show(order[Math.max(place - 1, 0)]);
    else if (key === "a") find("#approve")?.requestSubmit(find(".bar .main"));
    else if (tools && current && "equx".includes(key)) {
      act({ e: "edit", q: "quote", u: "undo", x: "remove" }[key], current);
    } else return;
    event.preventDefault();
  });
}

function isTyping(event) {
  const { target } = event;
  const isField = target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
  return isField || event.ctrlKey || event.metaKey || event.altKey;
}

const links = all("#queue a");
if (links.length) {
  document.addEventListener("keydown", (event) => {
    if (isTyping(event) || !"jk".includes(event.key)) return;
    const place = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
    links[Math.min(Math.max(place, 0), links.length - 1)].focus();
  });
}
