package io.rdmaraw.tools.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TerminalKeysTest {
    private static final long FOR_EVER_NANOS = TimeUnit.DAYS.toNanos(1);

    @Test
    void keysComeInTheirOrder() throws InterruptedException {
        try (TerminalKeys keys = new TerminalKeys(new ByteArrayInputStream("+q".getBytes(StandardCharsets.US_ASCII)))) {
            assertEquals('+', keys.await(FOR_EVER_NANOS, () -> true));
            assertEquals('q', keys.await(0, () -> true));
            assertEquals(TerminalKeys.NONE, keys.await(0, () -> true));
        }
    }

    /**
     * Waiting for a key ends when the program is to exit. Otherwise Ctrl-C would take effect only at the next screen.
     */
    @Test
    void waitForAKeyEndsWithTheProgram() throws InterruptedException {
        AtomicInteger looks = new AtomicInteger();
        try (TerminalKeys keys = new TerminalKeys(InputStream.nullInputStream())) {
            assertEquals(TerminalKeys.NONE, keys.await(FOR_EVER_NANOS, () -> looks.incrementAndGet() < 3));
        }
        assertEquals(3, looks.get());
    }

    @Test
    void aTerminalThatIsGoneHasNoKeys() throws InterruptedException {
        try (TerminalKeys keys = new TerminalKeys(new InputStream() {
            @Override
            public int available() throws IOException {
                throw new IOException("gone");
            }

            @Override
            public int read() throws IOException {
                throw new IOException("gone");
            }
        })) {
            assertEquals(TerminalKeys.NONE, keys.await(0, () -> true));
        }
    }
}
