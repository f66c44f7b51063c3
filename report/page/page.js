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
  drawCharts(place);
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

// The same for a value that is a name, not a number.
function wordCard(what, value, more) {
  return plainCard(what, value, more, {class: 'value words'});
}

const count = (value) => value.toLocaleString('en');

// "step 52 of 80, epoch 1.3", and how long the rest takes at the measured speed while the run goes on.
function stepText(data) {
  return `step ${count(data.steps_done)} of ${count(data.steps_total)}` +
      (data.epoch === undefined ? '' : `, epoch ${short(data.epoch)}`);
}

function secondsLeft(data) {
  const steps = data.steps_total - data.steps_done;
  const {measured, predicted} = data.figures.step_seconds;
  const left = steps * (measured === null ? predicted : measured);
  // Beyond a century the number only says that it cannot be said.
  return data.state === 'running' && steps > 0 && left < 3e9 ? left : null;
}

function renderStatus(data) {
  const left = secondsLeft(data);
  byId('status').replaceChildren(element('span', {class: `state ${data.state}`}, data.state),
      data.state === 'planned' ? ` ${count(data.steps_total)} steps planned` :
        ` ${stepText(data)}` + (left === null ? '' : `, ${duration(left)} left`));
}

function lossCards(data) {
  const {loss, evaluations} = data;
  const cards = [];
  if (loss.first !== null || loss.last !== null) {
    cards.push(plainCard('training loss, last step', short(loss.last), element('span', {}, 'first step ',
        element('span', {'data-key': 'first_loss', 'data-value': JSON.stringify(loss.first)},
            short(loss.first))),
    {'data-key': 'last_loss', 'data-value': JSON.stringify(loss.last)}));
  }
  if (evaluations.length > 0) {
    const last = evaluations[evaluations.length - 1];
    cards.push(plainCard('held-out loss', short(last.loss),
        `at step ${count(last.step)}, perplexity ${short(last.perplexity)}`));
  }
  return cards;
}

function renderProgress(data) {
  const {figures, job} = data;
  const planned = data.state === 'planned';
  byId('h-progress').textContent = planned ? 'The planned run' : 'Progress';
  const left = secondsLeft(data);
  const cards = [];
  if (!planned) {
    cards.push(plainCard('steps done', count(data.steps_done), `of ${count(data.steps_total)}` +
        (data.skipped ? `; ${count(data.skipped)} updates skipped` : '')));
  }
  if (left !== null) {
    cards.push(plainCard('time left', duration(left), 'at the speed measured so far'));
  }
  cards.push(card('time per step', 'step_seconds', figures.step_seconds, seconds));
  if (planned) cards.push(card('tokens/s', 'tokens_per_second', figures.tokens_per_second, short));
  const batch = (job.accumulation > 1 ? `${count(job.accumulation)} micro-batches of ` : '') +
      `${count(job.micro_batch)} × ${count(job.sequence)} tokens`;
  cards.push(wordCard('model', data.model.name, `${count(data.model.parameters)} parameters; ` +
          `${batch} per step`),
  wordCard('predicted limit', data.limits[0] || '–', data.limits.slice(1).join(', ')),
  wordCard('machine', data.machine.name, plainText(data.machine.summary)));
  const basis = element('p', {class: 'note', id: 'basis'}, `The prediction ${data.basis.text}.`);
  const notes = data.notes.map((note) => element('p', {class: 'note'}, note));
  if (!data.fits) {
    notes.push(element('p', {class: 'note bad'},
        'The plan does not fit on this machine: the section on memory shows by how much.'));
  }
  const done = data.steps_total > 0 ? Math.min(1, data.steps_done / data.steps_total) : 0;
  const bar = planned ? null : element('div', {class: 'progress', role: 'progressbar',
    'aria-label': stepText(data), 'aria-valuemin': 0, 'aria-valuemax': 100,
    'aria-valuenow': Math.floor(100 * done)}, element('div', {style: `width:${100 * done}%`}));
  fill('progress', bar, element('div', {class: 'cards'}, ...cards), basis, ...notes);
}

let timeline = null;

function factsText(facts) {
  return facts.map(([label, text]) => `${label}: ${text}`).join(' · ');
}

