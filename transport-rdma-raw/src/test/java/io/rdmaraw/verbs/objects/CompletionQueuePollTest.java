package io.rdmaraw.verbs.objects;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.reflect.Field;
import org.junit.jupiter.api.Test;

/** Results of a provider's poll function. */
class CompletionQueuePollTest {
    private static final int ENTRIES = 4;

    /**
     * A driver without polling returns a positive errno (libibverbs' dummy_ops.c), which must not be mistaken
     * for a number of completions. The fake function returns the absolute value of the queue's address.
     */
    @Test
    void pollThrowsIfProviderReturnsMoreThanRequested() throws Exception {
        try (VerbsContext context = VerbsDevices.open("soft:loop:polls");
                CompletionQueue queue = context.createCompletionQueue(ENTRIES, null, 0);
                Arena arena = Arena.ofConfined()) {
            long entries = arena.allocate((long) ENTRIES * Wc.SIZE_BYTES, Long.BYTES).address();
            assertEquals(0, queue.poll(ENTRIES, entries));
            Field function = CompletionQueue.class.getDeclaredField("pollFunction");
            function.setAccessible(true);
            function.set(queue, Linker.nativeLinker().defaultLookup().findOrThrow("abs"));
            VerbsException failure = assertThrows(VerbsException.class, () -> queue.poll(ENTRIES, entries));
            assertEquals(Errno.EIO, failure.errno());
        }
    }
}
