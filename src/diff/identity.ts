/** What names a resource within its project, as `dependsOn` writes it: `MANAGER/KEY`. */
export function identityOf(manager: string, key: string): string {
  return `${manager}/${key}`;
}

/** `pull-request acme/widgets#42` of `pull-request/acme/widgets#42`. */
export function describeIdentity(identity: string): string {
  return identity.replace("/", " ");
}
