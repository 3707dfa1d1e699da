// Read-out under the pointer. The page says the same without it.
(function () {
  "use strict";
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
  var source = document.getElementById("chart-data"), stack = document.querySelector(".stack");
  if (!source || !stack) return;
  var data = JSON.parse(source.textContent), cross = stack.querySelector(".cross");
  var cells = stack.querySelectorAll("[data-line]");
  function valueAt(line, t) {
    var lo = 0, hi = line.t.length;
    while (lo < hi) { var mid = (lo + hi) >> 1; if (line.t[mid] <= t) lo = mid + 1; else hi = mid; }
    return lo ? line.v[lo - 1] : "-";
  }
  function show(e) {
    var box = stack.getBoundingClientRect(), part = (e.clientX - box.left) / box.width;
    if (part < 0 || part > 1) return hide();
    var t = part * data.seconds;
    cross.hidden = false;
    cross.style.left = 100 * part + "%";
    cross.firstChild.textContent = t.toFixed(2) + " s";
    cross.classList.toggle("flip", part > 0.9);
    cells.forEach(function (c) { c.textContent = valueAt(data.lines[c.dataset.line], t); });
  }
  function hide() {
    cross.hidden = true;
    cells.forEach(function (c) { c.textContent = ""; });
  }
  stack.addEventListener("pointermove", show);
  stack.addEventListener("pointerleave", hide);
})();
