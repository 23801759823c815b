"use strict";
// What the pages for raters and for annotators share.
function turn(speaker, text, speakers) {
  const line = document.createElement("li");
  line.dir = "auto";
  if (speaker) {
    if (!speakers.includes(speaker)) speakers.push(speaker);
    const name = document.createElement("span");
    name.className = "speaker speaker-" + (speakers.indexOf(speaker) % 8);
    name.textContent = speaker;
    line.append(name);
  }
  const words = document.createElement("span");
  words.className = "text";
  words.textContent = text;
  line.append(words);
  return line;
}
function saveFile(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
const fileName = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim().replaceAll(" ", "-");
