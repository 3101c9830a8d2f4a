// Replaces the parts of a page marked data-live by those of a fresh copy: of a cluster as it is now, of a play as it is
// at the player's moment. Without this script the page is complete, and the player is a form.
"use strict";
(() => {
  const period = 1000 * Number(document.body.dataset.refresh || 5);
  let failures = 0;

  const busy = (part) => part.contains(document.activeElement) && document.activeElement !== document.body;

  const scrolled = (part) => [part, ...part.querySelectorAll(".scroll")];

  // Templates render every part in every state, empty where there is nothing to tell.
  const swap = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const twin = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
      if (twin && twin.innerHTML !== part.innerHTML && !busy(part)) {
        const left = scrolled(part).map((each) => each.scrollLeft);
        part.innerHTML = twin.innerHTML;
        scrolled(part).forEach((each, at) => (each.scrollLeft = left[at] ?? 0));
      }
    }
    document.dispatchEvent(new Event("swapped"));
  };

  const look = async (address) => {
    try {
      const reply = await fetch(address, { headers: { "X-Live": "1" }, cache: "no-store" });
      if (!reply.ok) throw new Error(String(reply.status));
      swap(new DOMParser().parseFromString(await reply.text(), "text/html"));
      failures = 0;
    } catch {
      failures += 1;
    }
    document.body.classList.toggle("lost", failures > 1);
  };

  const every = (step) => {
    const next = async () => {
      if (!document.hidden) await step();
      setTimeout(next, period * Math.min(2 ** failures, 12));
    };
    setTimeout(next, period);
  };

  const cluster = (button) => {
    let paused = false;
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.textContent = paused ? "Resume" : "Pause";
    });
    every(async () => {
      if (!paused) await look(location.href);
    });
  };

  const play = (form) => {
    const { begin, end } = form.dataset;
    const [button, slider, speeds] = ["play", "t", "speed"].map((id) => document.getElementById(id));
    const asked = new URLSearchParams(location.search);
    let moment = Number(form.dataset.now);
    let playing = !asked.has("t") || asked.has("play");
    if (asked.has("play")) speeds.value = asked.get("play");

    const address = (path, more) => {
      const url = new URL(path, location.href);
      for (const [name, value] of Object.entries(more)) url.searchParams.set(name, value);
      return url;
    };
    const state = () => (playing ? { t: Math.round(moment), play: speeds.value } : { t: Math.round(moment) });
    const show = async () => {
      slider.value = String(moment);
      await look(address(location.href, { t: Math.round(moment) }));
    };
    const note = () => {
      const url = address(location.href, state());
      if (!playing) url.searchParams.delete("play");
      history.replaceState(null, "", url);
      button.textContent = playing ? "Pause" : "Play";
    };

    button.hidden = document.getElementById("speeds").hidden = false;
    button.textContent = playing ? "Pause" : "Play";
    button.addEventListener("click", () => {
      playing = !playing;
      if (playing && moment >= Number(end)) moment = Number(begin);
      note();
    });
    slider.addEventListener("input", () => {
      moment = Number(slider.value);
      playing = false;
      note();
      show();
    });
    speeds.addEventListener("change", note);
    document.getElementById("scene")?.addEventListener("change", (event) => {
      location.href = address(location.pathname, { scene: event.target.value });
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    // Links go on from the moment that is shown.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href^='/']");
      if (link) link.href = address(link.href, { ...Object.fromEntries(asked.has("scene") ? [["scene", asked.get("scene")]] : []), ...state() });
    });
    every(async () => {
      if (!playing) return;
      moment += (Number(speeds.value) * period) / 1000;
      if (moment > Number(end) + 10 * Number(speeds.value)) moment = Number(begin);
      const shown = moment;
      moment = Math.min(moment, Number(end));
      await show();
      moment = shown;
    });
  };

  const form = document.getElementById("player");
  const button = document.getElementById("pause");
  if (form) play(form);
  else if (button) cluster(button);
})();
