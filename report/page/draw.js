'use strict';
// Words and drawings from plain values: no function here knows what a run is.

const number = (digits) => new Intl.NumberFormat('en', {maximumSignificantDigits: digits});

// 1,234 or 12.3 or 0.0123: enough digits to compare, not more.
function short(value) {
  if (value === null || value === undefined || !isFinite(value)) return '–';
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en') : number(3).format(value);
}

function scaled(value, step, units) {
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  return `${number(3).format(value)} ${units[unit]}`;
}

function bytes(value) {
  return value === null ? '–' : scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']);
}

function seconds(value) {
  if (value === null) return '–';
  const size = Math.abs(value);
  if (size === 0) return '0 s';
  if (size < 1e-6) return `${number(3).format(value * 1e9)} ns`;
  if (size < 1e-3) return `${number(3).format(value * 1e6)} µs`;
  if (size < 1) return `${number(3).format(value * 1e3)} ms`;
  return `${number(3).format(value)} s`;
}

// A long time as a person says it: 40 s, 12 min, 3 h 20 min, 5 days.
function duration(value) {
  if (value < 90) return `${Math.ceil(value)} s`;
  if (value < 90 * 60) return `${Math.round(value / 60)} min`;
  if (value < 48 * 3600) {
    const minutes = Math.round(value / 600) * 10;
    return `${Math.floor(minutes / 60)} h` + (minutes % 60 ? ` ${minutes % 60} min` : '');
  }
  return `${short(Math.round(value / 86400))} days`;
}

// A name of our files as a person reads it: "offload_gradient" is "offload gradient".
const spaced = (name) => name.replaceAll('_', ' ');

function percent(share) {
  if (share === null || share === undefined) return '–';
  return `${share < 0 ? '−' : '+'}${number(3).format(Math.abs(share) * 100)}\u00a0%`;
}

// How good a prediction was, as a class of the style: within 5 %, within 15 %, beyond.
function tone(error) {
  if (error === null || error === undefined) return '';
  const size = Math.abs(error);
  return size <= 0.05 ? 'good' : size <= 0.15 ? 'warn' : 'bad';
}

// element('td', {class: 'number'}, 'text', child, ...): text is text, never markup.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A table: `columns` are [heading, 'number' or 'text'], `rows` are arrays of cells. A cell is a text
// or {text, value, key, tone, title}: `value` is the number unrounded, `key` names it for programs.
function table(caption, columns, rows) {
  const head = element('tr', {}, ...columns.map(([text, kind]) =>
      element('th', {scope: 'col', class: kind}, text)));
  const body = rows.map((row) => element('tr', {}, ...row.map((cell, i) => {
    const plain = typeof cell !== 'object';
    const attributes = {class: [columns[i][1], plain ? '' : cell.tone || ''].join(' ').trim()};
    if (i === 0) attributes.scope = 'row';
    if (!plain && cell.title) attributes.title = cell.title;
    if (!plain && cell.key) {
      attributes['data-key'] = cell.key;
      attributes['data-value'] = JSON.stringify(cell.value);
    }
    return element(i === 0 ? 'th' : 'td', attributes, plain ? String(cell) : cell.text);
  })));
  return element('div', {class: 'table', tabindex: 0, role: 'region', 'aria-label': caption},
      element('table', {}, element('caption', {}, caption),
          element('thead', {}, head), element('tbody', {}, ...body)));
}

