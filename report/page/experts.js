'use strict';
// The section of a model with experts: how evenly the tokens of each layer choose among them. A
// dense model has no such section, and neither has a plan.

// A cell is colored by how often its expert was chosen, compared with an even share: from a quarter
// of it to four times as often, in nine steps of half a power of two (--heat-0 to --heat-8 in
// page.css). The legend names every second step.
const heatSteps = 8;
const heatLegend = [[0, 'a quarter as often or less'], [2, 'half as often'],
  [4, 'as often as evenly'], [6, 'twice as often'], [8, 'four times as often or more']];

function heatOf(ratio) {
  const middle = heatSteps / 2;
  return ratio > 0 ? Math.min(heatSteps, Math.max(0, middle + Math.round(2 * Math.log2(ratio)))) : 0;
}

const shareText = (value) => `${number(3).format(100 * value)} %`;

// The share of the tokens that chose each expert: [layer][expert], null where no token came by.
function sharesOf({routing}) {
  return routing.counts.map((layer) => layer.map((count) =>
      routing.tokens > 0 ? count / routing.tokens : null));
}

// The first of the experts with the largest (sign 1) or the smallest (sign -1) share of these rows.
function extremeOf(shares, layers, sign) {
  let found = null;
  shares.forEach((row, i) => row.forEach((share, expert) => {
    if (found === null || sign * share > sign * found.share) {
      found = {layer: layers[i], expert, share};
    }
  }));
  return found;
}

// A drawing with a row for each layer and a cell for each expert. One unit is one pixel; it is wider
// than `width` where cells would be too small to be seen and pointed at.
function drawHeatMap({layers, shares, even, label}, width) {
  const experts = shares[0].length;
  const [top, right, bottom] = [22, 10, 42];
  const left = Math.ceil(Math.max(textWidth('layer'), textWidth(String(layers[layers.length - 1])))) + 12;
  const cell = Math.min(40, Math.max(4, Math.floor((width - left - right) / experts)));
  const row = Math.min(18, Math.max(8, Math.floor(540 / layers.length)));
  const gap = cell >= 6 ? 1 : 0;
  const [wide, high] = [left + cell * experts + right, top + row * layers.length + bottom];
  // Labels stand at multiples of a power of two, as far apart as they need.
  const every = (size, room) => Math.pow(2, Math.max(0, Math.ceil(Math.log2(room / size))));
  const drawing = svg('svg', {viewBox: `0 0 ${wide} ${high}`, role: 'img', 'aria-label': label,
    'shape-rendering': 'crispEdges', style: `width:${wide + 2}px`});
  drawing.append(svg('text', {x: left - 8, y: 14, 'text-anchor': 'end'}, 'layer'),
      svg('text', {x: left + cell * experts / 2, y: high - 6, 'text-anchor': 'middle'}, 'expert'));
  for (let i = 0; i < layers.length; i += every(row, 16)) {
    drawing.append(svg('text', {x: left - 8, y: top + row * (i + 0.5) + 4, 'text-anchor': 'end'},
        String(layers[i])));
  }
  for (let i = 0; i < experts; i += every(cell, textWidth(String(experts - 1)) + 12)) {
    drawing.append(svg('text', {x: left + cell * (i + 0.5), y: high - bottom + 18,
      'text-anchor': 'middle'}, String(i)));
  }
  shares.forEach((of, i) => of.forEach((share, expert) => {
    drawing.append(svg('rect', {class: `heat-${share === null ? heatSteps / 2 : heatOf(share / even)}`,
      x: left + cell * expert, y: top + row * i, width: cell - gap, height: row - 1,
      'data-layer': layers[i], 'data-expert': expert, 'data-share': JSON.stringify(share)}));
  }));
  return drawing;
}

// The figure of these cells; what is under the pointer is told in words.
function heatMap(spec) {
  const place = element('div', {class: 'drawing', tabindex: 0, role: 'region',
    'aria-label': spec.caption});
  const figure = element('figure', {class: 'chart'}, element('figcaption', {}, spec.caption),
      element('div', {class: 'legend'}, ...heatLegend.map(([step, words]) => element('span', {},
          element('i', {style: `background:var(--heat-${step})`}), words))), place);
  figure.place = place;
  figure.draw = (width) => drawHeatMap(spec, width);
  const tell = (event) => {
    const cell = event.target.closest('rect[data-expert]');
    const share = cell && JSON.parse(cell.dataset.share);
    showTip(cell && [['', `layer ${cell.dataset.layer}, expert ${cell.dataset.expert}`],
      ['chosen by', share === null ? 'no tokens came by' : `${shareText(share)} of the tokens`],
      ['an even share', shareText(spec.even)],
      ...(share === null ? [] : [['chosen', `${short(share / spec.even)} times as often as evenly`]]),
    ], event.clientX, event.clientY);
  };
  place.addEventListener('pointermove', tell);
  place.addEventListener('pointerdown', tell);
  place.addEventListener('pointerleave', () => showTip(null));
  return figure;
}

