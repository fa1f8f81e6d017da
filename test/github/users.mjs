// @ts-check
/** Who exists in a stand-in. The first owns the repositories, and is whom the manager acts as. */
export const USERS = ["shepherd", "author", "alice", "bob", "stranger"];

/** The token of a user: `loopback` for the first, else `token-of-LOGIN`. */
export const tokenOf = (/** @type {string} */ login) =>
  login === USERS[0] ? "loopback" : `token-of-${login}`;
