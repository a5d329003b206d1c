// Unfolds the groups that are apart while the search finds something there.
const apart = document.getElementById("apart");
if (apart) input.addEventListener("input", () => {
  setTimeout(() => {
    const shows = [...apart.querySelectorAll("[data-nodes]")].some((group) => !group.hidden);
    apart.open = shows && input.value.trim() !== "";
  }, 150);
});