// A box beside the pointer: the first fact as its heading, then the others. Null hides it.
function showTip(facts, x, y) {
  const tip = byId('tip');
  tip.hidden = !facts;
  if (!facts) return;
  tip.replaceChildren(element('strong', {}, facts[0][1]), ...facts.slice(1).map(
      ([label, text]) => element('div', {}, `${label}: ${text}`)));
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16}px`;
}

function makeTimeline() {
  timeline = new TimelineChart(byId('timeline'), {
    onShow: (facts) => {
      byId('operation').textContent = facts ? factsText(facts) :
          'Point at an operation, or select the chart and press n.';
    },
    onTip: showTip,
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
  const {families, family_of_kind: familyOfKind, operations} = data.timelines;
  const used = new Set(operations.kind.map((kind) => familyOfKind[kind]));
  fill('legend', ...families.map((family, i) => used.has(i) ? element('span', {},
      element('i', {style: `background:var(--family-${i})`}), family) : null));
  byId('h-timelines').textContent = data.timelines.measured ?
      'Operations of one step, predicted and measured' : 'Operations of one step, predicted';
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
    line(`${name}, reserved (${bytes(data.memory.laid_out[name])})`, colors[name],
        [[0, data.memory.laid_out[name]], [end, data.memory.laid_out[name]]], {dashed: true}),
  ]);
  return chart({caption, series, format: bytes, base: 1024, x: 'time since the step began',
    formatX: (time) => seconds(time * 1e-9), fromZero: true});
}

function renderMemory(data) {
  const charts = [];
  const {memory, metrics} = data;
  if (metrics.step.length > 0) {
    const series = [
      line('used by the process', 'first', metrics.step.map((step, i) => [step, metrics.host_bytes[i]])),
      line(`predicted peak (${bytes(memory.predicted_host_bytes)})`, 'second',
          across(metrics.step, memory.predicted_host_bytes), {dashed: true}),
    ];
    // A limit far above would flatten everything else: the caption says it.
    const near = memory.usable_host_bytes < 3 * memory.predicted_host_bytes;
    const limit = `limit of the machine (${bytes(memory.usable_host_bytes)})`;
    if (near) {
      series.push(line(limit, 'limit', across(metrics.step, memory.usable_host_bytes),
          {dashed: true}));
    }
    charts.push(chart({caption: 'Host memory over the run' + (near ? '' : `, far below the ${limit}`),
      base: 1024, x: 'step', format: bytes, fromZero: true, series}));
  }
  if (data.timelines) {
    charts.push(stepMemory('Memory during one step, predicted', data.timelines.predicted.memory, data));
    if (data.timelines.measured) {
      charts.push(stepMemory('Memory during one step, measured', data.timelines.measured.memory, data));
    }
  }
  const limits = table('Predicted need against what the machine has', [['memory', 'text'],
    ['needed', 'number'], ['available', 'number'], ['used', 'number']], [
    ['host', {text: bytes(memory.predicted_host_bytes), key: 'memory.host',
      value: memory.predicted_host_bytes}, bytes(memory.usable_host_bytes),
    share(memory.predicted_host_bytes, memory.usable_host_bytes)],
    ['device', {text: bytes(memory.predicted_device_bytes), key: 'memory.device',
      value: memory.predicted_device_bytes}, bytes(memory.device_memory_bytes),
    share(memory.predicted_device_bytes, memory.device_memory_bytes)],
  ]);
  const items = element('details', {}, element('summary', {}, 'What the memory holds'),
      table('Predicted, item by item', [['memory', 'text'], ['what', 'text'], ['count', 'number'],
        ['size', 'number']], memory.items.map((item) => [item.memory,
        spaced(item.what), item.count ? short(item.count) : '', bytes(item.bytes)])));
  const {figures} = data;
  fill('memory', element('div', {class: 'cards'},
      card('host memory, peak', 'host_bytes', figures.host_bytes, bytes),
      card('device memory, reserved', 'device_bytes', figures.device_bytes, bytes)),
  element('div', {class: 'charts'}, ...charts), element('div', {class: 'tables'}, limits), items);
}

const share = (part, whole) => whole > 0 ? `${number(3).format(100 * part / whole)} %` : '–';

function renderCurves(data) {
  const {metrics, evaluations, figures} = data;
  // Of a plan there is nothing to show here.
  byId('curves').parentElement.hidden = data.state === 'planned';
  if (metrics.step.length === 0) {
    fill('curves', element('p', {class: 'note'}, data.state === 'planned' ?
        'Nothing was run: this is a plan.' : 'The first step has not ended yet.'));
    return;
  }
  const loss = [line('training loss', 'first', metrics.step.map((step, i) =>
      [step, metrics.loss[i]]))];
  if (evaluations.length > 0) {
    loss.push(line('held-out loss', 'second',
        evaluations.map((one) => [one.step, one.loss]), {dots: true}));
  }
  const predicted = figures.tokens_per_second.predicted;
  fill('curves', element('div', {class: 'cards'}, ...lossCards(data),
      card('tokens/s', 'tokens_per_second', figures.tokens_per_second, short)),
  element('div', {class: 'charts'},
      chart({caption: 'Loss', series: loss, format: short, x: 'step'}),
      chart({caption: 'Throughput in tokens/s', format: short, x: 'step', fromZero: true, series: [
        line('measured', 'first', metrics.step.map((step, i) =>
            [step, metrics.tokens_per_second[i]])),
        line(`predicted (${short(predicted)})`, 'second', across(metrics.step, predicted),
            {dashed: true})]})),
  metrics.every > 1 ? element('p', {class: 'note'},
      `The run is long: the charts show one step in ${count(metrics.every)}.`) : null);
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
  byId('h-compared').textContent = figures.step_seconds.measured === null ?
      'Prediction in detail' : 'Prediction against measurement';
  // Of a plan only the first column says something.
  const shown = figures.step_seconds.measured === null ? 2 : 4;
  parts.push(table('The run', columns('figure').slice(0, shown), [
    ['time per step', ...comparedCells('table.step_seconds', figures.step_seconds, seconds)],
    ...(figures.step_seconds_at_speed ? [['time per step, predicted at the speed the machine had meanwhile',
      ...comparedCells('table.step_seconds_at_speed', figures.step_seconds_at_speed, seconds)]] :
      []),
    ['tokens/s', ...comparedCells('table.tokens_per_second', figures.tokens_per_second, short)],
    ['host memory, peak', ...comparedCells('table.host_bytes', figures.host_bytes, bytes)],
    ['device memory, reserved', ...comparedCells('table.device_bytes', figures.device_bytes, bytes)],
  ].map((row) => row.slice(0, shown))));
  const works = (caption, first, list, key) => list.length === 0 ? null : table(caption,
      [...columns(first).slice(0, 1), ['lane', 'text'], ['operations', 'number'],
        ...columns(first).slice(1)],
      list.map((work, i) => [spaced(work.name), laneName(work.lane), short(work.operations),
        ...comparedCells(`${key}.${i}`, work.seconds, seconds)]));
  parts.push(data.lanes.length === 0 ? null : table('Busy time of each lane in one step',
      [...columns('lane').slice(0, 1), ['operations', 'number'], ...columns('lane').slice(1)],
      data.lanes.map((work, i) => [laneName(work.lane), short(work.operations),
        ...comparedCells(`lanes.${i}`, work.seconds, seconds)])),
      works('Time by kind of operation, largest difference first', 'kind', data.kinds, 'kinds'),
      works('The operations with the largest difference', 'operation', data.missed_most, 'missed_most'));
  const shares = Object.entries(data.busy_share).filter(([, value]) => value > 0);
  parts.push(table('Predicted share of the step each lane is busy', [['lane', 'text'],
    ['busy', 'number']], shares.map(([lane, value]) => [laneName(lane), {text: share(value, 1), key: `busy.${lane}`, value}])));
  if (data.stalls.length > 0) {
    parts.push(table('Predicted waits in one step, longest first', [['lane', 'text'],
      ['waits for', 'text'], ['on lane', 'text'], ['time', 'number']], data.stalls.map((stall) =>
      [laneName(stall.lane), spaced(stall.awaited), laneName(stall.awaited_lane),
        seconds(stall.seconds)])));
  }
  fill('compared', element('div', {class: 'tables'}, ...parts.filter(Boolean)));
}

// Fields of plan and job as a person reads them; others are their names with spaces. The name in the
// file is the cell's tooltip.
const fieldNames = {
  chunk_bytes: 'largest chunk', buffer_depth: 'ring slots', backward_prefetch: 'prefetch in backward',
  resident_chunks: 'chunks kept on the device', anchor_interval: 'checkpoint interval, layers',
  anchor_home: 'activation checkpoints kept on', recompute: 'recompute activations',
  keep_feed_forward: 'keep gate and up for backward',
  accumulation_order: 'order of micro-batches', loss_chunk_tokens: 'tokens per loss chunk',
  embedding_home: 'embedding kept on', h2d_threads: 'threads, copies to the device',
  d2h_threads: 'threads, copies from the device', compute_threads: 'threads, compute',
  host_threads: 'threads, host', optimizer_threads: 'threads, optimizer',
  train: 'trained tensors', freeze: 'frozen tensors', sequence: 'sequence length, tokens',
  micro_batch: 'micro-batch, sequences', accumulation: 'micro-batches per step',
  learning_rate_schedule: 'learning-rate schedule', learning_rate: 'learning rate',
  clip_norm: 'gradient norm is clipped at', decay_all: 'weight decay on all tensors',
  compute_type: 'type of compute', activation_type: 'type of activations',
  gradient_type: 'type of gradients', state_format: 'optimizer state', optimizer_place: 'optimizer runs',
};
const fieldCell = (name) => ({text: fieldNames[name] || spaced(name), title: name});

function fieldText(name, value) {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') {
    if (name.endsWith('_bytes')) return bytes(value);
    // toLocaleString would round a small learning rate to zero.
    return Number.isInteger(value) ? count(value) : String(value);
  }
  if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : name === 'train' ? 'all' : 'none';
  if (value !== null && typeof value === 'object') return JSON.stringify(value);
  // Paths keep what they are made of; the words of our own formats are spaced.
  return /^[a-z0-9_-]+$/.test(value) && name !== 'model' && name !== 'data' ? spaced(value) : String(value);
}

const reasonText = (text) => spaced(text).replace(/\bfalse\b/g, 'no').replace(/\btrue\b/g, 'yes');

function renderPlan(data) {
  const reasons = Object.fromEntries(data.reasons.map(({field, text}) => [field, reasonText(text)]));
  const hidden = new Set(['version', 'model_fingerprint', 'model']);
  const rows = Object.entries(data.plan).filter(([name]) => !hidden.has(name)).map(
      ([name, value]) => [fieldCell(name), fieldText(name, value), reasons[name] || '']);
  const job = Object.entries(data.job).filter(([name]) => name !== 'version').map(
      ([name, value]) => [fieldCell(name), fieldText(name, value)]);
  fill('plan', table('The plan: how training is done. It never changes the results.', [['field', 'text'],
    ['value', 'text'], ['step time with another value', 'text']], rows),
  element('details', {}, element('summary', {}, 'The job: what is trained'),
      table('The job: what is trained', [['field', 'text'], ['value', 'text']], job)));
}

// Without the marks that quote a word of ours in a terminal.
const plainText = (text) => text.replaceAll('`', '');

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

