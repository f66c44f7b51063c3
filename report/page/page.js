'use strict';
// The page of a run: render(data) fills every section from one document (report/view_json.h) and may
// be called again with a newer one; the timeline keeps its window, tables and charts are made anew.

const byId = (id) => document.getElementById(id);

function fill(id, ...children) {
  const place = byId(id);
  // What a reader had opened stays open.
  const open = [...place.querySelectorAll('details')].map((one) => one.open);
  place.replaceChildren(...children.filter(Boolean));
  place.querySelectorAll('details').forEach((one, i) => { one.open = open[i] || one.open; });
}

// A figure of the summary: what, measured (or predicted) large, the other and the error below.
function card(what, key, figure, format) {
  const measured = figure.measured !== null;
  const keep = (part) => ({'data-key': `${key}.${part}`,
    'data-value': JSON.stringify(figure[part])});
  return element('div', {class: 'card'},
      element('div', {class: 'what'}, what),
      element('div', {class: 'value', ...keep(measured ? 'measured' : 'predicted')},
          format(measured ? figure.measured : figure.predicted)),
      measured ? element('div', {class: 'more'}, 'predicted ',
          element('span', keep('predicted'), format(figure.predicted)), ', error ',
          element('span', {class: tone(figure.error), ...keep('error')}, percent(figure.error))) :
          element('div', {class: 'more'}, 'predicted'));
}

function plainCard(what, value, more, attributes) {
  return element('div', {class: 'card'}, element('div', {class: 'what'}, what),
      element('div', {class: 'value', ...attributes}, value),
      element('div', {class: 'more'}, more || ''));
}

function renderSummary(data) {
  const {figures, job, loss} = data;
  const planned = data.state === 'planned';
  const cards = [
    plainCard('state', element('span', {class: `state ${data.state}`}, data.state), planned ?
        `${data.steps_total.toLocaleString('en')} steps asked for` :
        `step ${data.steps_done.toLocaleString('en')} of ${data.steps_total.toLocaleString('en')}` +
        (data.epoch === undefined ? '' : `, epoch ${short(data.epoch)}`) +
        (data.skipped ? `, ${data.skipped} skipped` : '')),
    plainCard('model', data.model.name, `${data.model.parameters.toLocaleString('en')} parameters; ` +
        `${job.micro_batch} × ${job.sequence} tokens` +
        (job.accumulation > 1 ? ` × ${job.accumulation}` : '') + ' a step'),
    card('a step', 'step_seconds', figures.step_seconds, seconds),
    card('tokens/s', 'tokens_per_second', figures.tokens_per_second, short),
  ];
  if (loss.first !== null || loss.last !== null) {
    cards.push(plainCard('loss', element('span', {}, element('span',
        {'data-key': 'first_loss', 'data-value': JSON.stringify(loss.first)}, short(loss.first)),
    ' → ', element('span',
        {'data-key': 'last_loss', 'data-value': JSON.stringify(loss.last)}, short(loss.last))),
    'first and last step'));
  }
  cards.push(card('host memory, peak', 'host_bytes', figures.host_bytes, bytes),
      card('device arena', 'device_bytes', figures.device_bytes, bytes),
      plainCard('what binds', data.limits[0] || '–', data.limits.slice(1).join(', ')),
      plainCard('machine', data.machine.name, data.machine.summary));
  const notes = data.notes.map((note) => element('p', {class: 'note'}, note));
  if (!data.fits) {
    notes.push(element('p', {class: 'note bad'},
        'The plan does not fit this machine: the memory section shows what lacks.'));
  }
  fill('summary', element('div', {class: 'cards'}, ...cards), ...notes);
}

let timeline = null;

function factsText(facts) {
  return facts.map(([label, text]) => `${label}: ${text}`).join(' · ');
}

function makeTimeline() {
  const tip = byId('tip');
  timeline = new TimelineChart(byId('timeline'), {
    onShow: (facts) => {
      byId('operation').textContent = facts ? factsText(facts) :
          'Point at an operation, or focus the chart and press n.';
    },
    onTip: (facts, x, y) => {
      tip.hidden = !facts;
      if (!facts) return;
      tip.replaceChildren(element('strong', {}, facts[0][1]), ...facts.slice(1).map(
          ([label, text]) => element('div', {}, `${label}: ${text}`)));
      const box = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
      tip.style.top = `${y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16}px`;
    },
    onWindow: (from, to) => {
      byId('window').textContent =
          `${seconds(from * 1e-9)} to ${seconds(to * 1e-9)} (${seconds((to - from) * 1e-9)})`;
    },
  });
  const acts = {in: () => timeline.zoom(0.5), out: () => timeline.zoom(2),
    left: () => timeline.move(-0.3), right: () => timeline.move(0.3),
    all: () => timeline.setWindow(0, timeline.end)};
  for (const button of document.querySelectorAll('[data-zoom]')) {
    button.addEventListener('click', () => timeline.data && acts[button.dataset.zoom]());
  }
}

