// @ts-check
/** Answers GraphQL by executing the document against GitHub's published schema. */
import { schema } from "@octokit/graphql-schema";
import { buildSchema, graphql } from "graphql";

/** @type {import("graphql").GraphQLSchema | undefined} */
let built;

/**
 * A handler for `startGitHub({ graphql })`: `root` holds resolvers or plain values, and what does
 * not fit the schema is an error in the answer, as an unknown field in the document is.
 * @param {() => unknown} root
 */
export function answerGraphQL(root) {
  // The published schema holds a few fields twice.
  built ??= buildSchema(schema.idl, { assumeValidSDL: true });
  const published = built;
  return async (/** @type {import("./faults.mjs").ProxyRequest} */ { body }) => {
    const result = await graphql({
      schema: published,
      source: body.query,
      variableValues: body.variables,
      rootValue: root(),
    });
    return { status: 200, headers: {}, body: JSON.parse(JSON.stringify(result)) };
  };
}
