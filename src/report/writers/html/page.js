"use strict";
// Shows the groups and changes that have the text, and the groups of the nodes that have it.
const nodes = JSON.parse(document.getElementById("nodes").textContent);
const groups = [...document.querySelectorAll("[data-nodes]")];
const found = document.querySelector("search output");

function members(group) {
  return group.dataset.nodes.split(",").filter(Boolean).flatMap((run) => {
    const [first, last = first] = run.split("-").map(Number);
    return nodes.slice(first, last + 1);
  });
}

function seek(text) {
  let shown = 0;
  for (const group of groups) {
    const on = text !== "" ? members(group).filter((node) => node.toLowerCase().includes(text)) : [];
    let any = false;
    for (const change of group.querySelectorAll(".change")) {
      const has = text === "" || on.length > 0 || change.textContent.toLowerCase().includes(text);
      change.hidden = !has;
      for (const values of change.querySelectorAll(".values")) {
        values.open = text !== "" && values.textContent.toLowerCase().includes(text);
      }
      any ||= has;
      shown += has ? 1 : 0;
    }
    for (const rest of group.querySelectorAll(".rest")) {
      const has = [...rest.children].some((change) => change.className === "change" && !change.hidden);
      rest.hidden = !has;
      rest.open = has && text !== "";
    }
    group.hidden = !any;
    const named = group.querySelector(".found");
    named.textContent = on.slice(0, 5).join(", ") + (on.length > 5 ? `, and ${on.length - 5} more` : "");
    named.hidden = on.length === 0;
  }
  found.value = text === "" ? "" : `${shown} ${shown === 1 ? "change" : "changes"}`;
}

const input = document.querySelector("search input");
let waiting;
input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => seek(input.value.trim().toLowerCase()), 120);
});
document.querySelector("search").hidden = false;