function renderTimelines(data) {
  if (!timeline) makeTimeline();
  const section = byId('timelines');
  section.classList.toggle('empty', !data.timelines);
  timeline.setData(data.timelines);
  if (!data.timelines) {
    byId('operation').textContent = 'There is no timeline yet.';
    return;
  }
  const kinds = [...new Set(data.timelines.operations.kind)];
  fill('legend', ...kinds.map((kind) => element('span', {},
      element('i', {style: `background:${kindColor(kind)}`}),
      data.timelines.kinds[kind].replaceAll('_', ' '))));
  byId('h-timelines').textContent = data.timelines.measured ?
      'A steady step, predicted and measured' : 'A steady step, predicted';
}

const line = (name, color, points, more) => ({name, color: `var(--${color})`, points, ...more});
const across = (xs, y) => [[xs[0], y], [xs[xs.length - 1], y]];

// The memories within a step, against what is laid out for each.
function stepMemory(caption, memory, data) {
  const names = ['device', 'pinned', 'host'].filter((name) => data.memory.laid_out[name] > 0);
  const colors = {device: 'first', pinned: 'second', host: 'third'};
  const end = memory.time_ns[memory.time_ns.length - 1] || 1;
  const series = names.flatMap((name) => [
    line(`${name}, in use`, colors[name],
        memory.time_ns.map((time, i) => [time, memory[name][i]]), {steps: true}),
    line(`${name}, laid out (${bytes(data.memory.laid_out[name])})`, colors[name],
        [[0, data.memory.laid_out[name]], [end, data.memory.laid_out[name]]], {dashed: true}),
  ]);
  return chart({caption, series, format: bytes, base: 1024, x: 'time in the step',
    formatX: (time) => seconds(time * 1e-9), fromZero: true});
}

function renderMemory(data) {
  const charts = [];
  const {memory, metrics} = data;
  if (metrics.step.length > 0) {
    const series = [
      line('resident', 'first', metrics.step.map((step, i) => [step, metrics.host_bytes[i]])),
      line(`predicted peak (${bytes(memory.predicted_host_bytes)})`, 'second',
          across(metrics.step, memory.predicted_host_bytes), {dashed: true}),
    ];
    // A limit far above would press everything else to the ground: it is told, not drawn.
    const near = memory.usable_host_bytes < 3 * memory.predicted_host_bytes;
    const limit = `machine's limit ${bytes(memory.usable_host_bytes)}`;
    if (near) {
      series.push(line(limit, 'limit', across(metrics.step, memory.usable_host_bytes),
          {dashed: true}));
    }
    charts.push(chart({caption: 'Host memory over the run' + (near ? '' : `; the ${limit} is beyond`),
      base: 1024, x: 'step', format: bytes, fromZero: true, series}));
  }
  if (data.timelines) {
    charts.push(stepMemory('Within a step, as predicted', data.timelines.predicted.memory, data));
    if (data.timelines.measured) {
      charts.push(stepMemory('Within a step, as measured', data.timelines.measured.memory, data));
    }
  }
  const limits = table('Memory against the limits', [['memory', 'text'], ['needed', 'number'],
    ['there is', 'number'], ['full', 'number']], [
    ['host', {text: bytes(memory.predicted_host_bytes), key: 'memory.host',
      value: memory.predicted_host_bytes}, bytes(memory.usable_host_bytes),
    share(memory.predicted_host_bytes, memory.usable_host_bytes)],
    ['device', {text: bytes(memory.predicted_device_bytes), key: 'memory.device',
      value: memory.predicted_device_bytes}, bytes(memory.device_memory_bytes),
    share(memory.predicted_device_bytes, memory.device_memory_bytes)],
  ]);
  const items = element('details', {}, element('summary', {}, 'What the memory holds'),
      table('Predicted, item by item', [['memory', 'text'], ['what', 'text'], ['count', 'number'],
        ['bytes', 'number']], memory.items.map((item) => [item.memory,
        item.what.replaceAll('_', ' '), item.count ? short(item.count) : '', bytes(item.bytes)])));
  fill('memory', element('div', {class: 'tables'}, limits), items, element('div', {class: 'charts'}, ...charts));
}

