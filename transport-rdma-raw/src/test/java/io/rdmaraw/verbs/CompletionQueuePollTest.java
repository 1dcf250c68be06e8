package io.rdmaraw.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.reflect.Field;
import org.junit.jupiter.api.Test;

/** What a provider answers to a poll. */
class CompletionQueuePollTest {
    private static final int ENTRIES = 4;

    /**
     * A driver without polls answers with a positive errno (libibverbs' dummy_ops.c), which is no number of entries:
     * whoever took it for one would read behind its array. Here it is the absolute value of the queue's address.
     */
    @Test
    void whatIsMoreThanWasAskedForIsAFailure() throws Exception {
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
