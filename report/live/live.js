// Follows a run: keeps the document of `data` up to date by the events of `events` and hands it to
// render() of the page whenever it changed. Where the stream does not open, `data` is asked again
// every two seconds. What it is doing is said in a line above the page and in data-live of <html>:
// connecting, live, polling, lost, or the run's state once it has ended.
(function () {
  'use strict';
  const root = document.documentElement;
  const address = (name) => name + window.location.search;
  const pollMilliseconds = 2000;

  const line = document.createElement('div');
  line.id = 'live-state';
  line.setAttribute('role', 'status');
  line.style.cssText = 'position:sticky;top:0;z-index:10;padding:.3em .8em;font:14px sans-serif;' +
      'color:#fff;white-space:pre-wrap;';
  document.body.insertBefore(line, document.body.firstChild);

  const words = {
    connecting: ['connecting', '#555'],
    live: ['live', '#0a6b2d'],
    polling: ['live (updated every two seconds)', '#0a6b2d'],
    lost: ['connection lost, trying again', '#a33b00'],
    complete: ['complete', '#1a4f8b'],
    interrupted: ['interrupted', '#7a5a00'],
    failed: ['failed: the run ended without a final report', '#8b1a1a'],
  };

  let view = null;
  let connection = 'connecting';
  let poller = null;

  function say() {
    const ended = view !== null && view.state && view.state !== 'running' && view.state !== 'planned';
    const key = connection === 'lost' || !ended ? connection : view.state;
    const [text, colour] = words[key] || [key, '#555'];
    root.dataset.live = key;
    const problem = view !== null && view.problem ? '\n' + view.problem : '';
    line.textContent = text + problem;
    line.style.background = problem ? '#8b1a1a' : colour;
  }

  let drawing = 0;
  function draw() {
    say();
    if (view === null || !view.model || drawing) return;
    // Several events of one moment are drawn once; a tab that nobody sees draws nothing.
    drawing = window.requestAnimationFrame(() => {
      drawing = 0;
      render(view);
      root.dataset.liveSteps = String(view.steps_done);
    });
  }

  // As report/live/json_change.h has it.
  function apply(operations) {
    for (const [what, path, value] of operations) {
      let parent = view;
      for (const key of path.slice(0, -1)) parent = parent[key];
      const last = path[path.length - 1];
      if (what === 'set') parent[last] = value;
      if (what === 'append') parent[last].push(...value);
      if (what === 'remove') delete parent[last];
    }
  }

  async function poll() {
    try {
      const answer = await fetch(address('data'), {cache: 'no-store'});
      if (!answer.ok) throw new Error(answer.statusText);
      view = await answer.json();
      connection = 'polling';
    } catch (error) {
      connection = 'lost';
    }
    draw();
  }

  function follow() {
    const source = new EventSource(address('events'));
    source.onopen = () => {
      connection = 'live';
      say();
    };
    source.addEventListener('view', (event) => {
      view = JSON.parse(event.data);
      draw();
    });
    source.addEventListener('change', (event) => {
      if (view === null) return;
      apply(JSON.parse(event.data));
      draw();
    });
    source.onerror = () => {
      connection = 'lost';
      say();
      // The browser tries again by itself unless it was told that there is no stream.
      if (source.readyState === EventSource.CLOSED && poller === null) {
        poller = window.setInterval(poll, pollMilliseconds);
        poll();
      }
    };
  }

  say();
  if (window.EventSource) {
    follow();
  } else {
    poller = window.setInterval(poll, pollMilliseconds);
    poll();
  }
})();