const share = (part, whole) => whole > 0 ? `${number(3).format(100 * part / whole)} %` : '–';

function renderCurves(data) {
  const {metrics, evaluations, figures} = data;
  if (metrics.step.length === 0) {
    fill('curves', element('p', {class: 'note'}, data.state === 'planned' ?
        'Nothing was run: this is a plan.' : 'No step has ended yet.'));
    return;
  }
  const loss = [line('training loss', 'first', metrics.step.map((step, i) =>
      [step, metrics.loss[i]]))];
  if (evaluations.length > 0) {
    loss.push(line('held-out loss', 'second',
        evaluations.map((one) => [one.step, one.loss]), {dots: true}));
  }
  const predicted = figures.tokens_per_second.predicted;
  fill('curves', element('div', {class: 'charts'},
      chart({caption: 'Loss', series: loss, format: short, x: 'step'}),
      chart({caption: 'Throughput', format: short, x: 'step', fromZero: true, series: [
        line('tokens/s', 'first', metrics.step.map((step, i) =>
            [step, metrics.tokens_per_second[i]])),
        line(`predicted (${short(predicted)})`, 'second', across(metrics.step, predicted),
            {dashed: true})]})),
  metrics.every > 1 ? element('p', {class: 'note'}, `Every ${metrics.every}th step is drawn.`) : null);
}

function comparedCells(key, figure, format) {
  return [{text: format(figure.predicted), key: `${key}.predicted`, value: figure.predicted},
    {text: format(figure.measured), key: `${key}.measured`, value: figure.measured},
    {text: percent(figure.error), key: `${key}.error`, value: figure.error,
      tone: tone(figure.error)}];
}

function renderCompared(data) {
  const columns = (first) => [[first, 'text'], ['predicted', 'number'], ['measured', 'number'],
    ['error', 'number']];
  const parts = [];
  const {figures} = data;
  // Of a plan only the first column says something.
  const shown = figures.step_seconds.measured === null ? 2 : 4;
  parts.push(table('The run', columns('figure').slice(0, shown), [
    ['a step', ...comparedCells('table.step_seconds', figures.step_seconds, seconds)],
    ...(figures.step_seconds_at_speed ? [['a step, at the machine’s speed meanwhile',
      ...comparedCells('table.step_seconds_at_speed', figures.step_seconds_at_speed, seconds)]] :
      []),
    ['tokens/s', ...comparedCells('table.tokens_per_second', figures.tokens_per_second, short)],
    ['host memory, peak', ...comparedCells('table.host_bytes', figures.host_bytes, bytes)],
    ['device arena', ...comparedCells('table.device_bytes', figures.device_bytes, bytes)],
  ].map((row) => row.slice(0, shown))));
  const works = (caption, first, list, key) => list.length === 0 ? null : table(caption,
      [...columns(first).slice(0, 1), ['lane', 'text'], ['operations', 'number'],
        ...columns(first).slice(1)],
      list.map((work, i) => [work.name.replaceAll('_', ' '), work.lane, short(work.operations),
        ...comparedCells(`${key}.${i}`, work.seconds, seconds)]));
  parts.push(data.lanes.length === 0 ? null : table('Busy seconds of each lane in a steady step',
      [...columns('lane').slice(0, 1), ['operations', 'number'], ...columns('lane').slice(1)],
      data.lanes.map((work, i) => [work.lane, short(work.operations),
        ...comparedCells(`lanes.${i}`, work.seconds, seconds)])),
      works('By kind of operation, largest difference first', 'kind', data.kinds, 'kinds'),
      works('The operations that missed most', 'operation', data.missed_most, 'missed_most'));
  const shares = Object.entries(data.busy_share).filter(([, value]) => value > 0);
  parts.push(table('Predicted: how busy each lane is', [['lane', 'text'], ['busy', 'number']],
      shares.map(([lane, value]) => [lane, {text: share(value, 1), key: `busy.${lane}`, value}])));
  if (data.stalls.length > 0) {
    parts.push(table('Predicted: the longest stalls of a step', [['lane', 'text'],
      ['waits for', 'text'], ['of lane', 'text'], ['time', 'number']], data.stalls.map((stall) =>
      [stall.lane, stall.awaited.replaceAll('_', ' '), stall.awaited_lane, seconds(stall.seconds)])));
  }
  fill('compared', element('div', {class: 'tables'}, ...parts.filter(Boolean)));
}

function fieldText(name, value) {
  if (typeof value === 'number' && name.endsWith('_bytes')) return bytes(value);
  return typeof value === 'number' ? value.toLocaleString('en') : String(value);
}

