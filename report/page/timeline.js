'use strict';
// The predicted and the measured step one above the other, on one canvas with one time axis. The
// window in time, the operation in focus and what is hovered outlive new data (setData).

// The colors of families are those of page.css; `style` is the computed style of the page.
const familyColor = (style, family) => style.getPropertyValue(`--family-${family}`).trim();

// Black or white, whichever is easier to read on a color "#rrggbb".
function inkOn(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? '#000' : '#fff';
}

// Lanes as a person reads them; others are called what they are called in files.
const laneNames = {h2d: 'to device', d2h: 'from device'};
const laneName = (lane) => laneNames[lane] || lane;

class TimelineChart {
  static left = 90;
  static rowHeight = 24;
  static gap = 5;
  static titleHeight = 24;
  static axisHeight = 24;

  // `onShow(text)` hears what is in focus or under the pointer; `onWindow(from, to)` the window.
  constructor(canvas, {onShow, onTip, onWindow}) {
    this.canvas = canvas;
    this.onShow = onShow;
    this.onTip = onTip;
    this.onWindow = onWindow;
    this.data = null;
    this.window = null;  // nanoseconds; null: all
    this.focus = null;   // {half, operation}
    this.hover = null;
    this.pending = false;
    this.listen();
  }

  setData(timelines) {
    this.data = timelines;
    this.halves = [];
    if (!timelines) return this.draw();
    const add = (name, times) => this.halves.push({name, times, rows: this.rowsOf(times)});
    add('predicted', timelines.predicted);
    if (timelines.measured) add(`measured, step ${timelines.measured.step}`, timelines.measured);
    const used = new Set(timelines.operations.lane);
    this.lanes = timelines.lanes.map((name, id) => ({name: laneName(name), id})).filter(({id}) => used.has(id));
    this.end = Math.max(1, ...this.halves.map(({times}) => this.endOf(times)));
    for (const place of ['focus', 'hover']) {
      if (this[place] && (this[place].half >= this.halves.length ||
          this[place].operation >= timelines.operations.name.length)) this[place] = null;
    }
    const height = TimelineChart.axisHeight +
        this.halves.length * (TimelineChart.titleHeight + this.lanes.length * this.rowStep());
    this.canvas.style.height = `${height}px`;
    this.canvas.setAttribute('aria-label', this.describe());
    this.draw();
  }

  familyOf(operation) { return this.data.family_of_kind[this.data.operations.kind[operation]]; }
  endOf(times) { return times.end_ns.reduce((most, end) => Math.max(most, end), 0); }
  rowStep() { return TimelineChart.rowHeight + TimelineChart.gap; }

  // Operations by lane, by start: a lane runs one at a time, so ends ascend too.
  rowsOf(times) {
    const rows = this.data.lanes.map(() => []);
    this.data.operations.lane.forEach((lane, id) => rows[lane].push(id));
    for (const row of rows) row.sort((a, b) => times.start_ns[a] - times.start_ns[b]);
    return rows;
  }

  describe() {
    const halves = this.halves.map(({name, times}) =>
        `${name}: ${seconds(this.endOf(times) * 1e-9)}`);
    return `Timeline of one step: ${this.data.operations.name.length} operations on ` +
        `${this.lanes.length} lanes; ${halves.join('; ')}. The tables above have the sums.`;
  }

  range() { return this.window || [0, this.end]; }
  width() { return this.canvas.clientWidth - TimelineChart.left - 8; }
  toX(time) {
    const [from, to] = this.range();
    return TimelineChart.left + (time - from) / (to - from) * this.width();
  }
  toTime(x) {
    const [from, to] = this.range();
    return from + (x - TimelineChart.left) / this.width() * (to - from);
  }
  rowTop(half, row) {
    return TimelineChart.titleHeight * (half + 1) +
        (half * this.lanes.length + row) * this.rowStep();
  }

