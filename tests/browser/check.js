// Looks at views in a real Chromium: check.js ADDRESS [PATH...]
//
// Prints a line for each fault: what axe-core finds serious, what the content security policy refuses, errors of
// scripts and of the markup, texts wider than the window, and views that say something else without scripts. Exit
// status 1 if there is one.
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');

const [address, ...paths] = process.argv.slice(2);
const faults = [];

const WINDOWS = [
  { name: 'light', viewport: { width: 1400, height: 900 }, colorScheme: 'light' },
  { name: 'dark', viewport: { width: 1400, height: 900 }, colorScheme: 'dark' },
  { name: 'forced colours', viewport: { width: 1400, height: 900 }, forcedColors: 'active' },
  { name: 'narrow', viewport: { width: 320, height: 800 }, colorScheme: 'dark' },
];

// Texts in the order of the page, without what the script alone shows.
const words = () => {
  const main = document.querySelector('main').cloneNode(true);
  main.querySelectorAll('search, script').forEach((element) => element.remove());
  return main.textContent.replace(/\s+/g, ' ').trim();
};

// Everything that can be reached by the keyboard, in order.
const stops = () => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary')]
  .filter((element) => element.checkVisibility()).length;

async function look(page, path, window) {
  const fault = (text) => faults.push(`${path} (${window.name}): ${text}`);
  page.removeAllListeners();
  page.on('pageerror', (error) => fault(`script: ${error.message}`));
  page.on('console', (line) => { if (line.type() === 'error' && !/status of 40[04]/.test(line.text())) fault(line.text()); });
  await page.goto(address + path);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) fault(`${over} pixels wider than the window`);
  const refused = await page.evaluate(() => window.refused);
  refused.forEach((what) => fault(`refused by the policy: ${what}`));
  return fault;
}

async function tab(page, fault) {
  const wanted = Math.min(await page.evaluate(stops), 40);
  const seen = new Set();
  for (let step = 0; step < wanted; step++) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => {
      const all = [...document.querySelectorAll('*')];
      const at = document.activeElement;
      const outline = getComputedStyle(at);
      return `${all.indexOf(at)} ${outline.outlineStyle !== 'none' || outline.boxShadow !== 'none'}`;
    }));
  }
  if (seen.size < wanted) fault(`the keyboard reaches ${seen.size} of ${wanted} elements`);
  const unseen = [...seen].filter((stop) => stop.endsWith('false'));
  if (unseen.length) fault(`the focus is not shown on ${unseen.length} elements`);
}

// Adds what the Nu Html Checker finds wrong.
async function validate() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hierad-page-'));
  const files = await Promise.all(paths.map(async (view, at) => {
    const file = path.join(folder, `${at}.html`);
    fs.writeFileSync(file, await (await fetch(address + view)).text());
    return file;
  }));
  const checker = ['-jar', require('vnu-jar'), '--errors-only', '--format', 'json', '--stdout', ...files];
  const checked = spawnSync('java', checker, { encoding: 'utf8', maxBuffer: 1 << 26 });
  fs.rmSync(folder, { recursive: true });
  if (checked.error || !checked.stdout) return faults.push(`the checker of markup: ${checked.error ?? checked.stderr}`);
  JSON.parse(checked.stdout).messages.forEach(({ url, lastLine, message }) => {
    faults.push(`${paths[parseInt(path.basename(url), 10)]}: line ${lastLine}: ${message}`);
  });
}

(async () => {
  await validate();
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  });
  const watch = () => {
    window.refused = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      window.refused.push(`${event.violatedDirective} ${event.blockedURI}`);
    });
  };
  const texts = new Map();
  for (const window of WINDOWS) {
    const { name, ...options } = window;
    const context = await browser.newContext(options);
    await context.addInitScript(watch);
    const page = await context.newPage();
    for (const path of paths) {
      const fault = await look(page, path, window);
      if (name === 'light') {
        texts.set(path, await page.evaluate(words));
        await tab(page, fault);
      }
    }
    await context.close();
    // What axe-core needs, the policy refuses.
    const open = await browser.newContext({ ...options, bypassCSP: true });
    const judged = await open.newPage();
    for (const path of paths) {
      await judged.goto(address + path);
      await judged.addScriptTag({ path: require.resolve('axe-core') });
      const found = await judged.evaluate(async () => (await axe.run()).violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target }) => target.join(' ')).join('; ')}`));
      found.forEach((text) => faults.push(`${path} (${name}): ${text}`));
    }
    await open.close();
  }
  const bare = await browser.newContext({ javaScriptEnabled: false });
  const page = await bare.newPage();
  for (const path of paths) {
    await page.goto(address + path);
    const text = await page.locator('main').evaluate(words).catch(() => null);
    const with_scripts = texts.get(path);
    if (text !== null && text !== with_scripts) {
      const at = [...text].findIndex((letter, at) => letter !== with_scripts[at]);
      faults.push(`${path}: without scripts it says '${text.slice(at, at + 60)}', not '${with_scripts.slice(at, at + 60)}'`);
    }
  }
  await browser.close();
  faults.forEach((fault) => console.log(fault));
  console.log(`${paths.length} views, ${faults.length} faults`);
  process.exit(faults.length ? 1 : 0);
})();
