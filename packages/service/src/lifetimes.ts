/** How long files are kept: a job may park for days while it waits for credits, and then it uploads again. */

export const uploadLifetimeMs = 24 * 60 * 60 * 1000;

export const downloadLifetimeMs = 24 * 60 * 60 * 1000;
