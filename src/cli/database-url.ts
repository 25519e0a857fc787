/** True for a URL of Postgres. */
export function isUrl(place: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(place);
}

/** True for a URL that holds a password, before the host or as a parameter. */
export function hasPassword(place: string): boolean {
  return isUrl(place) && hidePasswords(place) !== place;
}

/** A text in which `***` stands for the passwords of URLs. */
export function hidePasswords(text: string): string {
  return text
    .replace(/(\bpostgres(?:ql)?:\/\/[^:@/?\s"']*):[^@/\s"']+@/g, "$1:***@")
    .replace(/(\bpostgres(?:ql)?:\/\/[^\s"']{0,2000}[?&]password=)[^&\s"']+/g, "$1***");
}
