// Saves steps; everything works without it.

// `/` goes to the search field, as on other pages of this kind.
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.activeElement?.matches('input, textarea, select')) return;
  event.preventDefault();
  document.querySelector('main input[type=search]:not([hidden]), input[type=search]')?.focus();
});

// New reports appear by themselves where a daemon makes them.
const live = document.querySelector('[data-live]');
if (live) {
  const events = new EventSource(live.dataset.live);
  events.addEventListener('live', (event) => { live.innerHTML = event.data; });
  addEventListener('pagehide', () => events.close());
}
