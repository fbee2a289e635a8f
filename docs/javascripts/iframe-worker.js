/*
 * Browsers refuse web workers on pages that were opened from disk. The search of the site needs one,
 * so on such pages this class takes its place: it runs the script in a hidden frame and passes
 * messages to and from it.
 */
(function () {
  "use strict";

  if (window.location.protocol !== "file:") {
    return;
  }

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onerror = null;
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);

      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.receive(data);
      inside.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => this.load(script, url)), Promise.resolve());
      this.load(url, document.baseURI).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.deliver(data));
      });
    }

    /* Add a script to the frame; the promise is kept when it has run. */
    load(script, base) {
      return new Promise((resolve, reject) => {
        const element = this.frame.contentDocument.createElement("script");
        element.src = new URL(script, new URL(base, document.baseURI)).href;
        element.onload = () => resolve();
        element.onerror = () => {
          this.dispatchEvent(new ErrorEvent("error", { filename: element.src }));
          reject(new Error(`cannot load ${element.src}`));
        };
        this.frame.contentDocument.head.appendChild(element);
      });
    }

    /* Page to worker. */
    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data);
      } else {
        this.deliver(data);
      }
    }

    deliver(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    /* Worker to page. */
    receive(data) {
      const event = new MessageEvent("message", { data });
      if (this.onmessage) {
        this.onmessage(event);
      }
      this.dispatchEvent(event);
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.Worker = FrameWorker;
})();
