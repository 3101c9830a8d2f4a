// Tells the values of a chart at the pointer, or at the arrow keys. Without this script the chart is complete.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  const space = "http://www.w3.org/2000/svg";
  let chart = null;
  let index = 0;

  const near = (x, values) => values.reduce((best, value, at) => (Math.abs(value - x) < Math.abs(values[best] - x) ? at : best), 0);

  const clear = () => {
    chart?.querySelector(".hair")?.remove();
    tip.hidden = true;
    chart = null;
  };

  const tell = (svg, at) => {
    const told = JSON.parse(svg.dataset.hover);
    const frame = JSON.parse(svg.dataset.frame);
    if (chart !== svg) clear();
    chart = svg;
    index = Math.min(Math.max(at, 0), told.x.length - 1);
    const x = frame.left + ((told.x[index] - frame.low) / (frame.high - frame.low || 1)) * (frame.right - frame.left);
    let hair = svg.querySelector(".hair");
    if (!hair) {
      hair = svg.appendChild(document.createElementNS(space, "path"));
      hair.setAttribute("class", "hair");
    }
    hair.setAttribute("d", `M${x} ${frame.top}V${frame.bottom}`);
    tip.textContent = [told.at[index], ...told.lines.map(([name, values]) => `${name} ${values[index]} ${told.unit}`)].join("\n");
    tip.hidden = false;
    const box = svg.getBoundingClientRect();
    const left = box.left + (x / svg.viewBox.baseVal.width) * box.width;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(left + 12, room)) + scrollX}px`;
    tip.style.top = `${box.top + 8 + scrollY}px`;
  };

  const place = (svg, event) => {
    const frame = JSON.parse(svg.dataset.frame);
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return frame.low + ((x - frame.left) / (frame.right - frame.left)) * (frame.high - frame.low);
  };

  const prepare = () => {
    for (const svg of document.querySelectorAll("svg[data-hover]")) svg.setAttribute("tabindex", "0");
    if (chart && !chart.isConnected) clear();
  };

  document.addEventListener("pointermove", (event) => {
    const svg = event.target.closest?.("svg[data-hover]");
    if (svg) tell(svg, near(place(svg, event), JSON.parse(svg.dataset.hover).x));
    else if (chart && chart !== document.activeElement) clear();
  });
  document.addEventListener("keydown", (event) => {
    const svg = document.activeElement;
    if (!svg?.dataset?.hover) return;
    if (event.key === "Escape") clear();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    tell(svg, (chart === svg ? index : JSON.parse(svg.dataset.hover).x.length - 1) + step);
  });
  document.addEventListener("focusout", clear);
  document.addEventListener("swapped", prepare);
  prepare();
})();