  setWindow(from, to) {
    const least = 50;
    const length = Math.min(this.end, Math.max(least, to - from));
    from = Math.min(Math.max(0, from), this.end - length);
    this.window = length >= this.end ? null : [from, from + length];
    this.draw();
  }
  zoom(factor, at) {
    const [from, to] = this.range();
    const center = at === undefined ? (from + to) / 2 : at;
    this.setWindow(center - (center - from) * factor, center + (to - center) * factor);
  }
  move(share) {
    const [from, to] = this.range();
    this.setWindow(from + share * (to - from), to + share * (to - from));
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint();
    });
  }

  paint() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (this.canvas.width !== Math.round(width * ratio) ||
        this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = this.data ? this.data.families.map((_, family) => familyColor(style, family)) : [];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = color('paper');
    context.fillRect(0, 0, width, height);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = 'middle';
    if (!this.data) return;
    this.paintAxis(context, color, height);
    this.halves.forEach((half, index) => this.paintHalf(context, color, half, index));
    this.onWindow(...this.range());
  }

  paintAxis(context, color, height) {
    const [from, to] = this.range();
    const bottom = height - TimelineChart.axisHeight;
    context.textAlign = 'center';
    for (const time of ticksWithRoom(from, to, this.width(), (at) => seconds(at * 1e-9))) {
      const x = Math.round(this.toX(time)) + 0.5;
      context.strokeStyle = color('grid');
      context.beginPath();
      context.moveTo(x, 4);
      context.lineTo(x, bottom);
      context.stroke();
      context.fillStyle = color('soft');
      context.fillText(seconds(time * 1e-9), Math.min(Math.max(x, TimelineChart.left + 8),
          TimelineChart.left + this.width() - 20), bottom + 12);
    }
  }

  paintHalf(context, color, {name, times, rows}, index) {
    context.textAlign = 'left';
    context.fillStyle = color('ink');
    context.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
    context.fillText(name, 8, this.rowTop(index, 0) - TimelineChart.titleHeight / 2);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    this.lanes.forEach((lane, row) => {
      const top = this.rowTop(index, row);
      context.fillStyle = color('soft');
      context.fillText(lane.name, 8, top + TimelineChart.rowHeight / 2);
      context.fillStyle = color('raised');
      context.fillRect(TimelineChart.left, top, this.width(), TimelineChart.rowHeight);
      this.paintRow(context, times, rows[lane.id], top);
    });
    for (const place of [this.hover, this.focus]) {
      if (!place || place.half !== index) continue;
      const row = this.lanes.findIndex(
          ({id}) => id === this.data.operations.lane[place.operation]);
      const [from, to] = [times.start_ns[place.operation], times.end_ns[place.operation]];
      const x0 = Math.max(TimelineChart.left, this.toX(from));
      const x1 = Math.min(TimelineChart.left + this.width(), this.toX(to));
      if (x1 < x0) continue;
      context.strokeStyle = color('ink');
      context.lineWidth = 2;
      context.strokeRect(x0 - 1, this.rowTop(index, row) - 1, Math.max(3, x1 - x0) + 2,
          TimelineChart.rowHeight + 2);
      context.lineWidth = 1;
    }
  }

  // What is visible only; operations narrower than a pixel share one, so that a step of many
  // thousands takes as long to draw as the canvas is wide.
  paintRow(context, times, row, top) {
    const [from, to] = this.range();
    const right = TimelineChart.left + this.width();
    let first = this.firstEndingAfter(times, row, from);
    let drawn = -1;
    for (; first < row.length && times.start_ns[row[first]] <= to; ++first) {
      const id = row[first];
      const x0 = Math.max(TimelineChart.left, this.toX(times.start_ns[id]));
      const x1 = Math.min(right, this.toX(times.end_ns[id]));
      if (x1 < drawn + 0.5 && x1 - x0 < 0.5) continue;
      const fill = this.colors[this.familyOf(id)];
      context.fillStyle = fill;
      const wide = x1 - x0 > 4;
      context.fillRect(x0, top, Math.max(1, x1 - x0 - (wide ? 1 : 0)), TimelineChart.rowHeight);
      drawn = Math.max(x0 + 1, x1);
      if (x1 - x0 > 64) {
        context.save();
        context.beginPath();
        context.rect(x0, top, x1 - x0 - 4, TimelineChart.rowHeight);
        context.clip();
        context.fillStyle = inkOn(fill);
        context.fillText(this.data.operations.name[id], x0 + 5, top + TimelineChart.rowHeight / 2);
        context.restore();
      }
    }
  }

  firstEndingAfter(times, row, time) {
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times.end_ns[row[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The operation at a place of the canvas, or null. A few pixels beside one count too.
  at(x, y) {
    if (!this.data || x < TimelineChart.left) return null;
    for (let half = 0; half < this.halves.length; ++half) {
      for (let row = 0; row < this.lanes.length; ++row) {
        const top = this.rowTop(half, row);
        if (y < top || y > top + TimelineChart.rowHeight) continue;
        const {times, rows} = this.halves[half];
        const line = rows[this.lanes[row].id];
        const reach = (this.toTime(x + 3) - this.toTime(x));
        const time = this.toTime(x);
        let best = null;
        for (let i = this.firstEndingAfter(times, line, time - reach);
          i < line.length && times.start_ns[line[i]] <= time + reach; ++i) {
          const [from, to] = [times.start_ns[line[i]], times.end_ns[line[i]]];
          const away = time < from ? from - time : time > to ? time - to : 0;
          if (best === null || away < best.away) best = {half, operation: line[i], away};
        }
        return best && {half, operation: best.operation};
      }
    }
    return null;
  }

  // What is known of an operation, as [label, text] pairs.
  facts({half, operation}) {
    const {name, times} = this.halves[half];
    const {operations, lanes} = this.data;
    const [awaited, before] = times.awaited[operation];
    const facts = [
      ['operation', operations.name[operation]],
      ['in', name],
      ['kind', this.data.families[this.familyOf(operation)]],
      ['lane', laneName(lanes[operations.lane[operation]])],
      ['bytes', operations.bytes[operation] ? bytes(operations.bytes[operation]) : 'none'],
      ['start', seconds(times.start_ns[operation] * 1e-9)],
      ['duration', seconds((times.end_ns[operation] - times.start_ns[operation]) * 1e-9)],
      ['waited for', awaited < 0 ? 'its lane' : operations.name[awaited] +
          ` (${laneName(lanes[operations.lane[awaited]])}${before ? ', previous step' : ''})`],
    ];
    if (this.data.measured && half > 0 && this.data.measured.mean_ns.length > 0) {
      facts.push(['mean', seconds(this.data.measured.mean_ns[operation] * 1e-9)]);
    }
    return facts;
  }

  show(place, focused) {
    if (focused) this.focus = place;
    this.onShow(place ? this.facts(place) : null);
    this.draw();
  }

  // Keyboard: the neighbour of what is in focus; brings it into the window.
  step(along, lanes, halves) {
    if (!this.data) return;
    const current = this.focus || {half: 0, operation: this.halves[0].rows[this.lanes[0].id][0]};
    const half = (current.half + halves + this.halves.length) % this.halves.length;
    const {times, rows} = this.halves[half];
    const here = this.lanes.findIndex(
        ({id}) => id === this.data.operations.lane[current.operation]);
    let operation = current.operation;
    if (lanes) {
      const row = rows[this.lanes[(here + lanes + this.lanes.length) % this.lanes.length].id];
      const at = this.firstEndingAfter(times, row, times.start_ns[operation]);
      operation = row[Math.min(at, row.length - 1)];
    } else if (along && this.focus) {
      const row = rows[this.lanes[here].id];
      const next = row.indexOf(operation) + along;
      operation = row[Math.min(Math.max(next, 0), row.length - 1)];
    }
    const [from, to] = this.range();
    const start = times.start_ns[operation];
    if (start < from || start > to) {
      this.setWindow(start - (to - from) / 2, start + (to - from) / 2);
    }
    this.show({half, operation}, true);
  }

  listen() {
    const canvas = this.canvas;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('wheel', (event) => {
      if (!this.data) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.move(event.deltaX / this.width());
      else this.zoom(Math.exp(event.deltaY * 0.002), this.toTime(place(event)[0]));
    }, {passive: false});
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, range: this.range(), moved: false};
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add('dragged');
    });
    canvas.addEventListener('pointerup', (event) => {
      canvas.classList.remove('dragged');
      if (drag && !drag.moved) this.show(this.at(...place(event)), true);
      drag = null;
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.data) return;
      if (drag) {
        drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
        const shift = (drag.x - event.clientX) / this.width() * (drag.range[1] - drag.range[0]);
        this.setWindow(drag.range[0] + shift, drag.range[1] + shift);
        return;
      }
      this.hover = this.at(...place(event));
      this.onTip(this.hover && this.facts(this.hover), event.clientX, event.clientY);
      if (this.hover) this.show(this.hover, false);
      else this.draw();
    });
    canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      this.onTip(null);
      this.draw();
    });
    const keys = {
      '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
      '0': () => this.setWindow(0, this.end),
      'ArrowLeft': () => this.move(-0.15), 'ArrowRight': () => this.move(0.15),
      'ArrowUp': () => this.step(0, -1, 0), 'ArrowDown': () => this.step(0, 1, 0),
      'n': () => this.step(1, 0, 0), 'p': () => this.step(-1, 0, 0), 'm': () => this.step(0, 0, 1),
    };
    canvas.addEventListener('keydown', (event) => {
      const act = keys[event.key];
      if (!act || !this.data || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
}
