// Preloaded by processes that no test may leave behind, however it ends; also in their threads, which have no channel.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();
