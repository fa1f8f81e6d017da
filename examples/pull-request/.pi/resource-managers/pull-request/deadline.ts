/**
 * Makes a call with a signal that also aborts when the call has taken `limitMs`. The timer is our
 * own: inside `AbortSignal.any`, Node 20 to 24 collects an `AbortSignal.timeout` as garbage before
 * it fires, and a call that hangs would never end (github.com/nodejs/node/issues/57736).
 */
export async function within<T>(
  limitMs: number,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const tooLate = () =>
    over.abort(new DOMException(`nothing came in ${limitMs} ms`, "TimeoutError"));
  const timer = setTimeout(tooLate, limitMs);
  try {
    return await call(AbortSignal.any([signal, over.signal]));
  } finally {
    clearTimeout(timer);
  }
}
