// Replaces the parts of a page marked data-live by those of a fresh copy. Without this script the page is complete.
"use strict";
(() => {
  const period = 1000 * Number(document.body.dataset.refresh || 5);
  const button = document.getElementById("pause");
  let paused = false;
  let failures = 0;

  const busy = (part) => part.contains(document.activeElement) && document.activeElement !== document.body;

  const swap = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const twin = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
      if (twin && twin.innerHTML !== part.innerHTML && !busy(part)) {
        const left = part.scrollLeft;
        part.innerHTML = twin.innerHTML;
        part.scrollLeft = left;
      }
    }
  };

  const look = async () => {
    if (!paused && !document.hidden) {
      try {
        const reply = await fetch(location.href, { headers: { "X-Live": "1" }, cache: "no-store" });
        if (!reply.ok) throw new Error(String(reply.status));
        swap(new DOMParser().parseFromString(await reply.text(), "text/html"));
        failures = 0;
      } catch {
        failures += 1;
      }
      document.body.classList.toggle("lost", failures > 1);
    }
    setTimeout(look, period * Math.min(2 ** failures, 12));
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Resume" : "Pause";
  });
  setTimeout(look, period);
})();
