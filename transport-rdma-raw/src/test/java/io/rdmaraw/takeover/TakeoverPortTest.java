package io.rdmaraw.takeover;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

class TakeoverPortTest {
    /** Neither process opens connections while one waits for the loops of the other. */
    @Test
    void waitForBlockedLoopTimesOut() {
        CompletableFuture<Void> never = new CompletableFuture<>();
        IOException e = assertThrows(IOException.class, () -> TakeoverPort.awaitLoops(never, 1));
        assertTrue(e.getMessage().contains("a handler blocks it"), e.getMessage());
    }

    @Test
    void failureOnLoopIsReported() throws IOException {
        TakeoverPort.awaitLoops(CompletableFuture.completedFuture(null));
        IOException e = assertThrows(IOException.class,
                () -> TakeoverPort.awaitLoops(
                        CompletableFuture.failedFuture(new IOException("no descriptor is left"))));
        assertTrue(e.getMessage().contains("no descriptor is left"), e.getMessage());
    }
}