function renderPlan(data) {
  const reasons = Object.fromEntries(data.reasons.map(({field, text}) => [field, text]));
  const hidden = new Set(['version', 'model_fingerprint', 'model']);
  const rows = Object.entries(data.plan).filter(([name]) => !hidden.has(name)).map(
      ([name, value]) => [name, fieldText(name, value), reasons[name] || '']);
  const job = Object.entries(data.job).filter(([name]) => name !== 'version').map(
      ([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) :
          fieldText(name, value)]);
  fill('plan', table('Plan: how it is done; it never changes the numbers', [['field', 'text'],
    ['value', 'text'], ['other values would give', 'text']], rows),
  element('details', {}, element('summary', {}, 'The job: what is trained'),
      table('Job', [['field', 'text'], ['value', 'text']], job)));
}

// The unit of a figure of the machine, by what its name ends with.
function machineFormat(name) {
  const rate = (unit) => (value) => scaled(value, 1000, ['', 'k', 'M', 'G', 'T', 'P'].map(
      (prefix) => prefix + unit));
  if (name.endsWith('bytes_per_second') || /(^|\.)(dram|pack|accumulate|norm)$|_pinned$|_pageable$/.test(name)) {
    return rate('B/s');
  }
  if (name.endsWith('bytes')) return bytes;
  if (name.endsWith('seconds')) return seconds;
  if (name.endsWith('gemm_share') || name.startsWith('in_runs.')) return (value) => share(value, 1);
  if (/gemm|attention|flops_per_second$/.test(name)) return rate('FLOPS');
  if (/adam/.test(name)) return rate(' parameters/s');
  return short;
}

function machineRows(prefix, value, rows) {
  for (const [name, field] of Object.entries(value)) {
    const path = prefix ? `${prefix}.${name}` : name;
    if (field === null || typeof field !== 'object') {
      if (typeof field === 'number' && name !== 'version') rows.push([path, short(field), '', '', '']);
      continue;
    }
    if (!('origin' in field)) {
      machineRows(path, field, rows);
      continue;
    }
    const format = machineFormat(path);
    const text = 'value' in field ? format(field.value) : curveText(field.points, format);
    rows.push([path, text, field.origin, field.spread === undefined ? '' :
        `${number(2).format(100 * field.spread)} % of ${field.repeats}`,
    field.source + (field.when ? ` (${field.when})` : '')]);
  }
}

function curveText(points, format) {
  const [first, last] = [points[0], points[points.length - 1]];
  if (points.length === 1) return format(first[1]);
  return `${format(first[1])} at ${short(first[0])} … ${format(last[1])} at ${short(last[0])}`;
}

// A row for each lane's work, a column for each lane beside it; null where nothing was measured.
function contentionTable(pairs) {
  if (pairs.length === 0) return null;
  const lanes = [...new Set(pairs.map((pair) => pair.work))];
  return table('What work keeps of its speed while another lane works beside it on other cores',
      [['work of lane', 'text'], ...lanes.map((lane) => [`beside ${lane}`, 'number'])],
      lanes.map((work) => [work, ...lanes.map((beside) => {
        const found = pairs.find((pair) => pair.work === work && pair.beside === beside);
        return found ? {text: share(found.speed.value, 1), key: `contention.${work}.${beside}`,
          value: found.speed.value} : '';
      })]));
}

function renderMachine(data) {
  const rows = [];
  const {machine} = data;
  const {contention, ...figures} = machine;
  machineRows('', figures, rows);
  fill('machine', element('p', {}, `${machine.name}: ${machine.summary}. Device: ` +
      `${machine.device.name}. Host: ${machine.host.name}.`),
  table('What the prediction was made from', [['figure', 'text'], ['value', 'number'],
    ['origin', 'text'], ['spread', 'number'], ['source', 'text']], rows),
  contentionTable(contention));
}

function render(data) {
  renderSummary(data);
  renderTimelines(data);
  renderMemory(data);
  renderCurves(data);
  renderCompared(data);
  renderPlan(data);
  renderMachine(data);
  document.documentElement.dataset.rendered = String(
      1 + Number(document.documentElement.dataset.rendered || 0));
}

function setUpTheme() {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;
  const apply = () => {
    root.dataset.theme = chosen || (dark.matches ? 'dark' : 'light');
    if (timeline) timeline.draw();
  };
  dark.addEventListener('change', apply);
  byId('theme').addEventListener('click', () => {
    chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
    apply();
  });
  apply();
}

setUpTheme();
// A page without data of its own is served: report/live/live.js, which follows, calls render().
const embedded = JSON.parse(byId('data').textContent);
if (embedded) render(embedded);
