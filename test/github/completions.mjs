// @ts-check
/** Fields that GitHub always sends and emulate 0.11.2 leaves out. */

/** @typedef {import("./faults.mjs").Answer} Answer */
/** @typedef {(path: string) => Promise<Answer>} Read */

/** @type {[RegExp, (body: any, url: string, read: Read) => unknown][]} */
const COMPLETIONS = [
  [/^\/repos\/[^/]+\/[^/]+$/, (body) => ({ network_count: 0, subscribers_count: 0, ...body })],
  [/\/pulls$/, (body) => (Array.isArray(body) ? body.map(completePull) : completePull(body))],
  [/\/pulls\/\d+$/, completePull],
  [
    /\/pulls\/\d+\/commits$/,
    (body, url) =>
      body.map((/** @type {any} */ one) => ({
        ...one,
        commit: {
          ...one.commit,
          tree: { url: `${url}/trees/${one.commit.tree.sha}`, ...one.commit.tree },
        },
      })),
  ],
  [
    /\/check-runs$/,
    (body, url) =>
      body.check_runs
        ? {
            ...body,
            check_runs: body.check_runs.map((/** @type {any} */ run) => completeRun(run, url)),
          }
        : completeRun(body, url),
  ],
  [/\/check-runs\/\d+$/, completeRun],
  [/^\/repos\/[^/]+\/[^/]+\/branches\/[^/]+$/, completeBranch],
  [/\/permission$/, (body) => ({ ...body, user: { role_name: body.role_name, ...body.user } })],
];

/**
 * The answer with the fields that GitHub would have sent.
 * @param {string} pathname @param {Answer} answer @param {string} url @param {Read} read
 * @returns {Promise<Answer>}
 */
export async function complete(pathname, answer, url, read) {
  if (answer.status >= 300 || answer.body === undefined) return answer;
  const found = COMPLETIONS.find(([pattern]) => pattern.test(pathname));
  if (!found) return answer;
  return { ...answer, body: await found[1](answer.body, `${url}${pathname}`, read) };
}

/** @param {any} pull */
function completePull(pull) {
  const labels = pull.labels.map((/** @type {any} */ label) => ({
    ...label,
    description: label.description ?? "",
  }));
  return { ...pull, labels };
}

/** @param {any} run @param {string} url */
function completeRun(run, url) {
  return { ...run, output: { annotations_url: `${url}/${run.id}/annotations`, ...run.output } };
}

/** @param {any} branch @param {string} url @param {Read} read */
async function completeBranch(branch, url, read) {
  const repository = new URL(url).pathname.replace(/\/branches\/[^/]+$/, "");
  const commit = (await read(`${repository}/commits/${branch.commit.sha}`)).body;
  const { files: _files, stats: _stats, ...rest } = commit;
  const protection = {
    enabled: false,
    required_status_checks: { enforcement_level: "off", contexts: [], checks: [] },
  };
  return {
    protection,
    protection_url: `${url}/protection`,
    ...branch,
    commit: rest,
    _links: { self: url, html: branch.commit.url },
  };
}