function expertCards(data) {
  const {experts, metrics} = data;
  const even = experts.experts_per_token / experts.experts;
  const cards = [];
  const add = (what, key, sign) => {
    const {layer, expert, share} = extremeOf(sharesOf(experts), experts.layers, sign);
    cards.push(plainCard(what, shareText(share), `of the tokens of layer ${layer} chose expert ${expert}`,
        {'data-key': key, 'data-value': JSON.stringify(share)}));
  };
  if (experts.routing && experts.routing.tokens > 0) {
    add('busiest expert', 'busiest_expert', 1);
    add('idlest expert', 'idlest_expert', -1);
  }
  cards.push(plainCard('an even share', shareText(even), `each token chooses ` +
      `${count(experts.experts_per_token)} of ${count(experts.experts)} experts`));
  const losses = metrics.router_aux_loss;
  if (losses.length > 0) {
    const last = losses[losses.length - 1];
    cards.push(plainCard('auxiliary loss', short(last),
        `at the last step; ${count(experts.experts_per_token)} where all are chosen alike`,
        {'data-key': 'router_aux_loss', 'data-value': JSON.stringify(last)}));
  }
  return cards;
}

function expertMap(experts) {
  const {routing, layers} = experts;
  const shares = sharesOf(experts);
  const caption = `How often the tokens of each layer chose each expert, ` +
      (routing.first_step === routing.step ? `step ${count(routing.step)}` :
        `steps ${count(routing.first_step)} to ${count(routing.step)}`);
  const words = ({layer, expert, share}) => `expert ${expert} of layer ${layer}` +
      (share === null ? '' : ` with ${shareText(share)} of the tokens`);
  const label = `${caption}: the busiest is ${words(extremeOf(shares, layers, 1))}, ` +
      `the idlest ${words(extremeOf(shares, layers, -1))}`;
  const cells = (name, {layer, expert, share}) => [String(expert),
    {text: share === null ? '–' : shareText(share), key: `experts.${layer}.${name}`, value: share}];
  const rows = layers.map((layer, i) => [String(layer),
    ...cells('busiest', extremeOf([shares[i]], [layer], 1)),
    ...cells('idlest', extremeOf([shares[i]], [layer], -1))]);
  return [heatMap({caption, label, layers, shares, even: experts.experts_per_token / experts.experts}),
    element('details', {}, element('summary', {}, 'The busiest and the idlest expert of each layer'),
        table('Experts by layer, with the share of the tokens that chose them', [['layer', 'text'],
          ['busiest expert', 'number'], ['chosen by', 'number'], ['idlest expert', 'number'],
          ['chosen by', 'number']], rows))];
}

function expertCharts({experts, metrics}) {
  const even = experts.experts_per_token / experts.experts;
  const points = (key) => metrics.step.map((step, i) => [step, metrics[key][i]]);
  return [
    chart({caption: 'Auxiliary loss of the routers', format: short, x: 'step', series: [
      line('measured', 'first', points('router_aux_loss')),
      line(`all experts chosen alike (${count(experts.experts_per_token)})`, 'second',
          across(metrics.step, experts.experts_per_token), {dashed: true})]}),
    chart({caption: 'Share of the tokens of a layer that chose an expert', format: shareText, x: 'step',
      fromZero: true, series: [
        line('the busiest expert', 'first', points('busiest_expert')),
        line('the idlest expert', 'third', points('idlest_expert')),
        line(`an even share (${shareText(even)})`, 'second', across(metrics.step, even),
            {dashed: true})]})];
}

function renderExperts(data) {
  const {experts, metrics} = data;
  const old = byId('experts');
  if (!experts || data.state === 'planned') {
    if (old) old.remove();
    return;
  }
  if (!old) {
    byId('memory').parentElement.before(element('section', {id: 'experts', 'aria-labelledby': 'h-experts'},
        element('h2', {id: 'h-experts'}, 'Experts'), element('div', {id: 'experts-figures', class: 'cards'}),
        element('div', {id: 'experts-map'}), element('div', {id: 'experts-charts', class: 'charts'})));
  }
  fill('experts-figures', ...expertCards(data));
  // Thousands of cells are made anew only where they are others.
  const {routing} = experts;
  const place = byId('experts-map');
  const shown = JSON.stringify(routing ? [routing.first_step, routing.step, routing.counts] : data.state);
  if (place.shown !== shown) {
    place.shown = shown;
    fill('experts-map', ...(routing ? expertMap(experts) : [element('p', {class: 'note'},
        data.state === 'running' ? `Which experts the tokens chose is shown after ` +
          `${count(experts.steps_per_line)} steps, or once a step is saved.` :
        'Which experts the tokens chose was not recorded.')]));
  }
  fill('experts-charts', ...(metrics.step.length > 0 ? expertCharts(data) : []));
}
