// Preloaded by processes that must not outlive their test. Also loaded in their threads, which have no channel.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();
