import fc from "fast-check";
import { expect, it } from "vitest";
import { redact, redactText } from "../../src/model/redact.ts";

const alphanumeric = (length: number) =>
  fc.string({
    unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789"),
    minLength: length,
    maxLength: length,
  });

it("masks credentials of known shapes wherever they stand", () => {
  fc.assert(
    fc.property(
      alphanumeric(40),
      fc.constantFrom("ghp_", "gho_", "ghs_", "github_pat_"),
      fc.string(),
      (body, prefix, around) => {
        const token = prefix + body;
        expect(redactText(`${around} ${token} ${around}`)).not.toContain(body);
        expect(JSON.stringify(redact({ deep: [{ text: `x=${token}` }] }))).not.toContain(body);
      },
    ),
  );
});

it.each([
  ["Authorization: Bearer abcdefghijklmnopqrstuvwx", "abcdefghijklmnop"],
  ["authorization: token 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"],
  ["fetch https://user:hunter2pass@host/x failed", "hunter2pass"],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"],
  ["key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
])("masks %s", (text, secret) => {
  expect(redactText(text)).not.toContain(secret);
});

it("masks members by name and keeps everything else", () => {
  expect(
    redact({ password: "x", github_token: "y", note: "plain", count: 3, nested: { apiKey: "z" } }),
  ).toEqual({
    password: "[redacted]",
    github_token: "[redacted]",
    note: "plain",
    count: 3,
    nested: { apiKey: "[redacted]" },
  });
});