// "device.gemm_bf16" is "device: gemm bf16"; the unit stands with the value.
const machineName = (path) => spaced(path.replace(/_?(bytes|flops|parameters)_per_second$/, ' rate')
    .replace(/_?seconds$/, '').replace(/_?bytes$/, '').replace(/h2d/g, 'to device')
    .replace(/d2h/g, 'from device')).replaceAll('.', ': ');

function machineRows(prefix, value, rows) {
  for (const [name, field] of Object.entries(value)) {
    const path = prefix ? `${prefix}.${name}` : name;
    if (field === null || typeof field !== 'object') {
      if (typeof field === 'number' && name !== 'version') {
        rows.push([{text: machineName(path), title: path}, short(field), '', '', '']);
      }
      continue;
    }
    if (!('origin' in field)) {
      machineRows(path, field, rows);
      continue;
    }
    const format = machineFormat(path);
    const text = 'value' in field ? format(field.value) : curveText(field.points, format);
    rows.push([{text: machineName(path), title: path}, text, field.origin, field.spread === undefined ? '' :
        `${number(2).format(100 * field.spread)} % in ${field.repeats} ${field.repeats === 1 ? 'run' : 'runs'}`,
    plainText(field.source) + (field.when ? ` (${field.when})` : '')]);
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
  return table('Speed that work keeps while another lane works on other cores',
      [['work on lane', 'text'], ...lanes.map((lane) => [`beside ${laneName(lane)}`, 'number'])],
      lanes.map((work) => [laneName(work), ...lanes.map((beside) => {
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
  fill('machine', element('p', {}, `${machine.name}: ${plainText(machine.summary)}. The device is ` +
      `${machine.device.name}, the host ${machine.host.name}.`),
  table('What the prediction rests on', [['figure', 'text'], ['value', 'text'],
    ['origin', 'text'], ['spread', 'number'], ['source', 'text']], rows),
  contentionTable(contention));
}

function render(data) {
  renderStatus(data);
  renderCurves(data);
  renderProgress(data);
  renderExperts(data);
  renderMemory(data);
  renderCompared(data);
  renderTimelines(data);
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
addEventListener('resize', () => drawCharts(document));
// A page without data of its own is served: report/live/live.js, which follows, calls render().
const embedded = JSON.parse(byId('data').textContent);
if (embedded) render(embedded);
