// Says that a play has begun when a form that takes a while is sent. Without this script the browser's own sign must do.
"use strict";
(() => {
  const form = document.querySelector("form[data-wait]");
  const said = document.getElementById("waiting");
  form?.addEventListener("submit", () => {
    const begun = Date.now();
    const tell = () => {
      said.textContent = `${form.dataset.wait} ${Math.round((Date.now() - begun) / 1000)} s`;
    };
    form.querySelector("button").disabled = true;
    tell();
    setInterval(tell, 1000);
  });
  // Whoever comes back by the browser's button finds the form as it was.
  window.addEventListener("pageshow", () => {
    if (form) form.querySelector("button").disabled = false;
    if (said) said.textContent = "";
  });
})();
