/**
 * What the pages and workers of one name must agree on: control calls, notices, lock names, files. Raised with each
 * change that a tab of an older deployment can't live with. Tabs of the newest generation win (src/README.md, tabs).
 */
export const generation = 1