// Round numbers from `low` to `high`, about `wanted` of them; `base` 1024 for bytes.
function ticks(low, high, wanted, base) {
  if (!(high > low)) return [low];
  let unit = 1;
  if (base === 1024) while (unit * 1024 <= high - low) unit *= 1024;
  const rough = (high - low) / unit / wanted;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = unit * power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A chart of lines over one axis. `series`: [{name, color, points: [[x, y], ...], dashed, dots,
// steps}], `format`: y as text, `x`: what the axis counts, `formatX`: x as text, `base`: of the
// ticks. Gaps where y is null. The figure is drawn once it has a width: drawCharts below.
function chart(spec) {
  const {caption, series} = spec;
  const figure = element('figure', {class: 'chart'}, element('figcaption', {}, caption));
  if (!series.some(({points}) => points.some((point) => point[1] !== null))) {
    figure.append(element('p', {class: 'note'}, 'Nothing yet.'));
    return figure;
  }
  figure.append(element('div', {class: 'legend'}, ...series.map((one) => element('span', {},
      element('i', {class: one.dots ? 'dot' : `line ${one.dashed ? 'dashed' : ''}`,
        style: one.dots ? `background:${one.color}` : `border-color:${one.color}`}), one.name))));
  figure.draw = (width) => drawChart(spec, width);
  return figure;
}

// Draws every chart below `place` whose width has changed: what figure.draw(width) makes goes into
// figure.place, or at the end of the figure. One unit of a drawing is one pixel, so that its text is
// as large on a phone as on a screen.
function drawCharts(place) {
  for (const figure of place.querySelectorAll('figure.chart')) {
    // Without the border of the drawing, a pixel on each side.
    const width = Math.max(160, Math.floor(figure.clientWidth || 642) - 2);
    if (!figure.draw || figure.drawnWidth === width) continue;
    figure.drawnWidth = width;
    const old = figure.querySelector('svg');
    const drawing = figure.draw(width);
    if (old) old.replaceWith(drawing);
    else (figure.place || figure).append(drawing);
  }
}

// About the width of a text of our 12 pixels, rounded up.
const textWidth = (text) => 7.2 * text.length;

function drawChart({caption, series, format, x, formatX, base, fromZero}, width) {
  const xText = formatX || short;
  const xs = series.flatMap((one) => one.points.map((point) => point[0]));
  const ys = series.flatMap((one) => one.points.map((point) => point[1])).filter((y) => y !== null);
  const extent = (values) => values.reduce(
      ([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  let [x0, x1] = extent(xs);
  let [y0, y1] = extent(ys);
  if (x1 === x0) x1 = x0 + 1;
  if (fromZero) y0 = Math.min(0, y0);
  const room = (y1 - y0 || Math.abs(y1) || 1) * 0.06;
  y1 += room;
  if (!fromZero) y0 -= room;
  const yTicks = ticks(y0, y1, 5, base);
  const left = Math.ceil(Math.max(...yTicks.map((y) => textWidth(format(y))))) + 16;
  const [height, right, top, bottom] = [260, 16, 12, 42];
  const toX = (value) => left + (value - x0) / (x1 - x0) * (width - left - right);
  const toY = (value) => height - bottom - (value - y0) / (y1 - y0) * (height - top - bottom);
  const drawing = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `${caption}: ${series.map((one) => describe(one, format)).join('; ')}`});
  for (const y of yTicks) {
    drawing.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: toY(y), y2: toY(y)}),
        svg('text', {x: left - 8, y: toY(y) + 4, 'text-anchor': 'end'}, format(y)));
  }
  for (const at of ticksWithRoom(x0, x1, width - left - right, xText)) {
    // A label at an end stays inside the drawing.
    const half = textWidth(xText(at)) / 2;
    const place = Math.min(Math.max(toX(at), half + 2), width - half - 2);
    drawing.append(svg('text', {x: place, y: height - bottom + 18, 'text-anchor': 'middle'},
        xText(at)));
  }
  drawing.append(
      svg('line', {class: 'axis', x1: left, x2: width - right, y1: toY(y0), y2: toY(y0)}),
      svg('text', {x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, x));
  for (const one of series) drawLine(drawing, one, toX, toY);
  return drawing;
}

// As many ticks as fit side by side with room between their labels, at most eight.
function ticksWithRoom(low, high, length, text) {
  for (let wanted = 8; wanted > 1; --wanted) {
    const found = ticks(low, high, wanted);
    const widest = Math.max(...found.map((at) => textWidth(text(at)))) + 14;
    const apart = found.length > 1 ? (found[1] - found[0]) / (high - low) * length : length;
    if (apart >= widest) return found;
  }
  return ticks(low, high, 1).slice(0, 1);
}

function describe({name, points}, format) {
  const known = points.filter((point) => point[1] !== null);
  if (known.length === 0) return `${name}: nothing`;
  return `${name} from ${format(known[0][1])} to ${format(known[known.length - 1][1])}`;
}

function drawLine(drawing, {points, color, dashed, dots, steps}, toX, toY) {
  let path = '';
  let pen = false;
  let last = null;
  for (const [x, y] of points) {
    if (y === null) {
      pen = false;
      continue;
    }
    if (dots || points.length === 1) {
      drawing.append(svg('circle', {cx: toX(x), cy: toY(y), r: 3.5, style: `fill:${color}`}));
    }
    if (pen && steps) path += `L${toX(x).toFixed(1)} ${toY(last).toFixed(1)}`;
    path += `${pen ? 'L' : 'M'}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`;
    pen = true;
    last = y;
  }
  if (dots) return;
  drawing.append(svg('path', {d: path, style: `fill:none;stroke:${color};stroke-width:1.8` +
      (dashed ? ';stroke-dasharray:6 4' : '')}));
}
