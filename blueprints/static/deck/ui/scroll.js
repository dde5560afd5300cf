// The one owner of the transcript's scroll position: nothing moves under the reader.
//
// `follow` is true after a send, at the end, and until the reader goes up. While it is, the newest
// text is kept in view, but only until its prompt has reached the top: a fast answer is read from
// its start. Otherwise the position is written only to cancel a change above the first visible
// block. A scroll event that no input of the reader's explains is layout, and changes nothing.

const NEAR_END = 24; // px
const NET_UP = 4; // px
const SHOW_GAP = 16; // px
const INPUT_MS = 150; // a scroll event so long after an input is the input's

export class ScrollKeeper {
  follow = true;
  #toEnd = false; // the reader asked for the end itself
  #inputAt = -Infinity;
  #held = false; // a finger or the scrollbar is held
  #lastTop = 0;
  #anchor = null; // { element, offset }

  // `target()`: the element whose top ends the following (the running prompt), or null.
  // `onMove()`: the position or the length has changed.
  constructor(scroller, content, { target, wantsEnd, onMove }) {
    Object.assign(this, { scroller, content, target, wantsEnd, onMove });
    this.#listen();
    const resized = new ResizeObserver(() => this.settle());
    resized.observe(scroller);
    resized.observe(content);
  }

  get below() {
    const { scrollHeight, clientHeight, scrollTop } = this.scroller;
    return scrollHeight - clientHeight - scrollTop;
  }

  // The reader wants to see what comes: after a send, or from the "more" button (`toEnd`).
  followNow({ toEnd = false } = {}) {
    this.follow = true;
    this.#toEnd = toEnd;
    this.settle();
  }

  stay() {
    this.follow = false;
    this.#remember();
  }

  // To be called after every change of the content, in the same frame.
  settle() {
    const { scroller } = this;
    if (this.follow) {
      const top = this.#followTop();
      if (Math.abs(top - scroller.scrollTop) >= 1) scroller.scrollTop = top;
    } else if (this.#anchor?.element.isConnected) {
      const moved = this.#offset(this.#anchor.element) - this.#anchor.offset;
      if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
    }
    this.#lastTop = scroller.scrollTop;
    this.#remember();
    this.onMove();
  }

  // No farther than it takes to see all of it; from its top if it is higher than the room.
  showWhole(element) {
    this.follow = false;
    const top = this.#offset(element) - SHOW_GAP;
    const bottom = top + element.offsetHeight + 2 * SHOW_GAP - this.scroller.clientHeight;
    if (top < 0 || bottom > 0) this.scroller.scrollTop += top < 0 ? top : Math.min(top, bottom);
    this.#lastTop = this.scroller.scrollTop;
    this.#remember();
    this.onMove();
  }

  // The first visible turn, to come back to after everything was rebuilt.
  get place() {
    const turn = this.#anchor?.element.closest("article");
    return turn && { id: turn.id, offset: this.#offset(turn) };
  }

  restore(place) {
    const element = place && document.getElementById(place.id);
    if (!element) return false;
    this.follow = false;
    this.scroller.scrollTop += this.#offset(element) - place.offset;
    this.settle();
    return true;
  }

  #followTop() {
    const end = this.scroller.scrollHeight - this.scroller.clientHeight;
    const target = this.target();
    if (this.#toEnd || this.wantsEnd() || !target) return end;
    const current = this.scroller.scrollTop;
    const top = current + this.#offset(target) - 16;
    return Math.min(end, Math.max(top, current)); // following never goes up
  }

  #offset(element) {
    return element.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top;
  }

  // The first block that is visible: a block of an answer rather than a whole turn.
  #remember() {
    const top = this.scroller.getBoundingClientRect().top;
    const turn = firstBelow(this.content.children, top);
    const inner = turn?.querySelectorAll(":scope .prompt, :scope .prose > *, :scope .card, :scope footer");
    const element = (inner && firstBelow(inner, top)) || turn;
    this.#anchor = element && { element, offset: this.#offset(element) };
  }

  #listen() {
    const { scroller } = this;
    const input = () => (this.#inputAt = performance.now());
    scroller.addEventListener("wheel", input, { passive: true });
    scroller.addEventListener("touchmove", input, { passive: true });
    scroller.addEventListener("keydown", (event) => {
      if (/^(Page|Arrow|Home|End| )/.test(event.key)) input();
      if (event.key === "End") this.followNow({ toEnd: true });
    });
    scroller.addEventListener("pointerdown", () => (this.#held = true), { passive: true });
    addEventListener("pointerup", () => (this.#held = false), { passive: true });
    addEventListener("pointercancel", () => (this.#held = false), { passive: true });
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    document.addEventListener("selectionchange", () => {
      const selection = getSelection();
      if (!selection.isCollapsed && this.content.contains(selection.anchorNode)) this.follow = false;
    });
    this.content.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) this.follow = false;
    });
  }

  // Whether the last scroll event has an input of the reader's behind it.
  get isByReader() {
    return this.#held || performance.now() - this.#inputAt < INPUT_MS;
  }

  #scrolled() {
    const now = performance.now();
    const byReader = this.isByReader;
    const top = this.scroller.scrollTop;
    if (byReader) {
      if (top !== this.#lastTop) this.#inputAt = now; // smooth scrolling goes on after the key
      if (top < this.#lastTop - NET_UP) {
        this.follow = this.#toEnd = false;
        this.#lastTop = top;
      } else if (top > this.#lastTop) {
        this.#lastTop = top;
        if (this.below <= NEAR_END) this.follow = this.#toEnd = true; // went there to stay there
      }
    }
    this.#remember();
    this.onMove();
  }
}

// By bisection: the children lie one below the other, and there may be thousands.
function firstBelow(elements, top) {
  let low = 0;
  let high = elements.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (elements[middle].getBoundingClientRect().bottom > top) high = middle;
    else low = middle + 1;
  }
  return elements[low] ?? null;
}
