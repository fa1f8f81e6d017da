import path from "node:path";
import { z } from "zod";
import { manifestSchema, type ResolvedManager } from "../model/manifest.ts";
import type { GeneratedFile } from "./write-files.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/**
 * The schemas that editors complete spec files by: for each manager its spec and its manifest, and
 * one for the manifest of any of them. The spec has a file of its own, since references inside it
 * are from its root.
 */
export function specSchemas(managers: readonly ResolvedManager[], folder: string): GeneratedFile[] {
  const file = (name: string, schema: object): GeneratedFile => ({
    file: path.join(folder, `${name}.json`),
    content: `${JSON.stringify({ $schema: DIALECT, ...schema }, null, 2)}\n`,
  });
  return [
    ...managers.flatMap(({ name, specSchema }) => [
      file(`${name}.spec`, specSchema ?? {}),
      file(name, fileOf(`Spec files of ${name}`, manifestOf(name))),
    ]),
    file("resource", fileOf("Spec files of any resource manager", anyManifest(managers))),
  ];
}

/** One manifest or several. */
function fileOf(title: string, manifest: object): object {
  return {
    title,
    $defs: { manifest },
    if: { type: "array" },
    then: { items: { $ref: "#/$defs/manifest" } },
    else: { $ref: "#/$defs/manifest" },
  };
}

function manifestOf(name: string): object {
  const base = baseManifest();
  return {
    ...base,
    properties: {
      ...base.properties,
      resourceManager: { const: name },
      spec: { $ref: `${name}.spec.json` },
    },
  };
}

function anyManifest(managers: readonly ResolvedManager[]): object {
  const base = baseManifest();
  const names = managers.map(({ name }) => name);
  return {
    ...base,
    properties: { ...base.properties, resourceManager: { enum: names }, spec: true },
    allOf: names.map((name) => ({
      if: { properties: { resourceManager: { const: name } } },
      then: { properties: { spec: { $ref: `${name}.spec.json` } } },
    })),
  };
}

function baseManifest(): { properties: object } {
  const schema = z.toJSONSchema(manifestSchema, { io: "input", unrepresentable: "any" });
  const { $schema: _dialect, ...rest } = schema;
  return { ...rest, properties: rest.properties ?? {} };
}
