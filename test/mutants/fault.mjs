/**
 * A deliberate fault: in `file`, `find` (exactly once) becomes `put`.
 * @typedef {{ name: string, file: string, find: string, put: string }} Fault
 */

/** @param {string} name @param {string} file below src @param {string} find @param {string} put @returns {Fault} */
export function fault(name, file, find, put) {
  return { name, file: `src/${file}`, find, put }
}
