/** Thrown by a rule that finds out only while it runs that the target cannot show it. */
export class NotApplicable extends Error {}
